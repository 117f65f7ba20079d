import type { Next } from '../../../core/index.js'
import { type CallFacts } from '../../lib/rules/index.js'

/** Returns a call that replaces a command which only inspects files. */
export function findAlternative(facts: CallFacts): Next | undefined {
  const lines = facts.lines()
  const only = lines.length === 1 && lines[0]!.commands.length === 1 ? lines[0]!.commands[0]! : undefined
  if (!only || only.some(({ kind }) => kind === 'dynamic')) return undefined
  const [program, ...words] = only.map((word) => word.text)
  const plain = words.filter((word) => !word.startsWith('-'))
  return Object.hasOwn(ALTERNATIVES, program!) ? ALTERNATIVES[program!]!(words, plain) : undefined
}

const read = (path: string | undefined, page: object = {}): Next | undefined =>
  path === undefined ? undefined : { tool: 'unified_file', input: { action: 'read', path, ...page } }
const search = (input: object): Next => ({ tool: 'unified_search', input: { ...input } })
const list = (_: string[], [path = '.']: string[]): Next => search({ action: 'list', path })
const grep = (_: string[], [pattern, path = '.']: string[]): Next | undefined =>
  pattern === undefined ? undefined : search({ action: 'grep', pattern, path })

const ALTERNATIVES: Record<string, (words: string[], plain: string[]) => Next | undefined> = {
  cat: (_, [path]) => read(path),
  less: (_, [path]) => read(path),
  head: (words, plain) => read(plain.at(-1), { offset_lines: 1, page_size_lines: readCount(words) ?? 10 }),
  tail: (_, plain) => read(plain.at(-1)),
  sed: (words, plain) => {
    const [, from, to] = /^(\d+),(\d+)p$/.exec(plain[0] ?? '') ?? []
    return words.includes('-n') && from && to
      ? read(plain[1], { offset_lines: +from, page_size_lines: +to - +from + 1 })
      : undefined
  },
  ls: list,
  tree: list,
  find: (words, [path = '.']) => {
    const at = words.findIndex((word) => word === '-name' || word === '-iname')
    const pattern = words[at + 1]
    return at < 0 || pattern === undefined
      ? undefined
      : search({ action: 'list', mode: 'find_name', path, name_pattern: pattern })
  },
  grep,
  rg: grep,
}

const readCount = (words: string[]): number | undefined => {
  const [, digits] = /(?:^|\s)-n?\s*(\d+)(?:\s|$)/.exec(words.join(' ')) ?? []
  return digits === undefined ? undefined : Number(digits)
}
