import { resume } from './session/resume.js'

/** `unified_exec/poll`: returns the output since the last delivery; waits if there is none. */
export default resume
