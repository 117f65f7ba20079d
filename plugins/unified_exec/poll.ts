import { resume } from './session/resume.js'

/** `unified_exec/poll`: delivers the output since the last delivery, waiting for some if there is none. */
export default resume
