import { foldNames } from '../../../core/system/index.js'
import { canOverlap, compileWildcard } from '../../../core/text/index.js'
import { STEERING_NAMES, type SteeringName } from './table.js'

/** Reason why a tool needs approval to write a path, or may not write it. */
export interface SteeringVerdict {
  verdict: 'deny' | 'ask'
  /** Path relative to the workspace. */
  path: string
  /** One sentence. */
  reason: string
}

/**
 * Judges a path by its name. Names are compared as on a volume without case: a `.GIT` with another meaning is not
 * needed.
 */
export function judgeName(path: string): SteeringVerdict | undefined {
  const names = foldNames(path).filter((name) => name !== '' && name !== '.')
  let asked: SteeringName | undefined
  for (let at = 0; at < names.length; at += 1) {
    const found = findEntries(names, at)
    const open = found.find(
      ({ except, depth }) => except?.includes(names[at + depth]!) && names.length > at + depth + 1,
    )
    // Open names are open for plain files only: a repository or a folder of settings among them is judged again.
    if (open) {
      at += open.depth
      continue
    }
    for (const entry of found) {
      if (entry.verdict === 'deny') return createDenial(path)
      asked ??= entry
    }
  }
  return asked && { verdict: 'ask', path, reason: `'${path}' is auto-executed config of ${asked.steers}.` }
}

export const createDenial = (path: string): SteeringVerdict => ({
  verdict: 'deny',
  path,
  reason: `Cannot change '${path}': it belongs to git or to vtcode.`,
})

interface Entry extends SteeringName {
  parts: ((name: string) => boolean)[]
  depth: number
}
const ENTRIES: Entry[] = STEERING_NAMES.map((one) => {
  const parts = one.name
    .split('/')
    .map((part) => (part.includes('*') ? compileWildcard(part) : (name: string) => name === part))
  return { ...one, parts, depth: parts.length }
})
// Most names begin no entry: a lookup and a few patterns decide.
const toFirstPart = ({ name }: SteeringName): string => name.split('/')[0]!
const PATTERN_ENTRIES = ENTRIES.filter((one) => toFirstPart(one).includes('*'))
const entriesByName = new Map<string, Entry[]>()
for (const one of ENTRIES) entriesByName.set(toFirstPart(one), [...(entriesByName.get(toFirstPart(one)) ?? []), one])
const findEntries = (names: string[], at: number): Entry[] =>
  [...(entriesByName.get(names[at]!) ?? []), ...PATTERN_ENTRIES].filter(
    ({ parts, at: where }) =>
      (where === 'anywhere' || at === 0) &&
      parts.every((matches, index) => names[at + index] !== undefined && matches(names[at + index]!)),
  )

/** Returns the names in a folder of auto-executed config that tools and commands may write. */
export function listOpenNames(path: string): readonly string[] {
  const names = foldNames(path)
  return findEntries(names, 0).flatMap(({ depth, except = [] }) => (depth === names.length ? except : []))
}

/**
 * Checks whether a folder with this name may contain an entry of several parts when it is moved or copied as a whole.
 */
export function canBeginEntry(path: string): boolean {
  const last = foldNames(path).at(-1)!
  return ENTRIES.some(({ parts, depth }) => depth > 1 && parts[0]!(last))
}

/** Checks whether a path may be an entry or below one; `*` in its names stands for characters that are not known. */
export function canNameEntry(path: string): boolean {
  const names = foldNames(path)
  return names.some((_, at) =>
    ENTRIES.some(({ name }) =>
      name.split('/').every((part, index) => names[at + index] !== undefined && canOverlap(names[at + index]!, part)),
    ),
  )
}
