import { relative, resolve } from 'node:path'
import { isObject } from '../shapes/index.js'
import { resolveFileBelow } from './tree.js'

/** Variables for a folder that is known when consent is asked. */
const FOLDER_VARIABLE_PATTERN = new RegExp(
  '^(?:PWD|workspace|plugin_root|workspaceFolder|(?:VTCODE|CLAUDE|GEMINI)_(?:WORKSPACE|PROJECT_DIR)|' +
    '(?:CLAUDE_)?PLUGIN_ROOT|extensionPath|workspacePath)$',
)
// The patterns need no closing bracket, so a long text of beginnings is read in one pass.
const VARIABLE_PATTERN = /\{\$([\w.]+)\}|\$(?:\{([\w.:]*)|([A-Za-z_]\w*))/g
const WHOLE_VARIABLE_PATTERN = /\{\$(\w+)\}|\$(?:\{(\w+)\}|([A-Za-z_]\w*))/g

/** Words of one item that are looked up. */
const MAX_WORDS = 10_000
const MAX_PATH = 4_096
/** Members of a value that is looked up on use. */
const LOOKUP_KEYS = [
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

/** The programs of an item: `value` is searched for commands, whose words are resolved in each of `folders`. */
export interface Programs {
  value: unknown
  folders: readonly string[]
}
export interface Started {
  /** Files below the root that a word names directly: real path by name. */
  files: Record<string, string>
  /** Sentences about the started programs, their covered files, and the receivers of environment variables. */
  sentences: string[]
}

/**
 * Returns the programs that the commands in a value start, and the files that texts of the value name directly.
 * Scripts, modules and project files are not followed.
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
      const real = resolveFileBelow(root, path)
      if (real === undefined) return []
      files[path] = real
      return [relative(root, real)]
    })
  }
  const starts = listCommands(value).map(({ words, more, cwd }) => {
    const below = folders.flatMap((folder) => cwd.map((path) => resolve(folder, replaceFolders(path))))
    const covered = add([...words, ...more].flatMap(listFileWords), [...folders, ...below])
    const program = words.join(' ').replaceAll(root, '.').slice(0, 200)
    return `It starts \`${program}\` (${formatFiles([...new Set(covered)])})`
  })
  // An adapter of a third party may read a file that its manifest names.
  add(
    listTexts(value)
      .filter((text) => text.length < MAX_PATH)
      .map(replaceFolders),
    folders,
  )
  const limit = starts.length > 0 ? ['Programs and files that it uses in turn cannot be listed'] : []
  return { files, sentences: [...new Set([...starts, ...limit, ...describeSentValues(value)])] }
}

function formatFiles(names: string[]): string {
  if (names.length === 0) return 'none of its files is covered'
  return `covered: ${names.slice(0, 8).join(', ')}${names.length > 8 ? ' …' : ''}`
}

/** Lists the words of a command line that may name a file: between spaces, between quotes, and after `=`. */
export function listFileWords(text: string): string[] {
  const plain = replaceFolders(text)
  const words = [plain, ...plain.split(/['"]/), ...plain.replace(/['"]/g, '').split(/[\s;&|<>()=]+/)]
  return words.filter((word) => word !== '' && word.length < MAX_PATH)
}

/** Replaces the variables of known folders: each of these folders is tried for every word. */
function replaceFolders(text: string): string {
  return text.replace(WHOLE_VARIABLE_PATTERN, (whole: string, member?: string, braced?: string, bare?: string) =>
    FOLDER_VARIABLE_PATTERN.test(member ?? braced ?? bare ?? '') ? '.' : whole,
  )
}

/**
 * Returns a sentence for each address and program that would get values of the user's environment: the key may be meant
 * for another server.
 */
function describeSentValues(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  const { url, command, args, run, env } = value as Record<string, unknown>
  const below = Object.values(value).flatMap(describeSentValues)
  const [place] = isOneValue(url) ? listTexts(url) : []
  if (place !== undefined) {
    const names = listNames(value)
    return names.length === 0
      ? below
      : [`It sends ${formatContent(names)} to ${parseHost(place) ?? place.slice(0, 200)}`, ...below]
  }
  const program = command ?? run
  const names = [...new Set([...listReferences([command, args, run, env]), ...listTexts(env).flatMap(listVariables)])]
  return isOneValue(program) && names.length > 0
    ? [
        `It passes ${formatContent(names)} to the program \`${listTexts(command === undefined ? run : [command, args])
          .join(' ')
          .slice(0, 200)}\``,
        ...below,
      ]
    : below
}

/** Returns the host of a complete address; nothing for an address with variables. */
const parseHost = (address: string): string | undefined =>
  !/^[^/]*\/\/[^/?#]*[${}]/.test(address) && URL.canParse(address) ? new URL(address).host || undefined : undefined

function formatContent(names: string[]): string {
  const [secrets, variables] = [names.filter((name) => name.includes(' ')), names.filter((name) => !name.includes(' '))]
  const held = variables.length > 0 ? [`${variables.join(', ')} of your environment`] : []
  return [...held, ...secrets].join(' and ')
}
const listNames = (value: unknown): string[] => [
  ...new Set([...listTexts(value).flatMap(listVariables), ...listReferences(value)]),
]

/** Returns whether a value is a text or a lookup, and not a map of servers with such a name. */
const isOneValue = (value: unknown): boolean =>
  typeof value === 'string' ||
  Array.isArray(value) ||
  (isObject(value) &&
    Object.keys(value).length > 0 &&
    Object.entries(value).every(([key, item]) => LOOKUP_KEYS.includes(key) && !isObject(item)))

/** Lists the variables in a text, except those of a folder. */
const listVariables = (text: string): string[] =>
  [...text.matchAll(VARIABLE_PATTERN)]
    .flatMap(
      ([, ...names]) => /^(?:env[:.])?(\w+)/.exec(names.find((name) => name !== undefined) ?? '')?.slice(1) ?? [],
    )
    .filter((name) => !FOLDER_VARIABLE_PATTERN.test(name))

/** Lists the variables and secrets that a value names as `{ env: NAME }` and `{ secret: KEY }`. */
function listReferences(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, item]) => {
    if (typeof item !== 'string') return listReferences(item)
    return key === 'env' ? [item] : key === 'secret' ? [`your secret ${item}`] : []
  })
}

/** Lists every text of a value, without numbers and keys. */
const listTexts = (value: unknown): string[] => {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(listTexts) : []
}

/** The words of a program, and the other texts that influence it. */
interface StartedProgram {
  words: string[]
  more: string[]
  cwd: string[]
}

/** Lists the programs that a value starts: of manifests, servers, lifecycle hooks, sign-ins and proofs. */
function listCommands(value: unknown): StartedProgram[] {
  if (typeof value !== 'object' || value === null) return []
  // A server may have the name of any member, so nested values are always searched.
  const below = Object.values(value).flatMap(listCommands)
  if (Array.isArray(value)) return below
  const { command, args, run, commands, env, cwd } = value as Record<string, unknown>
  const more = listTexts(env)
  const lines = isObject(commands) ? [] : listTexts(commands).map((line) => [line])
  const own = [
    ...(command === undefined ? [] : [[...listTexts(command), ...listTexts(args)]]),
    ...(run === undefined ? [] : [listTexts(run)]),
    ...lines,
  ].filter((words) => words.length > 0)
  return [...own.map((words) => ({ words, more, cwd: typeof cwd === 'string' ? [cwd] : [] })), ...below]
}
