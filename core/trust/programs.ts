import { relative, resolve } from 'node:path'
import { isObject } from '../shapes/index.js'
import { fileIn } from './tree.js'

/** Variables that stand for a folder which is known when consent is asked for. */
const known =
  /^(?:PWD|workspace|plugin_root|workspaceFolder|(?:VTCODE|CLAUDE|GEMINI)_(?:WORKSPACE|PROJECT_DIR)|(?:CLAUDE_)?PLUGIN_ROOT|extensionPath|workspacePath)$/
// Neither looks for the end of what never ends, so a long text of beginnings is read in one pass.
const variable = /\{\$([\w.]+)\}|\$(?:\{([\w.:]*)|([A-Za-z_]\w*))/g
const wholeVariable = /\{\$(\w+)\}|\$(?:\{(\w+)\}|([A-Za-z_]\w*))/g

/** Words of one item that are looked up; what is longer names no file. */
const MAX_WORDS = 10_000
const MAX_PATH = 4_096
/** Members of a value that is looked up when it is used. */
const lookups = [
  'env',
  'file',
  'command',
  'keychain',
  'secret',
  'option',
  'input',
  'join',
  'default',
  'timeout_secs',
  'refresh_secs',
]

/** Where the programs of an item are: `value` is searched for commands, whose words begin in one of `folders`. */
export interface Programs {
  value: unknown
  folders: readonly string[]
}
export interface Started {
  /** The files below the root that a word names directly: the real path of each by its name. */
  files: Record<string, string>
  /** What starts, which files of it are covered, and what gets values of the user's environment. */
  sentences: string[]
}

/**
 * Returns what the commands in a value start, and the files that their words or other texts of the value name directly.
 * No script, module or project file is followed.
 */
export function findStarted(root: string, { value, folders }: Programs): Started {
  const files: Record<string, string> = {}
  let left = MAX_WORDS
  /** Adds the files that words name from one of these folders. Returns their paths below the root. */
  const add = (words: readonly string[], bases: readonly string[]): string[] => {
    const names = [...new Set(words)].slice(0, left)
    left -= names.length
    const paths = new Set(names.flatMap((name) => bases.map((base) => resolve(base, name))))
    return [...paths].flatMap((path) => {
      const real = fileIn(root, path)
      if (real === undefined) return []
      files[path] = real
      return [relative(root, real)]
    })
  }
  const starts = commandsOf(value).map(({ words, more, cwd }) => {
    const below = folders.flatMap((folder) => cwd.map((path) => resolve(folder, replaceFolders(path))))
    const covered = add([...words, ...more].flatMap(splitWords), [...folders, ...below])
    return `It starts \`${words.join(' ').replaceAll(root, '.').slice(0, 200)}\` (${formatFiles([...new Set(covered)])})`
  })
  // An adapter of a third party may read a file that its manifest names.
  add(
    textsOf(value)
      .filter((text) => text.length < MAX_PATH)
      .map(replaceFolders),
    folders,
  )
  const limit = starts.length > 0 ? ['What a program starts or reads in turn cannot be listed'] : []
  return { files, sentences: [...new Set([...starts, ...limit, ...sentAway(value)])] }
}

function formatFiles(names: string[]): string {
  if (names.length === 0) return 'no file of it is covered'
  return `covered: ${names.slice(0, 8).join(', ')}${names.length > 8 ? ' …' : ''}`
}

/** Returns the words of a command line that may name a file: between spaces, between quotes, and after `=`. */
function splitWords(text: string): string[] {
  const plain = replaceFolders(text)
  const words = [plain, ...plain.split(/['"]/), ...plain.replace(/['"]/g, '').split(/[\s;&|<>()=]+/)]
  return words.filter((word) => word !== '' && word.length < MAX_PATH)
}

/** Replaces the variables that stand for a known folder: all of them are among those in which a word may begin. */
function replaceFolders(text: string): string {
  return text.replace(wholeVariable, (whole: string, member?: string, braced?: string, bare?: string) =>
    known.test(member ?? braced ?? bare ?? '') ? '.' : whole,
  )
}

/** A sentence for each address and each program that would be sent values of the user's environment: a key there is meant for somebody, who need not be this one. */
function sentAway(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  const { url, command, args, run, env } = value as Record<string, unknown>
  const below = Object.values(value).flatMap(sentAway)
  const [place] = isOneValue(url) ? textsOf(url) : []
  if (place !== undefined) {
    const names = namesIn(value)
    return names.length === 0
      ? below
      : [`It sends ${theirContent(names)} to ${hostIn(place) ?? place.slice(0, 200)}`, ...below]
  }
  const program = command ?? run
  const names = [...new Set([...referencesOf([command, args, run, env]), ...textsOf(env).flatMap(variablesOf)])]
  return isOneValue(program) && names.length > 0
    ? [
        `It hands ${theirContent(names)} to the program \`${textsOf(command === undefined ? run : [command, args])
          .join(' ')
          .slice(0, 200)}\``,
        ...below,
      ]
    : below
}

/** The host of an address that is whole; one that is put together later is shown as it stands. */
const hostIn = (address: string): string | undefined =>
  !/^[^/]*\/\/[^/?#]*[${}]/.test(address) && URL.canParse(address) ? new URL(address).host || undefined : undefined

function theirContent(names: string[]): string {
  const [secrets, variables] = [names.filter((name) => name.includes(' ')), names.filter((name) => !name.includes(' '))]
  const held =
    variables.length > 0
      ? [`what ${variables.join(', ')} ${variables.length === 1 ? 'holds' : 'hold'} in your environment`]
      : []
  return [...held, ...secrets].join(' and ')
}
const namesIn = (value: unknown): string[] => [
  ...new Set([...textsOf(value).flatMap(variablesOf), ...referencesOf(value)]),
]

/** A text, or what is looked up; no map of servers that has one of this name. */
const isOneValue = (value: unknown): boolean =>
  typeof value === 'string' ||
  Array.isArray(value) ||
  (isObject(value) &&
    Object.keys(value).length > 0 &&
    Object.entries(value).every(([key, item]) => lookups.includes(key) && !isObject(item)))

/** The variables in a text, but those that stand for a folder. */
const variablesOf = (text: string): string[] =>
  [...text.matchAll(variable)]
    .flatMap(
      ([, ...names]) => /^(?:env[:.])?(\w+)/.exec(names.find((name) => name !== undefined) ?? '')?.slice(1) ?? [],
    )
    .filter((name) => !known.test(name))

/** The variables and secrets that a value names as `{ env: NAME }` and `{ secret: KEY }`. */
function referencesOf(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, item]) => {
    if (typeof item !== 'string') return referencesOf(item)
    return key === 'env' ? [item] : key === 'secret' ? [`your secret ${item}`] : []
  })
}

/** Every text of a value, with the numbers and keys left out. */
const textsOf = (value: unknown): string[] => {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsOf) : []
}

/** The words of a program, and the other texts that have a part in what it does. */
interface StartedProgram {
  words: string[]
  more: string[]
  cwd: string[]
}

/** Each program that a value starts: of manifests, of servers, of lifecycle hooks, of sign-ins, of proofs. */
function commandsOf(value: unknown): StartedProgram[] {
  if (typeof value !== 'object' || value === null) return []
  // A server may bear the name of any member: what lies below is looked at in any case.
  const below = Object.values(value).flatMap(commandsOf)
  if (Array.isArray(value)) return below
  const { command, args, run, commands, env, cwd } = value as Record<string, unknown>
  const more = textsOf(env)
  const lines = isObject(commands) ? [] : textsOf(commands).map((line) => [line])
  const own = [
    ...(command === undefined ? [] : [[...textsOf(command), ...textsOf(args)]]),
    ...(run === undefined ? [] : [textsOf(run)]),
    ...lines,
  ].filter((words) => words.length > 0)
  return [...own.map((words) => ({ words, more, cwd: typeof cwd === 'string' ? [cwd] : [] })), ...below]
}
