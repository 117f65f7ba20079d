import { problem, type Settings } from '../../../core/shapes/index.js'
import { baseName, listSubcommandReadings, type Argv, type Word } from '../shell/index.js'
import type { CommandPattern } from './command_pattern.js'

/** One entry of `policy.commands`: a program with the shape of the argv that is meant. */
export type CommandEntry = Settings['policy']['commands'][number]

/** Compiles an entry. Throws VT_CONFIG_INVALID for an entry that allows without examples of both kinds. */
export function compileCommandEntry(entry: CommandEntry): CommandPattern {
  if (entry.verdict === 'allow' && !(entry.match?.length && entry.not_match?.length)) {
    throw problem('VT_CONFIG_INVALID', {
      problem:
        `The entry '${entry.id}' of policy.commands allows without examples. ` +
        'Add at least one example under match and one under not_match.',
    })
  }
  return {
    matches: (argv) => {
      if (argv[0]?.kind !== 'static' || baseName(argv[0].text) !== entry.program) return false
      const readings = listSubcommandReadings(argv)
      return (readings.length > 0 ? readings : [argv]).some((one) => canConcern(argv, one, entry))
    },
    covers: ([program, ...words]) =>
      program?.kind === 'static' && program.text === entry.program && isCoveredEntry(words, entry),
    findFiles: (argv) =>
      entry.positional?.kind === 'paths' ? splitWords(argv.slice(1), entry).positional.map(({ text }) => text) : [],
  }
}

/**
 * For ask and deny: a word that only the run decides may be a match. `reading` is the command without options before
 * its subcommand, which still count as flags.
 */
function canConcern([, ...words]: Argv, [, ...reading]: Argv, entry: CommandEntry): boolean {
  const { flags } = splitWords(words, entry)
  const { positional } = splitWords(reading, entry)
  const dynamic = words.some(({ kind }) => kind !== 'static')
  const [sub] = positional
  if (entry.subcommands && sub && sub.kind === 'static' && !entry.subcommands.includes(sub.text)) return false
  if (entry.subcommands && !sub && !dynamic) return false
  return (
    !entry.flags?.deny ||
    dynamic ||
    flags.some((flag) => entry.flags!.deny!.some((denied) => isFlag(flag.text, denied)))
  )
}

/** For allow: the entry lists every word. */
function isCoveredEntry(words: Argv, entry: CommandEntry): boolean {
  const { flags, positional } = splitWords(words, entry)
  const { allow = [], deny = [], any = false } = entry.flags ?? {}
  const isKnownFlag = (text: string): boolean =>
    any || splitCluster(text).every((letter) => allow.some((allowed) => isFlag(letter, allowed)))
  if (
    flags.some(
      ({ text, kind }) => kind !== 'static' || deny.some((denied) => isFlag(text, denied)) || !isKnownFlag(text),
    )
  )
    return false
  const [sub, ...rest] = positional
  if (entry.subcommands && !(sub?.kind === 'static' && entry.subcommands.includes(sub.text))) return false
  const values = entry.subcommands ? rest : positional
  const { kind = 'none', max = 1000, dynamic = false } = entry.positional ?? {}
  return values.length <= (kind === 'none' ? 0 : max) && values.every((value) => value.kind === 'static' || dynamic)
}

/**
 * Splits words into flags and positionals. A word that only the run decides counts as a flag, unless the entry allows
 * dynamic positionals.
 */
function splitWords(
  words: Argv,
  { positional: { dynamic = false } = {} }: CommandEntry,
): { flags: Word[]; positional: Word[] } {
  const end = words.findIndex(({ text, kind }) => kind === 'static' && text === '--')
  const before = end < 0 ? words : words.slice(0, end)
  const isFlagWord = ({ text, kind }: Word): boolean =>
    kind === 'static' ? text.length > 1 && text.startsWith('-') : !dynamic
  return {
    flags: before.filter(isFlagWord),
    positional: [...before.filter((word) => !isFlagWord(word)), ...(end < 0 ? [] : words.slice(end + 1))],
  }
}

/** `--name=value` is the flag `--name`; a letter may be part of a cluster such as `-rc`. */
function isFlag(text: string, flag: string): boolean {
  if (text === flag || text.startsWith(`${flag}=`)) return true
  return /^-[^-]$/.test(flag) && /^-[^-]/.test(text) && text.includes(flag[1]!)
}

/** Splits a cluster of flags; a flag of several letters stays whole. */
const splitCluster = (text: string): string[] =>
  /^-[A-Za-z]{2,}$/.test(text) ? [...text.slice(1)].map((letter) => `-${letter}`) : [text]
