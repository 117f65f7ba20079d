import type { Compactor } from '../../core/index.js'
import { callsOf, entryOf } from '../lib/state/index.js'

/** The resource that shows the record. */
const uri = 'vtcode://session/calls'

/** Changes nothing: writes down what was called and what came of it, as the last to see a result. */
const record: Compactor = (result, call, context) => {
  callsOf(context).add(entryOf(call, result, context))
  context.changed(uri)
  return result
}
export default record
