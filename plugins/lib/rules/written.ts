import { wildcard } from '../../../core/base/index.js'
import { protectedNames } from '../steering/index.js'
import { changesFolder, targetOf } from './folders.js'
import { namesOfWord, reached, type WordPlace } from './named.js'
import { gap, programName } from './expand.js'
import { readOnlyFiles } from './read_only.js'
import { startsNothing } from './repository.js'
import { takesFiles, writtenWords } from './targets.js'
import type { Argv, ParsedLine, Word } from './words.js'

/** What the command lines of a call write, as far as their text tells. */
export interface WrittenNames {
  /** Every name of a file that they are known to write, or that may be one of those that are kept. */
  names: string[]
  /** What of it cannot be told, as the end of a sentence. */
  untold?: string
}

const mostNames = 256

export function writtenInLine(line: ParsedLine, start: WordPlace, places: readonly WordPlace[]): WrittenNames {
  const programs = [...line.commands, ...line.readings]
  const names = new Set<string>()
  const from = [start, ...places].flatMap((place) => [place, ...entered(programs, place)])
  const words = [...line.writes, ...programs.flatMap((argv) => [...writtenWords(argv), ...mentioned(argv)])]
  for (const text of words.flatMap(spellings)) {
    for (const place of from) for (const name of namesOfWord(text, place)) if (names.size < mostNames) names.add(name)
  }
  const strays = words.some(({ text }) => inGit.test(text)) && line.commands.some((argv) => changesFolder(argv) && targetOf(argv) === undefined)
  const untold = line.untold ?? (strays ? 'in which folder it writes' : (setting(line.commands) ?? fed(line.commands)))
  return { names: [...names], ...(untold !== undefined && { untold }) }
}

// What a git folder or ours is steered by, in whatever folder it is written.
const inGit = /^(\.\/)?(config|config\.worktree|commondir|hooks|info|objects|alternates|attributes|tool-policy\.json|(pre|post)-[a-z-]+|[a-z]+-msg|fsmonitor-watchman)(\/|$)/
/** Folders that a program is told to work in. */
function entered(programs: readonly Argv[], place: WordPlace): WordPlace[] {
  const words = programs.flatMap((argv) => {
    const name = argv[0] && programName(argv[0])
    if (changesFolder(argv)) return argv.slice(1).flatMap(({ text }) => (text.startsWith('-') ? [] : text))
    if (name !== 'env' && name !== 'git' && name !== 'make' && name !== 'sudo') return []
    return argv.flatMap(({ text }, at) => (/^(-[CD]|--chdir|--directory)$/.test(text) ? (argv[at + 1]?.text ?? []) : /^(?:-[CD]|--(?:chdir|directory)=)(.+)$/s.exec(text)?.[1] ?? []))
  })
  return words.flatMap((word) => {
    const folder = reached(word, place)
    return folder === undefined ? [] : [{ ...place, folder }]
  })
}

/**
 * Words that name what no tool writes: all those of a program of which nobody knows what it does with them, scripts of those that may
 * write by them, and where a find begins that changes what it finds.
 */
function mentioned(argv: Argv): Word[] {
  const [program, ...words] = argv
  const name = program && programName(program)
  if (name === undefined || readOnlyFiles(argv) !== undefined || changesFolder(argv)) return []
  if (name === 'find') return words.some(({ text }) => text === '-delete' || takesFiles(text)) ? words.slice(0, words.findIndex(({ text }) => /^-./.test(text))) : []
  const texts = scripted.test(name) ? words.filter(({ text }) => /[\s>]/.test(text)) : takesFiles(name) || readers.test(name) ? [] : words
  return texts.flatMap((word) => word.text.split(/[\s"'`()<>,;:|&=]+/).filter((text) => /(^|\/)\.(git|vtcode)(\/|$)/i.test(text)).map((text) => ({ ...word, text })))
}
const scripted = /^(awk|gawk|mawk|sed|perl|ruby|ex|vi|vim|nvim)$/
const readers = new RegExp(`^(${[
  'e?grep|fgrep|rg|ag|fd|less|more|diff|sort|uniq|cut|tr|jq|strings|hexdump|xxd|od|nl|tac|column|md5sum|sha\\w+sum',
  'tree|bat|test|\\[|export|declare|wc|env|xargs|sh|bash|sudo|eval|gzip|zcat',
].join('|')})$`)

/** Names that come to a program that writes from the input of another. */
function fed(commands: readonly Argv[]): string | undefined {
  const writes = commands.some((argv) => argv[0] && programName(argv[0]) === 'xargs' && argv.some(({ text }) => writers.test(text)))
  return writes ? 'what the input of xargs names' : undefined
}
const writers = /^(tee|touch|rm|cp|mv|ln|install|truncate|sed|perl|chmod)$/

/** A word in all spellings that braces, and patterns that a kept name would fit, make of it. */
function spellings(word: Word): string[] {
  if (word.kind === 'static' && !word.text.includes(gap)) return [word.text]
  const text = word.text.replace(/^(~\+|\$PWD|\$\{PWD\}|"\$PWD"|\$\(pwd\)|`pwd`)(?=\/)/, '.')
  return braces(text).flatMap(patterns)
}

function braces(text: string, depth = 0): string[] {
  const [whole, before = '', inner = '', after = ''] = /^(.*?)\{([^{}]*,[^{}]*)\}(.*)$/s.exec(text) ?? []
  if (whole === undefined || before.endsWith('$') || depth > 4) return [text]
  return inner.split(',').flatMap((one) => braces(before + one + after, depth + 1))
}

/** What a pattern may stand for among the names that are kept. A name with a dot first is meant by a dot only. */
function patterns(text: string): string[] {
  if (!/[*?[\u0001]/.test(text)) return [text]
  let made = ['']
  for (const segment of text.split('/')) {
    const loose = segment.replaceAll(gap, '*')
    const isPattern = /[*?[]/.test(loose) && (loose.startsWith('.') || made.some((one) => /(^|\/)\.git(\/|$)/i.test(one)))
    const matches = wildcard(loose.replace(/\[[^\]]*\]|\?/g, '*'))
    const fits = isPattern ? protectedNames.filter((name) => matches(name)) : []
    made = made.flatMap((one) => [segment, ...fits].map((next) => (one === '' && !text.startsWith('/') ? next : `${one}/${next}`))).slice(0, mostNames)
  }
  return made
}

/** Settings of a repository that git is told to write and that may start programs. */
function setting(commands: readonly Argv[]): string | undefined {
  for (const [program, ...words] of commands) {
    const at = words.findIndex(({ text }) => text === 'config')
    if (program?.text !== 'git' || at < 0) continue
    const options = words.slice(at + 1)
    if (options.some(({ text }) => /^(-l|--list|--get.*|--unset.*|--remove-section|get|list|unset)$/.test(text))) continue
    if (options.some(({ text }) => /^(-e|--edit|edit)$/.test(text))) return 'what git will be told to start'
    const [key, value] = options.filter(({ text }) => !/^-|^set$/.test(text))
    if (key && value && !startsNothing(key.text, value.text)) return `what git starts by ${key.text.slice(0, 80)}`
  }
  return undefined
}
