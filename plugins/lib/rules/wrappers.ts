import { gap, headOf, isWhole, programName, tailOf } from './expand.js'
import { startedByGit } from './git_starts.js'
import { literal, type Argv, type Word } from './words.js'

/** What a program that starts other programs would start. */
export interface Inner {
  commands?: Argv[]
  /** Text that a shell will read. */
  scripts?: string[]
  /** Text that may be for a shell: it can be held against the line. */
  perhaps?: string[]
  /** Variables that are set, with their values. */
  assigned?: Word[]
  /** Files that a shell will read. */
  files?: Word[]
  /** It reads commands from its standard input. */
  stdin?: true
  /** Why it is not known to only read or to be covered. */
  unknown?: string
  /** Why nobody can tell what it starts. */
  hidden?: string
}

/** Options of a wrapper that take the next word as their value; `positional` words stand before the command. */
interface Wrapper {
  valued?: string
  long?: string[]
  positional?: number
  assigns?: true
  /** The command is joined to one text for a shell. */
  joins?: true
  /** Without a command of its own it takes one from its input. */
  fed?: true
  /** An option whose value is a text for a shell. */
  script?: RegExp
}

/** Every word is for the wrapper itself. */
const every = 99
const user = { valued: 'gGsuwp', long: ['user', 'group', 'supp-group', 'shell', 'whitelist-environment'], script: /^(-\w*c|--(session-)?command)$/ }
const wrappers: Record<string, Wrapper> = {
  env: { valued: 'uC', long: ['unset', 'chdir'], assigns: true },
  command: {},
  builtin: {},
  exec: { valued: 'a' },
  nohup: {},
  nice: { valued: 'n', long: ['adjustment'] },
  ionice: { valued: 'cnpPu', long: ['class', 'classdata'] },
  chrt: { valued: 'TPDp', positional: 1 },
  taskset: { positional: 1 },
  setsid: {},
  timeout: { valued: 'ks', long: ['kill-after', 'signal'], positional: 1 },
  time: { valued: 'fo', long: ['format', 'output'] },
  stdbuf: { valued: 'ioe', long: ['input', 'output', 'error'] },
  unbuffer: {},
  xargs: { valued: 'adEILnPs', long: ['arg-file', 'delimiter', 'max-lines', 'max-args', 'max-procs', 'max-chars', 'replace', 'process-slot-var'], fed: true },
  sudo: { valued: 'CDghpRrTtUu', long: ['user', 'group', 'chdir', 'host', 'prompt', 'role', 'type'], assigns: true },
  doas: { valued: 'Cu' },
  pkexec: { long: ['user'] },
  su: { ...user, positional: every },
  runuser: user,
  setpriv: { long: ['reuid', 'regid', 'groups', 'inh-caps', 'ambient-caps', 'bounding-set', 'securebits', 'pdeathsig', 'rlimit'] },
  script: { valued: 'EIOBTmo', long: ['log-in', 'log-out', 'log-io', 'log-timing', 'logging-format', 'output-limit'], positional: every, script: /^(-\w*c|--command)$/ },
  watch: { valued: 'nq', long: ['interval'], joins: true },
  flock: { valued: 'wE', long: ['timeout', 'conflict-exit-code'], positional: 1, script: /^(-c|--command)$/ },
  chroot: { positional: 1 },
  unshare: { valued: 'SGRw', long: ['root', 'wd', 'setuid', 'setgid', 'map-user', 'map-group'] },
  nsenter: { valued: 'tSG', long: ['target', 'setuid', 'setgid'] },
  strace: { valued: 'abeEIoOpPsSuUX' },
  ltrace: { valued: 'aeFlnopsuwxX' },
  prlimit: {},
  setarch: { positional: 1 },
  choom: { valued: 'np' },
  numactl: { valued: 'miNCpl' },
  'start-stop-daemon': { valued: 'xanpugcsdRkP', long: ['exec', 'startas', 'pidfile', 'user', 'chdir'] },
  'systemd-run': { valued: 'pEtu', long: ['unit', 'property', 'setenv'] },
  'dbus-run-session': {},
  'ssh-agent': { valued: 'aEtP' },
  fakeroot: { valued: 'lfsib' },
  rlwrap: {},
  valgrind: {},
  parallel: { valued: 'jSaIN', long: ['jobs', 'arg-file', 'delimiter', 'colsep'], joins: true, fed: true },
  busybox: {},
  toybox: {},
}
const same: Record<string, string> = { gtimeout: 'timeout', genv: 'env', gxargs: 'xargs', linux32: 'nohup', linux64: 'nohup', catchsegv: 'nohup', 'ld.so': 'nohup' }
const shells = ['sh', 'bash', 'dash', 'zsh', 'ksh', 'ash', 'rbash', 'mksh', 'yash', 'posh', 'fish', 'csh', 'tcsh']
const unlike = ['zsh', 'fish', 'csh', 'tcsh']
const readsText = ['eval', 'trap', '.', 'source', 'alias', 'hash', 'mapfile', 'readarray', 'compgen', 'complete', 'enable', 'bind', 'fc', 'at', 'batch', 'crontab']

export const baseName = (text: string): string => text.slice(text.lastIndexOf('/') + 1)

/** Opens one layer of wrapping; a program that wraps nothing gives nothing. */
export function unwrapCommand(argv: Argv): Inner {
  const [program, ...rest] = argv
  const name = program && programName(program)
  if (name === undefined || name === '') return { ...nobodyKnows('the name of a program in it is only known when it runs') }
  const wrapper = Object.hasOwn(same, name) ? same[name]! : /^ld-linux.*\.so/.test(name) ? 'nohup' : name
  if (Object.hasOwn(wrappers, wrapper)) return wrapped(wrapper, rest, wrappers[wrapper]!)
  if (shells.includes(name)) return shell(rest, unlike.includes(name))
  if (name === 'git') return startedByGit(rest)
  if (name === 'find' || name === 'fd' || name === 'fdfind') return name === 'find' ? findActions(rest) : fdActions(rest)
  return readsText.includes(name) ? text(name, rest) : {}
}

const nobodyKnows = (reason: string): Inner => ({ unknown: reason, hidden: reason })

function wrapped(name: string, words: Argv, wrapper: Wrapper): Inner {
  if (name === 'env' && splits(words)) return nobodyKnows('`env -S` splits text itself')
  if (name === 'command' && words.some(({ text }, at) => /^-p*[vV]/.test(text) && words.slice(0, at).every((word) => word.text.startsWith('-')))) return {}
  const inner = behind(words, wrapper)
  const command = inner.commands?.[0]
  if (name === 'xargs') return fedBy(inner, words)
  if (wrapper.fed && command?.length === 0) return { ...inner, stdin: true }
  if (!wrapper.joins || !command) return inner
  const end = command.findIndex(({ text }) => /^:::/.test(text))
  const own = end < 0 ? command : command.slice(0, end)
  if (own.some(({ kind }) => kind !== 'static')) return { ...inner, ...nobodyKnows('a shell gets text that is only known when it runs') }
  return { ...inner, scripts: [...(inner.scripts ?? []), own.map((word) => word.text).join(' ')] }
}

/** What `xargs` puts at the end, or in the place of a mark, must be no program and no part of a text that is run. */
function fedBy(inner: Inner, words: Argv): Inner {
  const command = inner.commands?.[0] ?? []
  const at = words.findIndex(({ text }) => /^-[iI]|^--replace/.test(text))
  const mark = at < 0 ? undefined : (/^(?:-[iI]|--replace=?)(.+)$/.exec(words[at]!.text)?.[1] ?? (words[at]!.text === '-I' ? words[at + 1]?.text : '{}'))
  return opensInput(command, mark) ? { ...inner, ...nobodyKnows('a program in it comes from the input of another') } : inner
}

function opensInput(command: Argv, mark: string | undefined): boolean {
  const [program] = command
  if (!program) return false
  if (mark !== undefined && program.text.includes(mark)) return true
  const { commands = [], scripts = [], stdin } = unwrapCommand(command)
  if (mark !== undefined && scripts.some((script) => script.includes(mark))) return true
  return (mark === undefined && (stdin === true || commands.some((inner) => inner.length === 0))) || commands.some((inner) => opensInput(inner, mark))
}

const splits = (words: Argv): boolean => words.some((word) => /^-[a-zA-Z]*S|^--split/.test(headOf(word)))

// Skips the options of the wrapper. A word that is not static may be an option or two, so nothing behind it can be told.
function behind(words: Argv, wrapper: Wrapper): Inner {
  const assigned: Word[] = []
  const scripts: Word[] = []
  let loose = false
  let index = 0
  let positional = wrapper.positional ?? 0
  for (; index < words.length; index += 1) {
    const word = words[index]!
    const head = headOf(word)
    if (wrapper.assigns && /^[^-=][^=]*=/.test(head)) {
      assigned.push(word)
      loose ||= !isWhole(word)
    } else if (head === '--') {
      words = [...words.slice(0, index), ...words.slice(index + 1)]
      break
    } else if (/^-./.test(head)) {
      loose ||= !isWhole(word)
      const value = wrapper.script?.test(head) ? words[index + 1] : undefined
      if (value) scripts.push(value)
      if (value || takesNext(head, wrapper)) loose ||= !isWhole(words[(index += 1)] ?? word)
    } else if (positional > 0) {
      positional -= 1
      loose ||= !isWhole(word)
    } else break
  }
  const command = wrapper.positional === every ? [] : words.slice(index + positional)
  const open = scripts.some(({ kind }) => kind !== 'static') || loose || (command[0] !== undefined && programName(command[0]) === undefined)
  return {
    commands: [command],
    scripts: scripts.filter(({ kind }) => kind === 'static').map((script) => script.text),
    assigned,
    ...(open && nobodyKnows('the program behind a wrapper is only known when it runs')),
  }
}

/** In a cluster such as `-un`, a valued option takes the rest of the cluster, or the next word when nothing is left. */
function takesNext(option: string, { valued = '', long }: Wrapper): boolean {
  if (option.startsWith('--')) return !option.includes('=') && long?.includes(option.slice(2)) === true
  const at = [...option].findIndex((letter, index) => index > 0 && valued.includes(letter))
  return at === option.length - 1
}

/** Options come first, then the text after `-c`, or a file. */
function shell(words: Argv, isUnlike: boolean): Inner {
  const files: Word[] = []
  let takesText = false
  let fromInput = false
  let index = 0
  for (; index < words.length; index += 1) {
    const word = words[index]!
    const head = headOf(word)
    if (head === '--' || head === '-') {
      index += 1
      break
    }
    if (word.kind !== 'static' && !/^[-+]/.test(head) && isWhole(word)) break
    if (word.kind !== 'static') return nobodyKnows('a shell gets text that is only known when it runs')
    if (!/^[-+]./.test(head)) break
    if (/^--(rcfile|init-file)$/.test(head)) files.push(words[(index += 1)] ?? word)
    else if (/^[-+]/.test(head) && !head.startsWith('--')) {
      takesText ||= /^-.*c/.test(head)
      fromInput ||= /^-.*s/.test(head)
      if (/[oO]$/.test(head)) index += 1
    }
  }
  const operand = words[index]
  if (takesText) return scriptOf(operand, isUnlike, files)
  if (operand && !fromInput) return { unknown: 'a shell reads its commands from elsewhere', files: [...files, operand] }
  return { unknown: 'a shell reads its commands from elsewhere', stdin: true, files }
}

function scriptOf(operand: Word | undefined, isUnlike: boolean, files: Word[]): Inner {
  if (!operand || operand.kind !== 'static') return nobodyKnows('a shell gets text that is only known when it runs')
  const odd = isUnlike && !/^[\w\s./:@,+%&|;'"-]*$/.test(operand.text)
  return { scripts: [operand.text], files, ...(odd && { hidden: 'its text is for a shell that is not sh or bash' }) }
}

const findStarters = /^-(exec|execdir|ok|okdir)$/
/** Commands end with `;` or `+`; one more of these than commands means that a word which is not known begins another. */
function findActions(words: Argv): Inner {
  const commands: Argv[] = []
  let unknown = false
  let end = -1
  words.forEach((word, index) => {
    if (index <= end) return
    if (word.kind === 'static' && findStarters.test(word.text)) {
      const at = words.findIndex((other, place) => place > index && [';', '+'].includes(other.text))
      end = at < 0 ? words.length : at
      commands.push(words.slice(index + 1, end))
    } else unknown ||= word.text === ';' || word.text === '+' || (word.kind === 'dynamic' && /^-(e|o|$)/.test(headOf(word)))
  })
  const marked = commands.some((command) => opensInput(command, '{}'))
  return { commands, ...((unknown || marked) && nobodyKnows('the program that find starts is only known when it runs')) }
}

function fdActions(words: Argv): Inner {
  const at = words.findIndex(({ text }) => /^(-[xX]|--exec(-batch)?)$/.test(text))
  const command = words.slice(at + 1)
  return at < 0 ? {} : { commands: [command], ...(opensInput(command, '{') && nobodyKnows('the program that fd starts is only known when it runs')) }
}

function text(name: string, words: Argv): Inner {
  if (name === '.' || name === 'source') return { unknown: 'it reads commands from a file', files: words[0]?.text === '--' ? words.slice(1, 2) : words.slice(0, 1) }
  if (name === 'at' || name === 'batch' || name === 'crontab' || name === 'fc' || name === 'bind') return nobodyKnows(`\`${name}\` keeps commands for later`)
  if (name === 'enable') return words.some(({ text }) => /^-\w*f/.test(text)) ? nobodyKnows('`enable -f` loads a built-in from a file') : {}
  const operands = words.filter((word, at) => at > 0 || headOf(word) !== '--')
  if (name === 'alias') return tailed(words.filter(({ kind, text }) => kind !== 'static' || text.includes('=')).map((word) => afterEquals(word)), name)
  if (name === 'hash') return tailed(valueOf(words, 'p'), name)
  if (name !== 'eval' && name !== 'trap') return tailed(valueOf(words, 'C'), name)
  const used = name === 'trap' ? operands.slice(0, 1).filter(({ text }) => text !== '-' && !/^-[lpP]/.test(text)) : operands
  if (used.some(({ kind }) => kind !== 'static')) return nobodyKnows(`\`${name}\` gets text that is only known when it runs`)
  return { scripts: [used.map((word) => word.text).join(' ')] }
}

const afterEquals = (word: Word): Word => (word.kind === 'static' ? literal(word.text.slice(word.text.indexOf('=') + 1)) : word)
const valueOf = (words: Argv, letter: string): Argv =>
  words.flatMap(({ text }, at) => (new RegExp(`^-\\w*${letter}$`).test(text) ? (words[at + 1] ?? []) : text.startsWith(`-${letter}`) ? literal(text.slice(2)) : []))

/** Texts that are run with further words behind them. */
function tailed(texts: Argv, name: string): Inner {
  if (texts.some(({ kind }) => kind !== 'static')) return nobodyKnows(`\`${name}\` gets text that is only known when it runs`)
  return { scripts: texts.map(({ text }) => `${text} "$@"`) }
}

/** Whether a file from which a shell reads commands may be what the line itself makes. */
export function feedsItself(file: Word, made: readonly string[]): boolean {
  if (file.pieces?.some((piece) => piece.is === 'other' && piece.of === 'feed')) return true
  const tail = tailOf(file)
  const name = baseName(tail)
  const isWhole = file.kind === 'static' ? !name.includes(gap) : tail.includes('/')
  const end = name.slice(name.lastIndexOf(gap) + 1)
  return end === '' || [...made, 'stdin'].some((one) => (isWhole ? one === name : one.endsWith(end))) || /^\d+$/.test(end)
}
