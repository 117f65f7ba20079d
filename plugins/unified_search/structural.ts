import type { Handler } from '../../core/index.js'
import { checkFields } from './structural/fields.js'
import { inspectProject } from './structural/inspect.js'
import { engineMissing } from './structural/refusals.js'
import { runPattern } from './structural/run.js'
import { runScan } from './structural/scan.js'
import { runRuleTests } from './structural/rule_tests.js'
import type { StructuralInput } from './structural/types.js'

/** Searches by syntax with ast-grep, in five workflows; none of them writes. */
const structural: Handler<StructuralInput> = async (call, context) => {
  const remarks = checkFields(call.input, call.given)
  const answers = { query: runPattern, rewrite: runPattern, scan: runScan, test: runRuleTests, inspect: inspectProject }
  const answer = await answers[call.input.workflow](call, context)
  if (!answer) throw engineMissing()
  const notices = [...remarks.notices, ...(answer.notices ?? [])]
  return notices.length > 0 ? { ...answer, notices } : answer
}
export default structural
