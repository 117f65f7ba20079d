import type { Settings } from '../shapes/index.js'
import { foldedNames, inside, realPathOf, shownPath } from '../system/index.js'
import { pathPattern } from '../text/index.js'
import { OWN_FOLDERS } from './own_state.js'

/**
 * Whether a rule `Read(path)` under `policy.deny` hides a path from tools, as given or as resolved; `undefined` when no rule does.
 * The permission policy refuses calls that name such a path; this keeps it out of what calls come upon: searches, lists, copies.
 */
export function createHiddenFilter(
  { policy }: Pick<Settings, 'policy'>,
  { root, user: home }: { root: string; user: string },
): ((path: string) => boolean) | undefined {
  const patterns = policy.deny.flatMap((entry) => {
    const [, spec] = /^(?:Read|Grep|Glob)\((.+)\)$/s.exec((typeof entry === 'string' ? entry : entry.rule).trim()) ?? []
    return spec === undefined || spec === '*' ? [] : [pathPattern(spec, { root, home })]
  })
  return patterns.length === 0 ? undefined : (path) => patterns.some((matches) => matches(path))
}

/** Of the home of this program, what is written to be read, and what a workspace keeps whose `.vtcode` it is. Everything else in it is the user's alone. */
const WORKSPACE_NAMES = new Set([
  'agents.md',
  'agents',
  'plugins',
  'plugins.lock.json',
  'rules',
  'skills',
  'plans',
  'tasks',
  'tool-policy.json',
  '.gitignore',
  ...OWN_FOLDERS,
])
const CONFIG_FILE = /^config(\.local)?\.\w+$/

/**
 * Which paths of a workspace are the user's alone, because the home of this program lies in it, or it in the home: keys, logins, tokens,
 * consents, settings with what they hold, records. `undefined` where there can be none. Names are compared as some volume would.
 */
export function createSecretFilter(root: string, home: string): ((path: string) => boolean) | undefined {
  const real = realPathOf(home)
  if (!inside(root, real) && !inside(real, root)) return undefined
  const [way, above] = [real, root].map((path) => foldPath(path))
  return (path) => {
    const names = [...above!, ...foldPath(path)]
    const first = names[way!.length]
    return (
      first !== undefined &&
      way!.every((name, index) => names[index] === name) &&
      !WORKSPACE_NAMES.has(first) &&
      !CONFIG_FILE.test(first)
    )
  }
}
const foldPath = (path: string): string[] => foldedNames(path).filter((name) => name !== '' && name !== '.')

/** Why such a path is refused, and what can be done instead. */
export const explainSecret = (path?: string): string =>
  `${path === undefined ? 'What the command names' : `'${shownPath(path)}'`} lies in the home of this program, with its keys, logins, consents and settings: no tool reads that.`
export const SECRET_NEXT_STEP = 'The user can look at it by hand; nothing lets a tool do so.'
