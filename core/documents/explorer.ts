import fs from 'node:fs'
import { basename, join } from 'node:path'
import type { LoaderSync, PublicExplorerSync } from 'cosmiconfig'
import { decodeDocument, limits, parseText, readBytes, type ParsedDocument } from './document.js'
import { hasPackageSettings, MAX_PACKAGE_BYTES, MODULE_NAME, PACKAGE_FILE } from './package_file.js'

/** Files that are executed, not parsed. */
const CODE_PATTERN = /\.[cm]?[jt]s$/

/** Largest settings file that is code, in bytes. */
const MAX_CODE_BYTES = 16 * 1_048_576

/** A settings file with its content from our own open. */
export interface FoundFile {
  file: string
  bytes: Buffer
}

/** Opens one settings or manifest file below `within` and parses it with `parseDocument`. */
export async function loadDocument(file: string, within?: string): Promise<ParsedDocument> {
  return parseDocument(file, readBytes(file, { within }))
}

/**
 * Parses one settings or manifest file through cosmiconfig; `bytes` come from our own open, and cosmiconfig reads
 * nothing else. Accepts only data, uses our own parser and caches nothing. An empty file is `null`. Throws
 * VT_MANIFEST_INVALID and VT_MANIFEST_LIMIT.
 */
export async function parseDocument(file: string, bytes: Buffer): Promise<ParsedDocument> {
  if (CODE_PATTERN.test(file)) throw new Error(`${file} is not data.`)
  const yaml = await import('yaml')
  const text = decodeDocument(bytes, file)
  return parseText(yaml, (await loadText(file, bytes)) ?? text, bytes, file)
}

/** Opens one settings file, which may be code, below `within`. Throws as `readBytes`. */
export const openSettings = (file: string, within?: string): FoundFile => ({
  file,
  bytes: readBytes(file, { within, limit: CODE_PATTERN.test(file) ? MAX_CODE_BYTES : limits.bytes }),
})

/**
 * Returns the text of a settings file that is code, as cosmiconfig loads it; without `bytes` opens the file. Throws as
 * `readBytes`.
 */
export async function loadCode(file: string, bytes?: Buffer): Promise<string> {
  return (await loadText(file, bytes ?? openSettings(file).bytes)) ?? ''
}

/**
 * Finds the settings files of a folder with cosmiconfig, at these places in this order. Each existing place is opened
 * once, by us: links lead only below `within`, pipes, devices and oversized files are refused. A `package.json` counts
 * if it has a member `vtcode`; one that cannot be read has none. Throws VT_MANIFEST_INVALID, VT_MANIFEST_LIMIT and
 * system errors for the only file; of several, a file that cannot be read is empty.
 */
export async function searchFolder(
  folder: string,
  places: readonly string[],
  { within }: { within?: string } = {},
): Promise<FoundFile[]> {
  const opened = openPlaces(folder, places, within)
  // Most folders have no settings: such a start does not load cosmiconfig.
  if (opened.size === 0) return []
  const Explorer = await importExplorer()
  const found: string[] = []
  for (let rest = places; rest.length > 0;) {
    const explorer = new Explorer(createOptions(rest, loadFound))
    const file = readThrough(opened, () => explorer.search(folder))?.filepath
    if (file === undefined) break
    found.push(file)
    // Cosmiconfig stops at the first place. The search continues after it, because a second file is an error.
    rest = rest.slice(rest.findIndex((place) => join(folder, place) === file) + 1)
  }
  return found.map((file) => {
    const bytes = opened.get(file)!
    if (bytes instanceof Error && found.length === 1) throw bytes
    return { file, bytes: bytes instanceof Error ? Buffer.alloc(0) : bytes }
  })
}

type Opened = ReadonlyMap<string, Buffer | Error>

function openPlaces(folder: string, places: readonly string[], within: string | undefined): Opened {
  const opened = new Map<string, Buffer | Error>()
  for (const place of places) {
    const file = join(folder, place)
    if (!exists(file)) continue
    if (place === PACKAGE_FILE) {
      const bytes = readPackageFile(file, within)
      if (bytes) opened.set(file, bytes)
    } else opened.set(file, tryOpen(file, within))
  }
  return opened
}

function tryOpen(file: string, within: string | undefined): Buffer | Error {
  try {
    return openSettings(file, within).bytes
  } catch (error) {
    const isDangling = (error as { code?: string }).code === 'ENOENT'
    return isDangling ? new Error(`${file} is a link to no file.`) : (error as Error)
  }
}

function exists(file: string): boolean {
  try {
    return fs.lstatSync(file, { throwIfNoEntry: false }) !== undefined
  } catch {
    // A parent is no folder.
    return false
  }
}

/**
 * Reads a package file that may have settings. A broken one has none, so it does not stop the work that repairs it.
 * Throws VT_MANIFEST_LIMIT for settings in a file that is too large: their rules would be lost.
 */
function readPackageFile(file: string, within: string | undefined): Buffer | undefined {
  const bytes = tryRead(file, within)
  if (!bytes?.includes(MODULE_NAME)) return undefined
  if (bytes.length > limits.bytes && hasPackageSettings(bytes.toString())) readBytes(file, { within })
  return bytes.length > limits.bytes ? undefined : bytes
}

function tryRead(file: string, within: string | undefined): Buffer | undefined {
  try {
    return readBytes(file, { within, limit: MAX_PACKAGE_BYTES })
  } catch {
    return undefined
  }
}

let explorer: Promise<PublicExplorerSync> | undefined

/** Loads one file through cosmiconfig and returns its text; nothing for an empty file. */
async function loadText(file: string, bytes: Buffer): Promise<string | undefined> {
  const loader = await (explorer ??= importExplorer().then((Explorer) => new Explorer(createOptions([], loadAny))))
  const found = readThrough(new Map([[file, bytes]]), () => loader.load(file))
  return !found || found.isEmpty ? undefined : (found.config as () => string)().replace(/^\ufeff/, '')
}

/**
 * Imports the class that the public functions of cosmiconfig use. Those functions first look for settings of
 * cosmiconfig itself, and execute `.config/config.js` of the working folder.
 */
async function importExplorer(): Promise<ExplorerClass> {
  // The declarations of the package leave the class out.
  const module = (await import('cosmiconfig/dist/ExplorerSync.js')) as unknown as { ExplorerSync: ExplorerClass }
  return module.ExplorerSync
}
type ExplorerClass = new (options: ReturnType<typeof createOptions>) => PublicExplorerSync

/** Returns a function as content, so that cosmiconfig finds no `$import` to follow. */
const loadAny: LoaderSync = (_, text) => {
  const returnText = () => text
  // Of a file named package.*, cosmiconfig takes the member named 'vtcode'.
  return Object.assign(returnText, { [MODULE_NAME]: returnText })
}
const loadFound: LoaderSync = (file, text) =>
  basename(file) === PACKAGE_FILE && !hasPackageSettings(text) ? {} : loadAny(file, text)

const createOptions = (searchPlaces: readonly string[], loader: LoaderSync) => ({
  moduleName: MODULE_NAME,
  searchPlaces: [...searchPlaces],
  loaders: Object.fromEntries(
    ['.yaml', '.yml', '.json', '.js', '.cjs', '.mjs', '.ts', '.mts', 'noExt', 'default'].map((end) => [end, loader]),
  ),
  searchStrategy: 'none' as const,
  metaConfigFilePath: null,
  ignoreEmptySearchPlaces: false,
  mergeImportArrays: false,
  mergeSearchPlaces: false,
  cache: false,
  transform: <T>(result: T): T => result,
})

/**
 * Calls cosmiconfig while its reads are answered from `opened`, so that it opens no file without our checks. Contract:
 * `work` is synchronous and calls no other code that reads files by `readFileSync`.
 */
function readThrough<T>(opened: Opened, work: () => T): T {
  const { readFileSync } = fs
  fs.readFileSync = ((file: string) => {
    const bytes = opened.get(file)
    if (!bytes) throw Object.assign(new Error(`${file} was not opened.`), { code: 'ENOENT' })
    return bytes instanceof Error ? '' : bytes.toString('utf8')
  }) as typeof readFileSync
  try {
    return work()
  } finally {
    fs.readFileSync = readFileSync
  }
}
