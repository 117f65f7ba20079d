import { dirname, resolve } from 'node:path'
import { inside, isObject } from '../base/index.js'
import type { FileSet } from './file_set.js'
import { Started } from './started.js'

/** Variables that stand for a folder which is known when consent is asked for. */
const known = /^(?:PWD|workspace|plugin_root|workspaceFolder|(?:VTCODE|CLAUDE|GEMINI)_(?:WORKSPACE|PROJECT_DIR)|(?:CLAUDE_)?PLUGIN_ROOT|extensionPath|workspacePath)$/
const variable = /\{\$([\w.]+)\}|\$(?:\{([^}]*)\}|([A-Za-z_]\w*))/g

/** Members whose texts say what runs, and where. */
const commandKeys = ['command', 'args', 'run', 'commands']
const startKeys = [...commandKeys, 'env', 'cwd']
/** Members of a value that is looked up when it is used. */
const lookups = ['env', 'file', 'command', 'keychain', 'secret', 'option', 'input', 'join', 'default', 'timeout_secs', 'refresh_secs']

/**
 * Adds the files that programs are started with, as far as words say: every word is looked for in every folder it could begin in, a
 * script counts with what it names in its turn, a folder counts whole. Answers a sentence for each program with what of it is not covered,
 * and one for each value of the user's environment that would be handed over.
 */
export function addPrograms(set: FileSet, value: unknown, folders: readonly string[]): string[] {
  const commands = commandsOf(value)
  const starting = new Set(startingTexts(value))
  const started = new Started(set, [set.root, ...folders].filter((folder) => inside(set.root, folder)), starting)
  const found = new Map<string, string[]>()
  for (const text of new Set([...starting, ...textsOf(value)])) found.set(text, started.taken(text, starting.has(text)))
  const sentences = commands.map(({ words, more }) => sentence(words, [...new Set([...words, ...more].flatMap((text) => found.get(text) ?? []))], set.root))
  return [...new Set([...sentences, ...sentAway(value)])]
}

/** A sentence for each address and each program that would be sent values of the user's environment: a key there is meant for somebody, who need not be this one. */
function sentAway(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  const { url, command, args, run, env } = value as Record<string, unknown>
  const below = Object.values(value).flatMap(sentAway)
  const [place] = isOneValue(url) ? textsOf(url) : []
  if (place !== undefined) {
    const names = namesIn(value)
    return names.length === 0 ? below : [`It sends ${theirContent(names)} to ${hostIn(place) ?? place.slice(0, 200)}`, ...below]
  }
  const program = command ?? run
  const names = [...new Set([...referencesOf([command, args, run, env]), ...textsOf(env).flatMap(variablesOf)])]
  return isOneValue(program) && names.length > 0 ? [`It hands ${theirContent(names)} to the program \`${textsOf(command === undefined ? run : [command, args]).join(' ').slice(0, 200)}\``, ...below] : below
}

/** The host of an address that is whole; one that is put together later is shown as it stands. */
const hostIn = (address: string): string | undefined => (!/^[^/]*\/\/[^/?#]*[${}]/.test(address) && URL.canParse(address) ? new URL(address).host || undefined : undefined)

function theirContent(names: string[]): string {
  const [secrets, variables] = [names.filter((name) => name.includes(' ')), names.filter((name) => !name.includes(' '))]
  const held = variables.length > 0 ? [`what ${variables.join(', ')} ${variables.length === 1 ? 'holds' : 'hold'} in your environment`] : []
  return [...held, ...secrets].join(' and ')
}
const namesIn = (value: unknown): string[] => [...new Set([...textsOf(value).flatMap(variablesOf), ...referencesOf(value)])]

/** A text, or what is looked up; no map of servers that has one of this name. */
const isOneValue = (value: unknown): boolean =>
  typeof value === 'string' || Array.isArray(value) || (isObject(value) && Object.keys(value).length > 0 && Object.entries(value).every(([key, item]) => lookups.includes(key) && !isObject(item)))

/** The variables in a text, but those that stand for a folder. */
const variablesOf = (text: string): string[] =>
  [...text.matchAll(variable)].flatMap(([, ...names]) => (/^(?:env[:.])?(\w+)/.exec(names.find((name) => name !== undefined) ?? '')?.slice(1) ?? [])).filter((name) => !known.test(name))

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

/** The texts that say what runs. A folder that is no word of them, such as one with manifests, holds nothing that runs by being named. */
function startingTexts(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  if (Array.isArray(value)) return value.flatMap(startingTexts)
  return Object.entries(value).flatMap(([key, item]) => {
    if (key === 'env' && isObject(item)) return Object.entries(item).flatMap(([name, text]) => (startKeys.includes(name) || isPlace(name, text) ? textsOf(text) : startingTexts(text)))
    return startKeys.includes(key) ? textsOf(item) : startingTexts(item)
  })
}

/** Whether a variable names a place where a program finds what it loads, or options of it. */
const isPlace = (name: string, text: unknown): boolean => typeof text === 'string' && (/(?:PATH|LIB|OPTS?|OPTIONS|FLAGS|DIRS?|ROOT|HOME|RC|CONFIG)\d*$/i.test(name) || /^\.{0,2}\//.test(text))

/** The words of a program, and the other texts that have a part in what it does. */
interface StartedProgram {
  words: string[]
  more: string[]
}

/** Each program that a value starts: of manifests, of servers, of lifecycle hooks, of sign-ins, of proofs. */
function commandsOf(value: unknown): StartedProgram[] {
  if (typeof value !== 'object' || value === null) return []
  // A server may bear the name of any member: what lies below is looked at in any case.
  const below = Object.values(value).flatMap(commandsOf)
  if (Array.isArray(value)) return below
  const { command, args, run, commands, env, cwd } = value as Record<string, unknown>
  const more = textsOf([env, cwd])
  const lines = isObject(commands) ? [] : textsOf(commands).map((line) => [line])
  const own = [...(command === undefined ? [] : [[...textsOf(command), ...textsOf(args)]]), ...(run === undefined ? [] : [textsOf(run)]), ...lines].filter((words) => words.length > 0)
  return [...own.map((words) => ({ words, more })), ...below]
}

function sentence(words: string[], found: string[], root: string): string {
  const covered = found.filter((name) => !name.startsWith('!'))
  const left = found.filter((name) => name.startsWith('!')).map((name) => name.slice(1))
  const unknown = [...new Set(words.flatMap((word) => [...word.matchAll(variable)].flatMap(([text, ...names]) => (known.test(names.find((name) => name !== undefined)!) ? [] : [text]))))]
  const dynamic = words.some((word) => /[`*?]|\$\(/.test(word)) ? ['what it finds by patterns or other commands'] : []
  const rest = [...left, ...unknown, ...dynamic]
  const shown = words.join(' ').replaceAll(root, '.').slice(0, 200)
  if (covered.length === 0) return `It starts a program whose files are not covered: ${shown}`
  return `It starts \`${shown}\`; covered are ${covered.slice(0, 8).join(', ')}${covered.length > 8 ? ' …' : ''}, not what else it loads${rest.length > 0 ? `: ${rest.join(', ')}` : ''}`
}

/** The folders in which a manifest's programs may run: its own, and each `cwd` that it names. */
export function workingFolders(value: unknown, bases: readonly string[]): string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, item]) => (key === 'cwd' && typeof item === 'string' ? bases.flatMap((base) => [resolve(base, item), dirname(resolve(base, item))]) : workingFolders(item, bases)))
}
