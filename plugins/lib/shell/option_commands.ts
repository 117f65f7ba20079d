import { isStatic, literal, withText, type Argv, type Word } from './words.js'

/** Options of a program whose value is a command. */
export interface CommandOptions {
  /** Letters of such options. */
  letters?: string
  /** Letters of other options with a value, which may be the rest of a cluster. */
  valued?: string
  /** Such long options. Any beginning of a name counts, because many programs accept it. */
  long?: string[]
  /** Part of the value before the command; other values are none. */
  before?: RegExp
  /** The first word may be a cluster without a hyphen. */
  bareCluster?: true
}

const SSH: CommandOptions = {
  letters: 'o',
  valued: 'BbcDEeFIiJLlmOpQRSWwXP',
  before: /^\s*(?:ProxyCommand|LocalCommand|KnownHostsCommand)[\s=]+/i,
}

const NETCAT: CommandOptions = { letters: 'ec', valued: 'iIOpPqsTwxXVMm', long: ['exec', 'sh-exec', 'lua-exec'] }

const COMMAND_OPTIONS: Record<string, CommandOptions[]> = {
  tar: [
    {
      letters: 'IF',
      valued: 'bCfgHKLNTVX',
      bareCluster: true,
      long: ['use-compress-program', 'to-command', 'info-script', 'new-volume-script', 'rsh-command', 'rmt-command'],
    },
    { long: ['checkpoint-action'], before: /^exec=/ },
  ],
  bsdtar: [{ long: ['use-compress-program'] }],
  cpio: [{ long: ['rsh-command'] }],
  split: [{ long: ['filter'] }],
  sort: [{ long: ['compress-program'] }],
  rsync: [{ letters: 'e', valued: 'BfMT@', long: ['rsh'] }],
  ssh: [SSH],
  sftp: [SSH, { letters: 'SD', valued: 'BbcFiJloPRX' }],
  scp: [SSH, { letters: 'S', valued: 'cDFiJloPX' }],
  rg: [{ long: ['pre', 'hostname-bin'] }],
  ag: [{ long: ['pager'] }],
  bat: [{ long: ['pager'] }],
  man: [{ letters: 'PH', valued: 'CDeELmMprRsST', long: ['pager', 'html'] }],
  install: [{ long: ['strip-program'] }],
  strace: [{ letters: 'o', valued: 'abeEIOpPsSuUX', long: ['output'], before: /^[|!]/ }],
  svn: [{ long: ['diff-cmd', 'diff3-cmd', 'editor-cmd'] }],
  sdiff: [{ long: ['diff-program'] }],
  diff3: [{ long: ['diff-program'] }],
  nc: [NETCAT],
  ncat: [NETCAT],
  zip: [{ long: ['unzip-command'] }],
  wget: [{ long: ['use-askpass'] }],
  tcpdump: [{ letters: 'z', valued: 'BcCEFGijmMrsTVwWyZ' }],
}

/** Returns the texts of commands among the options of a program. */
export const findOptionCommands = (name: string, words: Argv): Word[] =>
  (Object.hasOwn(COMMAND_OPTIONS, name) ? COMMAND_OPTIONS[name]! : []).flatMap((options) =>
    findOptionValues(words, options).flatMap((word) => {
      const { before } = options
      if (before === undefined) return [word]
      return before.test(word.text) ? [withText(word, word.text.replace(before, ''))] : []
    }),
  )

/** Returns the values of such options. */
export function findOptionValues(words: Argv, options: CommandOptions): Word[] {
  return words.flatMap((word, at) => {
    const [, name, value] = /^--([a-z][\w-]*)(?:=(.*))?$/s.exec(word.text) ?? []
    if (name !== undefined) {
      const isKnown = options.long?.some((long) => long.startsWith(name)) === true
      if (!isKnown) return []
      return value === undefined ? words.slice(at + 1, at + 2) : [withText(word, value)]
    }
    const isBare = options.bareCluster === true && at === 0 && /^[a-zA-Z]+$/.test(word.text)
    if (isBare) return readBareCluster(word.text, words.slice(1), options)
    return /^-[^-]/.test(word.text) ? readCluster(word, words.slice(at + 1, at + 2), options) : []
  })
}

/** Reads a cluster such as `-cIf`: the first letter with a value takes the rest of the word, or the next one. */
function readCluster(word: Word, next: Argv, { letters = '', valued = '' }: CommandOptions): Word[] {
  const at = [...word.text].findIndex((letter, index) => index > 0 && (letters + valued).includes(letter))
  if (at < 0 || !letters.includes(word.text[at]!)) return []
  const rest = word.text.slice(at + 1)
  return rest === '' ? next : [withText(word, rest)]
}

/** Reads a cluster such as `cIf`, whose values follow in order. */
function readBareCluster(cluster: string, values: Argv, { letters = '', valued = '' }: CommandOptions): Word[] {
  const taking = [...cluster].filter((letter) => (letters + valued).includes(letter))
  return taking.flatMap((letter, at) => (letters.includes(letter) ? values.slice(at, at + 1) : []))
}

/**
 * A command of a sed script that starts a program: `e`, or `s` with the flag `e`. It stands after the begin of a line
 * or another command, and an address.
 */
const SED_COMMAND = new RegExp(
  [
    // A newline begins a match and continues none, so that many of them are read once.
    /(?:^|[;{}\n])(?:[^\S\n]|[\d$,~+!])*(?:\/(?:\\.|[^/\\])*\/(?:[^\S\n]|[\d$,~+!IM])*){0,2}/.source,
    /(?:e|\\|s([^\\\n])(?:\\.|(?!\1)[^\\])*\1(?:\\.|(?!\1)[^\\])*\1[gpiImM\d]*e)/.source,
  ].join(''),
  's',
)
const SED_OPTIONS: CommandOptions = { letters: 'e', valued: 'filE', long: ['expression'] }

function listSedScripts(words: Argv): Word[] {
  const scripts = findOptionValues(words, SED_OPTIONS)
  const first = words.find(({ text }) => !/^-./.test(text))
  return [...scripts, ...(first ? [first] : [])]
}

/** Checks whether a script among the words of sed may start a program. */
export const startsFromSed = (words: Argv): boolean => listSedScripts(words).some(({ text }) => SED_COMMAND.test(text))

/** Returns the files that scripts among the words of sed write by `w`, as a command or as a flag of `s`. */
export const findSedTargets = (words: Argv): Word[] =>
  listSedScripts(words)
    .filter(isStatic)
    .flatMap(({ text }) => [...text.matchAll(/(?:^|[^A-Za-z]|[gpiIMm])[wW]\s*(\S[^\n]*)/g)])
    .map(([, name = '']) => literal(name.trim()))
