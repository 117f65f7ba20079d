import type { Settings } from '../shapes/index.js'
import { foldNames, isInside, toRealPath, escapePath } from '../system/index.js'
import { compilePathSpec } from '../text/index.js'
import { OWN_FOLDERS } from './own_state.js'

/**
 * Returns a predicate for the paths that rules such as `Read(path)` under `policy.deny` hide from tools; `undefined`
 * without such a rule. The permission policy refuses calls that name such a path. This predicate keeps the path out
 * of searches, lists and copies.
 */
export function createHiddenFilter(
  { policy }: Pick<Settings, 'policy'>,
  { root, user: home }: { root: string; user: string },
): ((path: string) => boolean) | undefined {
  const patterns = policy.deny.flatMap((entry) => {
    const [, spec] = /^(?:Read|Grep|Glob)\((.+)\)$/s.exec((typeof entry === 'string' ? entry : entry.rule).trim()) ?? []
    return spec === undefined || spec === '*' ? [] : [compilePathSpec(spec, { root, home })]
  })
  return patterns.length === 0 ? undefined : (path) => patterns.some((matches) => matches(path))
}

/** The names in the home of this program that tools may read. All other names in it are secret. */
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
 * Returns a predicate for the secret paths of a workspace that contains the home of this program or lies in it: keys,
 * logins, tokens, consents, settings, records. Returns `undefined` where the two are apart. Compares names as any
 * volume could.
 */
export function createSecretFilter(root: string, home: string): ((path: string) => boolean) | undefined {
  const real = toRealPath(home)
  if (!isInside(root, real) && !isInside(real, root)) return undefined
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
const foldPath = (path: string): string[] => foldNames(path).filter((name) => name !== '' && name !== '.')

/** Explains why a secret path is refused. */
export const explainSecret = (path?: string): string => {
  const subject = path === undefined ? 'A path of the command' : `'${escapePath(path)}'`
  const content = 'its keys, logins, consents and settings'
  return `${subject} lies in the home of this program, with ${content}: no tool reads that.`
}
export const SECRET_NEXT_STEP = 'Only the user can read it, by hand.'
