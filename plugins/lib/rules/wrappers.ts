import type { Argv } from './words.js'

/** What a program that starts other programs would start. */
export interface Inner {
  commands?: Argv[]
  /** Text that a shell will read. */
  scripts?: string[]
  assigned?: string[]
  unknown?: string
}

/** Options of a wrapper that take the next word as their value; `positional` words stand before the command. */
interface Wrapper {
  valued?: string
  long?: string[]
  positional?: number
  assigns?: true
}

const wrappers: Record<string, Wrapper> = {
  env: { valued: 'uC', long: ['unset', 'chdir'], assigns: true },
  command: {},
  builtin: {},
  exec: { valued: 'a' },
  nohup: {},
  nice: { valued: 'n', long: ['adjustment'] },
  ionice: { valued: 'cnpPu', long: ['class', 'classdata'] },
  setsid: {},
  timeout: { valued: 'ks', long: ['kill-after', 'signal'], positional: 1 },
  time: { valued: 'fo', long: ['format', 'output'] },
  stdbuf: { valued: 'ioe', long: ['input', 'output', 'error'] },
  xargs: { valued: 'adEILnPs', long: ['arg-file', 'delimiter', 'max-lines', 'max-args', 'max-procs', 'max-chars', 'replace'] },
  sudo: { valued: 'CDghpRrTtUu', long: ['user', 'group', 'chdir', 'host', 'prompt', 'role', 'type'], assigns: true },
  doas: { valued: 'Cu' },
  watch: { valued: 'n', long: ['interval'] },
  flock: { valued: 'wE', long: ['timeout', 'conflict-exit-code'], positional: 1 },
  busybox: {},
}
const shells = ['sh', 'bash', 'dash', 'zsh', 'ksh', 'ash']
const readsText = ['eval', 'trap', '.', 'source']

export const baseName = (text: string): string => text.slice(text.lastIndexOf('/') + 1)

/** Opens one layer of wrapping; a program that wraps nothing gives nothing. */
export function unwrapCommand(argv: Argv): Inner {
  const [program, ...rest] = argv
  if (!program || program.kind !== 'static') return { unknown: 'the name of a program in it is only known when it runs' }
  const name = baseName(program.text)
  if (Object.hasOwn(wrappers, name)) return name === 'env' && splits(rest) ? { unknown: '`env -S` splits text itself' } : behind(rest, wrappers[name]!)
  if (shells.includes(name)) return shell(rest)
  if (name === 'find') return { commands: findActions(rest) }
  if (readsText.includes(name)) return text(name, rest)
  return {}
}

const splits = (words: Argv): boolean => words.some(({ text }) => /^-[a-zA-Z]*S|^--split-string/.test(text))

// Skips the options of the wrapper. A word that is not static may be an option or two, so nothing behind it can be told.
function behind(words: Argv, wrapper: Wrapper): Inner {
  const assigned: string[] = []
  let index = 0
  for (; index < words.length; index += 1) {
    const { text, kind } = words[index]!
    if (kind !== 'static') break
    if (text === '--') {
      index += 1
      break
    }
    const assignment = wrapper.assigns ? /^([A-Za-z_]\w*)=/.exec(text) : null
    if (assignment) assigned.push(assignment[1]!)
    else if (text.startsWith('--')) index += !text.includes('=') && wrapper.long?.includes(text.slice(2)) ? 1 : 0
    else if (/^-[^-]/.test(text)) index += takesNext(text, wrapper.valued ?? '') ? 1 : 0
    else break
  }
  const positional = words.slice(index, index + (wrapper.positional ?? 0))
  const inner = words.slice(index + positional.length)
  if (inner[0] && inner[0].kind !== 'static') return { commands: [inner], assigned, unknown: 'the program behind a wrapper is only known when it runs' }
  return { commands: [inner], assigned }
}

/** In a cluster such as `-un`, a valued option takes the rest of the cluster, or the next word when nothing is left. */
function takesNext(cluster: string, valued: string): boolean {
  const at = [...cluster].findIndex((letter, index) => index > 0 && valued.includes(letter))
  return at === cluster.length - 1
}

function shell(words: Argv): Inner {
  const at = words.findIndex(({ text }) => /^-[a-zA-Z]*c[a-zA-Z]*$/.test(text))
  const script = words[at + 1]
  if (at < 0) return { unknown: 'a shell reads its commands from elsewhere' }
  if (!script || script.kind !== 'static') return { unknown: 'a shell gets text that is only known when it runs' }
  return { scripts: [script.text] }
}

const findStarters = ['-exec', '-execdir', '-ok', '-okdir']
function findActions(words: Argv): Argv[] {
  return words.flatMap((word, index) => {
    if (!findStarters.includes(word.text)) return []
    const end = words.findIndex((other, at) => at > index && [';', '+'].includes(other.text))
    return [words.slice(index + 1, end < 0 ? undefined : end)]
  })
}

function text(name: string, words: Argv): Inner {
  if (name === '.' || name === 'source') return { unknown: 'it reads commands from a file' }
  const used = name === 'trap' ? words.slice(0, 1) : words
  if (used.some(({ kind }) => kind !== 'static')) return { unknown: `\`${name}\` gets text that is only known when it runs` }
  return { scripts: [used.map((word) => word.text).join(' ')] }
}
