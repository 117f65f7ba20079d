import { resume } from './session/resume.js'

/** `unified_exec/continue`: writes if there is something to send, otherwise polls. */
export default resume
