import { homedir } from 'node:os'
import { pathPattern, type Settings } from '../base/index.js'

/**
 * Whether a rule `Read(path)` under `policy.deny` hides a path from tools, as given or as resolved; `undefined` when no rule does.
 * The permission policy refuses calls that name such a path; this keeps it out of what calls come upon: searches, lists, copies.
 */
export function hiddenBy({ policy }: Settings, root: string): ((path: string) => boolean) | undefined {
  const rules = (policy['deny'] ?? []) as (string | { rule: string })[]
  const patterns = rules.flatMap((entry) => {
    const [, spec] = /^(?:Read|Grep|Glob)\((.+)\)$/s.exec((typeof entry === 'string' ? entry : entry.rule).trim()) ?? []
    return spec === undefined || spec === '*' ? [] : [pathPattern(spec, { root, home: homedir() })]
  })
  return patterns.length === 0 ? undefined : (path) => patterns.some((matches) => matches(path))
}
