import { resolveUserFolder } from '../../core/system/index.js'
import { problem, type Adapter, type Policy } from '../../core/index.js'
import { collectFacts, findRule, compileRules, type Rule, type RuleSettings } from '../lib/rules/index.js'

type DeclaredRules = Pick<RuleSettings['policy'], 'deny' | 'ask' | 'commands'>

/** Turns a policy in data into a judge. Its rules deny or ask, in the syntax of the settings, and never allow. */
const rules: Adapter<Policy> = (contribution, adapterContext) => {
  const declared = contribution.manifest['rules'] as DeclaredRules
  const lifting = declared.commands?.find(({ verdict }) => verdict === 'allow')
  if (lifting)
    throw problem('VT_MANIFEST_INVALID', {
      problem:
        `${contribution.id} allows commands (${lifting.id}); a policy may only deny or ask. ` +
        'Put rules that allow into the settings.',
    })
  const { deny, ask } = compileRules({ policy: { ...declared } }, 'ask', {
    root: adapterContext.workspace,
    user: resolveUserFolder({ env: adapterContext.env }),
  })
  const formatReason = ({ text, reason }: Rule, word: string): string =>
    reason ?? `The rule '${text}' of ${contribution.id} ${word} this.`
  const hint = `The rule belongs to the policy ${contribution.id} in ${contribution.file}.`
  return async (call, context) => {
    const facts = collectFacts(call, context)
    const denied = await findRule(facts, deny)
    if (denied) return { deny: formatReason(denied, 'denies'), hint }
    const asked = await findRule(facts, ask)
    return asked && { ask: formatReason(asked, 'asks before'), hint }
  }
}
export default rules
