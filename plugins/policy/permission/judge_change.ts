import type { ChangeJudge } from '../../../core/contract/index.js'
import { collectFacts, compileRules, listPlaceNames } from '../../lib/rules/index.js'
import { judgePlaces, isFolderSlot } from './judge_writes.js'
import { findRightsViolation } from './rights.js'

const NAME_WAY =
  'Name the path in an input with `format: workspace-path`, so that the user can be asked about the call.'

/**
 * Judges a change by the code of a plugin: by the paths that the call may write, by rules about paths, and as a change
 * of auto-executed config. A path that the call named was judged with the call, but not the content of a folder.
 */
export const judgePluginChange: ChangeJudge = async ({ named, whole, ...place }, call, context) => {
  const { settings, workspace } = context
  const changing = { ...call, places: [place] }
  const names = listPlaceNames(changing)
  if (named && (!whole || isFolderSlot(call.slot) || (await judgePlaces(names, workspace)).length > 0)) return undefined
  const facts = collectFacts(changing, context)
  const rules = compileRules(settings, call.mode, workspace)
  const beyond = call.only && (await findRightsViolation(facts, call.only, rules))
  if (beyond !== undefined) return { reason: beyond, way: 'Change only those paths.' }
  const rule = [...rules.deny, ...rules.ask].find((one) => one.path && one.applies(facts) && names.some(one.path))
  if (rule) {
    const reason = rule.reason ?? `The rule '${rule.text}' covers '${place.given}'.`
    return { reason, way: rules.ask.includes(rule) ? NAME_WAY : 'The user can change the rule.' }
  }
  const verdicts = await judgePlaces(names, workspace, whole)
  const worst = verdicts.find(({ verdict }) => verdict === 'deny') ?? verdicts[0]
  return (
    worst && { reason: worst.reason, way: worst.verdict === 'deny' ? 'Ask the user to change it by hand.' : NAME_WAY }
  )
}
