import { resume } from './session/resume.js'

/** `unified_exec/continue`: write when there is something to send, else poll; for callers that just want to go on. */
export default resume
