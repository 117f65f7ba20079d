import { isOneWord, isStatic, programName, withText, type Argv, type Word } from './words.js'

/** Programs whose bare words are names of tasks. */
const TASK_RUNNERS = /^(npm|pnpm|yarn|make|gmake|just|task|cargo|gradle|gradlew|mvn|ninja|bazel)$/
/** Options of these programs whose value is a file, and words after which a program with its own words follows. */
const FILE_OPTION = /^(-f|--(file|makefile|justfile|manifest-path|config|userconfig))$/
const RUNS_PROGRAM = /^(exec|x|dlx|--)$/
/** Programs whose first operand is a pattern or a script, unless an option gives it. */
const PATTERN_FIRST = /^([efz]?grep|rg|ag|ack|g?sed|[gmn]?awk|jq)$/
const GIVES_PATTERN = /^-\w*[efE]|^--[refs]/
/** Programs that match patterns with names by themselves. */
const MATCHES_NAMES = /^(find|fd|fdfind|git|tar|rsync|zip)$/
/** Options whose value names what is left out. */
const LEAVES_OUT = /^--(exclude|ignore)(?!\S*(from|file))/
/** Programs whose words are texts or numbers. */
const NAMES_NO_FILES = /^(echo|printf|true|false|:|exit|return|sleep|kill|seq|expr|basename|dirname)$/
/** A word that is a path, or holds one: every other word is bare. */
const PATH_SIGN = /[/.~=@:]/

/**
 * Returns the words by which a program may name files that it reads: each word, and the parts of a word that is an
 * option with a value, or a list.
 */
export function findSources([program, ...words]: Argv): Word[] {
  const name = programName(program) ?? ''
  if (NAMES_NO_FILES.test(name)) return []
  const named = words.filter(
    (_word, at) =>
      !(name === 'git' && isSubcommand(words, at)) &&
      !isTask(name, words, at) &&
      !isPattern(name, words, at) &&
      !isMessage(name, words, at),
  )
  return named.flatMap(listParts).flatMap((word) => (MATCHES_NAMES.test(name) ? toPatterns(word) : word))
}

/** Checks whether a word is the first operand, and not the value of an option before it. */
const isSubcommand = (words: Argv, at: number): boolean =>
  isStatic(words[at]!) &&
  words.slice(0, at).every(({ text }) => /^-./.test(text)) &&
  !/^-[cC]$/.test(words[at - 1]?.text ?? '')

function isTask(name: string, words: Argv, at: number): boolean {
  const { text } = words[at]!
  return (
    TASK_RUNNERS.test(name) &&
    !PATH_SIGN.test(text) &&
    !text.startsWith('-') &&
    !FILE_OPTION.test(words[at - 1]?.text ?? '') &&
    !words.slice(0, at).some((word) => RUNS_PROGRAM.test(word.text))
  )
}

function isPattern(name: string, words: Argv, at: number): boolean {
  if (!PATTERN_FIRST.test(name) || words.some((word) => GIVES_PATTERN.test(word.text) || !isOneOrGlob(word)))
    return false
  return at === words.findIndex(({ text }) => !/^-./.test(text)) && !/[/.~]/.test(words[at]!.text)
}
const isOneOrGlob = (word: Word): boolean => word.kind === 'glob' || isOneWord(word)

/** Checks whether a word is a message, which is no name of a file. */
function isMessage(name: string, words: Argv, at: number): boolean {
  const option =
    name === 'git' && words.some(({ text }) => /^(commit|tag|merge|stash)$/.test(text))
      ? /^(-[a-z]*m|--message)(=|$)/
      : name === 'gh'
        ? /^(-[tb]|--title|--body)(=|$)/
        : undefined
  const before = words[at - 1]?.text ?? ''
  return option !== undefined && (option.test(words[at]!.text) || (option.test(before) && !before.includes('=')))
}

const MAX_CLUSTER = 8
/** Returns a word with its parts that may be names: after an option, after a sign, and between signs. */
function listParts(word: Word): Word[] {
  const { text } = word
  if (LEAVES_OUT.test(text)) return []
  const texts = [text, ...text.split(/[=:,@<]+/)]
  for (const { index, 0: sign } of text.matchAll(/[=:,@<]+/g)) texts.push(text.slice(index + sign.length))
  // A letter of an option may be followed by its value: `-fname`, `-vfname`.
  if (/^-[^-]/.test(text)) for (let at = 2; at <= MAX_CLUSTER; at += 1) texts.push(text.slice(at))
  return [...new Set(texts)].filter(Boolean).map((part) => (part === text ? word : withText(word, part)))
}

/** Returns a quoted pattern as the names that it matches. Unlike in a shell, it matches hidden names too. */
function toPatterns(word: Word): Word[] {
  if (!isStatic(word) || !/[*?[]/.test(word.text)) return [word]
  const hidden = word.text.replace(/(^|\/)(?=[*?[])/g, '$1.')
  return [word, ...[word.text, hidden].map((text): Word => ({ text, kind: 'glob' }))]
}
