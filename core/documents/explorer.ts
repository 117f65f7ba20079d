import { statSync } from 'node:fs'
import type { LoaderSync, PublicExplorerSync } from 'cosmiconfig'
import { problem } from '../shapes/index.js'
import { programFile } from '../system/index.js'
import { decodeDocument, parseText, readBytes, type ParsedDocument } from './document.js'

/** Files that are executed, not parsed. */
const CODE_PATTERN = /\.[cm]?[jt]s$/

/** Largest settings file that is code, in bytes. A larger file of any kind is not passed to cosmiconfig. */
const MAX_BYTES = 16 * 1_048_576

let explorer: Promise<PublicExplorerSync> | undefined

/** Opens one settings or manifest file below `within` and parses it with `parseDocument`. */
export async function loadDocument(file: string, within?: string): Promise<ParsedDocument> {
  return parseDocument(file, readBytes(file, { within }))
}

/**
 * Parses one settings or manifest file through cosmiconfig; `bytes` come from our own open. Accepts only data, uses our
 * own parser and caches nothing. The caller names the file: cosmiconfig's search is not used, because it runs code and
 * reports an unreadable file as absent. An empty file is `null`. Throws VT_MANIFEST_INVALID, VT_MANIFEST_LIMIT,
 * VT_FILE_STALE and system errors.
 */
export async function parseDocument(file: string, bytes: Buffer): Promise<ParsedDocument> {
  if (CODE_PATTERN.test(file)) throw new Error(`${file} is not data.`)
  const yaml = await import('yaml')
  const text = decodeDocument(bytes, file)
  return readThroughCosmiconfig(file, bytes, (confirmedText) => parseText(yaml, confirmedText ?? text, bytes, file))
}

/** Opens a settings file that is code and passes the text that cosmiconfig read to `run`. Throws as `parseDocument`. */
export async function loadCode<T>(file: string, run: (text: string) => Promise<T>): Promise<T> {
  const bytes = readBytes(file, { limit: MAX_BYTES })
  return readThroughCosmiconfig(file, bytes, (text = '') => run(text))
}

/**
 * Reads a file through cosmiconfig, which opens it a second time without our checks of pipes, sizes and links. So our
 * read comes first, and the text of cosmiconfig is accepted only if it is equal. `take` gets the text, or nothing for
 * an empty file.
 */
async function readThroughCosmiconfig<T>(file: string, bytes: Buffer, take: (text?: string) => T): Promise<T> {
  const cosmiconfig = await (explorer ??= createExplorer())
  const stale = () =>
    problem(
      'VT_FILE_STALE',
      { path: file },
      { hint: 'Load it again after the last write.', details: { files: [file] } },
    )
  // Loading the parsers takes a while: a pipe that replaced the file meanwhile would block, and a huge file would be
  // read.
  const stat = statSync(file)
  if (!stat.isFile() || stat.size > MAX_BYTES) throw stale()
  const found = cosmiconfig.load(file)
  const text = !found || found.isEmpty ? undefined : (found.config as () => string)()
  const ours = bytes.toString('utf8')
  if (text === undefined ? ours.trim() !== '' : text !== ours) throw stale()
  return take(text?.replace(/^\ufeff/, ''))
}

/** Creates the explorer that all files share; an asynchronous one takes ten times the time. */
async function createExplorer(): Promise<PublicExplorerSync> {
  const { cosmiconfigSync } = await import('cosmiconfig')
  const loader: LoaderSync = (_, text) => {
    // Returns a function, so that cosmiconfig finds no `$import` to follow. Of a file named package.*, cosmiconfig
    // takes the member named 'vtcode'.
    const returnText = () => text
    return Object.assign(returnText, { vtcode: returnText })
  }
  const loaders = Object.fromEntries(
    ['.yaml', '.yml', '.json', '.js', '.cjs', '.mjs', '.ts', 'noExt', 'default'].map((end) => [end, loader]),
  )
  const cwd = process.cwd
  // Constructing an explorer executes `.config/config.js` of the working folder; our own folder has none.
  process.cwd = () => programFile('core')
  try {
    return cosmiconfigSync('vtcode', { cache: false, searchPlaces: [], loaders })
  } finally {
    process.cwd = cwd
  }
}
