import type { Compactor } from '../../core/index.js'
import { openCallLog, createRecord } from '../lib/state/index.js'

/** The resource that shows the record. */
const uri = 'vtcode://session/calls'

/** Writes the call and its result to the record, after all other compactors. Changes nothing. */
const record: Compactor = (result, call, context) => {
  openCallLog(context).add(createRecord(call, result, context))
  context.changed(uri)
  return result
}
export default record
