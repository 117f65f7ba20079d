import { dirname, relative, resolve } from 'node:path'
import { inside, isObject, VtError } from '../base/index.js'
import { addModule } from './closure.js'
import type { FileSet } from './file_set.js'

/** Folders in which a word of a command may begin: the workspace, that of the manifest, and each that is named. */
const MAX_FOLDERS = 50
const script = /\.[cm]?[jt]sx?$/
/** Variables that stand for a folder which is known when consent is asked for. */
const known = /^(?:PWD|workspace|plugin_root|workspaceFolder|(?:VTCODE|CLAUDE|GEMINI)_(?:WORKSPACE|PROJECT_DIR)|(?:CLAUDE_)?PLUGIN_ROOT|extensionPath|workspacePath)$/
const variable = /\{\$([\w.]+)\}|\$(?:\{([^}]*)\}|([A-Za-z_]\w*))/g

/**
 * Adds the files that programs are started with, as far as words say: every word is looked for in every folder it could begin in, a
 * script counts with what it imports beside it, a folder counts whole. Answers a sentence for each program with what of it is not covered.
 */
export function addPrograms(set: FileSet, value: unknown, folders: readonly string[]): string[] {
  const places = new Set([set.root, ...folders].filter((folder) => inside(set.root, folder)))
  const commands = commandsOf(value)
  const started = new Set(commands.flat())
  for (const word of [...started].flatMap((text) => wordsOf(text, places))) {
    for (const place of [...places]) {
      if (places.size < MAX_FOLDERS && kind(set, resolve(place, word)) === 'folder') places.add(resolve(place, word))
    }
  }
  const found = new Map<string, string[]>()
  // A folder that is no word of a command, such as one with manifests, holds nothing that runs by being named.
  for (const text of textsOf(value)) found.set(text, wordsOf(text, places).flatMap((word) => [...places].flatMap((place) => taken(set, resolve(place, word), started.has(text)))))
  return [...commands.map((words) => sentence(words, [...new Set(words.flatMap((word) => found.get(word) ?? []))], set.root)), ...sentAway(value)]
}

/** A sentence for each address that would be sent values of the user's environment: a key there is meant for somebody, who need not be this one. */
function sentAway(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  // Where an address has variables it is put together of its parts.
  const [url] = textsOf((value as { url?: unknown }).url)
  if (url === undefined) return Object.values(value).flatMap(sentAway)
  const names = [...new Set([...textsOf(value).flatMap(variablesOf), ...referencesOf(value)])]
  return names.length === 0 ? [] : [`It sends what ${names.join(', ')} ${names.length === 1 ? 'holds' : 'hold'} in your environment to ${(URL.canParse(url) && new URL(url).host) || url.slice(0, 200)}`]
}

/** The variables in a text, but those that stand for a folder. */
const variablesOf = (text: string): string[] =>
  [...text.matchAll(variable)].flatMap(([, ...names]) => (/^(?:env[:.])?(\w+)/.exec(names.find((name) => name !== undefined) ?? '')?.slice(1) ?? [])).filter((name) => !known.test(name))

/** The variables that a value names as `{ env: NAME }`. */
function referencesOf(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, item]) => (key === 'env' && typeof item === 'string' ? [item] : referencesOf(item)))
}

/** Every text of a value, with the numbers and keys left out. */
const textsOf = (value: unknown): string[] => {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsOf) : []
}

/** More words than any shell would make of a text: with and without quotes, with each known folder in the place of a variable. */
function wordsOf(text: string, places: ReadonlySet<string>): string[] {
  const filled = text.includes('$') ? [...places].map((place) => text.replace(variable, () => place)) : []
  const words = [text, ...filled].flatMap((one) => {
    const plain = one.replace(/\\(.)/gs, '$1')
    const cuts = [/[\s;&|<>()`]+/, /[\s=:;'"&|<>(){}[\]`,@]+/].flatMap((cut) => plain.split(cut))
    return [plain, plain.trim(), ...cuts, ...cuts.map((word) => word.replace(/['"]/g, '')), ...(one.match(/'[^']*'|"[^"]*"/g) ?? []).map((word) => word.slice(1, -1))]
  })
  return [...new Set(words)].filter((word) => word !== '' && word.length < 4096 && !word.includes('\0'))
}

function kind(set: FileSet, path: string): 'file' | 'folder' | undefined {
  try {
    return set.kindOf(path)
  } catch {
    return undefined
  }
}

/** Adds what lies at a path. Answers the name of what is covered by it, or of what cannot be. */
function taken(set: FileSet, path: string, started: boolean): string[] {
  if (!inside(set.root, path) || path === set.root) return []
  const name = relative(set.root, path)
  try {
    const what = set.kindOf(path)
    if (what === 'folder') return started ? [set.namedFolder(path) === undefined ? `!${name} (too large)` : `${name}/`] : []
    if (what !== 'file') return []
    set.file(path)
    if (!script.test(path)) return [name]
    return addModule(set, path, { packages: false }).length > 0 ? [name, `!packages that ${name} imports`] : [name]
  } catch (error) {
    if (!(error instanceof VtError)) throw error
    return [`!${name}`]
  }
}

/** The words of each program that a value starts: of manifests, of servers, of lifecycle hooks, of sign-ins. */
function commandsOf(value: unknown): string[][] {
  if (typeof value !== 'object' || value === null) return []
  const { command, args, run } = value as { command?: unknown; args?: unknown; run?: unknown }
  const own = [...(command === undefined ? [] : [[...textsOf(command), ...textsOf(args)]]), ...(run === undefined ? [] : [textsOf(run)])].filter((words) => words.length > 0)
  return [...own, ...Object.entries(value).flatMap(([key, item]) => (isObject(value) && ['command', 'args', 'run'].includes(key) ? [] : commandsOf(item)))]
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
