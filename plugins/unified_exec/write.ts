import { resume } from './session/resume.js'

/** `unified_exec/write`: sends text, keys or the end of input, and returns the output. */
export default resume
