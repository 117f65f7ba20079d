import { goOn } from '../shared/exec/go_on.js'

/** `unified_exec/poll`: delivers the output since the last delivery, waiting for some if there is none. */
export default goOn
