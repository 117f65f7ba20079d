import { userOf } from '../../core/system/index.js'
import { problem, type Adapter, type Policy } from '../../core/index.js'
import { collectFacts, findRule, compileRules, type Rule, type RuleSettings } from '../lib/rules/index.js'

type Said = Pick<RuleSettings['policy'], 'deny' | 'ask' | 'commands'>

/** Turns a policy in data into a judge: its rules deny or ask, in the words of the settings, and none of them allows anything. */
const rules: Adapter<Policy> = (contribution, adapterContext) => {
  const declared = contribution.manifest['rules'] as Said
  const lifting = declared.commands?.find(({ verdict }) => verdict === 'allow')
  if (lifting)
    throw problem('VT_MANIFEST_INVALID', {
      problem: `${contribution.id} allows commands (${lifting.id}); a policy only denies or asks, what is allowed stands in the settings.`,
    })
  const { deny, ask } = compileRules({ policy: { ...declared } }, 'ask', {
    root: adapterContext.workspace,
    user: userOf({ env: adapterContext.env }),
  })
  const reasonOf = ({ text, reason }: Rule, word: string): string =>
    reason ?? `The rule '${text}' of ${contribution.id} ${word} this.`
  const hint = `It is a rule of the policy ${contribution.id}, in ${contribution.file}.`
  return async (call, context) => {
    const facts = collectFacts(call, context)
    const denied = await findRule(facts, deny)
    if (denied) return { deny: reasonOf(denied, 'denies'), hint }
    const asked = await findRule(facts, ask)
    return asked && { ask: reasonOf(asked, 'asks before'), hint }
  }
}
export default rules
