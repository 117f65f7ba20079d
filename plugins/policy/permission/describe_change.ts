import { escapeTemplates, findIgnoreLine } from '../../../core/text/index.js'
import { listPlaceNames, type CallFacts, type Rule } from '../../lib/rules/index.js'

/** Says what the user changes to lift a rule: a line of an ignore file, or the rule. */
export function describeChange({ text, pattern = '' }: Rule, { call }: CallFacts): string {
  const [, file] = /^# ([^\n]*)\n/.exec(pattern) ?? []
  if (file === undefined) return `the user changes the rule '${escapeTemplates(text)}'`
  const [line] = listPlaceNames(call).flatMap((path) => findIgnoreLine(pattern, path) ?? [])
  return `the user changes ${line === undefined ? '' : `line ${line} of `}${file}`
}
