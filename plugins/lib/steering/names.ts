import { foldedNames } from '../../../core/system/index.js'
import { wildcard } from '../../../core/text/index.js'
import { steeringNames, type SteeringName } from './table.js'

/** Why a tool does not write to a place unasked. */
export interface SteeringVerdict {
  verdict: 'deny' | 'ask'
  /** The place, relative to the workspace. */
  path: string
  /** A whole sentence. */
  reason: string
}

/** By the name alone. Names are compared as some volume would: nobody needs a `.GIT` of another meaning. */
export function judgeName(path: string): SteeringVerdict | undefined {
  const names = foldedNames(path).filter((name) => name !== '' && name !== '.')
  let asked: SteeringName | undefined
  for (let at = 0; at < names.length; at += 1) {
    const found = entriesOf(names, at)
    const open = found.find(
      ({ except, depth }) => except?.includes(names[at + depth]!) && names.length > at + depth + 1,
    )
    // What is open is so for plain files: a repository or a folder of settings in it steers as it does elsewhere.
    if (open) {
      at += open.depth
      continue
    }
    for (const entry of found) {
      if (entry.verdict === 'deny') return denied(path)
      asked ??= entry
    }
  }
  return (
    asked && { verdict: 'ask', path, reason: `'${path}' decides what other programs run: it steers ${asked.steers}.` }
  )
}

export const denied = (path: string): SteeringVerdict => ({
  verdict: 'deny',
  path,
  reason: `'${path}' belongs to git or to this program and is not written by tools.`,
})

interface Entry extends SteeringName {
  parts: ((name: string) => boolean)[]
  depth: number
}
const entries: Entry[] = steeringNames.map((one) => {
  const parts = one.name
    .split('/')
    .map((part) => (part.includes('*') ? wildcard(part) : (name: string) => name === part))
  return { ...one, parts, depth: parts.length }
})
// Most names of a workspace begin no entry: they are looked up once, and held against few patterns.
const firstOf = ({ name }: SteeringName): string => name.split('/')[0]!
const patterns = entries.filter((one) => firstOf(one).includes('*'))
const known = new Map<string, Entry[]>()
for (const one of entries) known.set(firstOf(one), [...(known.get(firstOf(one)) ?? []), one])
const entriesOf = (names: string[], at: number): Entry[] =>
  [...(known.get(names[at]!) ?? []), ...patterns].filter(
    ({ parts, at: where }) =>
      (where === 'anywhere' || at === 0) &&
      parts.every((matches, index) => names[at + index] !== undefined && matches(names[at + index]!)),
  )

/** Names in a folder that steers below which tools and commands write. */
export function openIn(path: string): readonly string[] {
  const names = foldedNames(path)
  return entriesOf(names, 0).flatMap(({ depth, except = [] }) => (depth === names.length ? except : []))
}

/** Whether a folder of this name, put there with all it holds, may bring an entry that stands deeper. */
export function beginsEntry(path: string): boolean {
  const last = foldedNames(path).at(-1)!
  return entries.some(({ parts, depth }) => depth > 1 && parts[0]!(last))
}
