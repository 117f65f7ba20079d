import { statSync } from 'node:fs'
import type { LoaderSync, PublicExplorerSync } from 'cosmiconfig'
import { problem } from '../shapes/index.js'
import { programFile } from '../system/index.js'
import { decode, parseText, readBytes, type Data } from './document.js'

/** Files that are run, not parsed. */
const code = /\.[cm]?[jt]s$/

/** No document is larger, be it data or code. */
const largest = 16 * 1_048_576

let explorer: Promise<PublicExplorerSync> | undefined

/** Opens one settings or manifest file below `within` and reads it through cosmiconfig: see `loadOpened`. */
export async function loadDocument(file: string, within?: string): Promise<Data> {
  return loadOpened(file, readBytes(file, { within }))
}

/**
 * Reads one settings or manifest file, of which our own open gave `bytes`, through cosmiconfig: data only, parsed by our own rules,
 * never cached. The caller says which file it is; cosmiconfig's search is not used, because it runs code it finds and calls an
 * unreadable file absent. An empty file holds `null`. Throws VT_MANIFEST_INVALID, VT_MANIFEST_LIMIT, VT_FILE_STALE and what the system says.
 */
export async function loadOpened(file: string, bytes: Buffer): Promise<Data> {
  if (code.test(file)) throw new Error(`${file} is not data.`)
  const yaml = await import('yaml')
  const text = decode(bytes, file)
  return read(file, bytes, (same) => parseText(yaml, same ?? text, bytes, file))
}

/** Opens a settings file in code and has `run` run the text of it that cosmiconfig read. Throws as `loadOpened` does. */
export async function loadCode<T>(file: string, run: (text: string) => Promise<T>): Promise<T> {
  const bytes = readBytes(file, { limit: largest })
  return read(file, bytes, (text = '') => run(text))
}

/**
 * Cosmiconfig opens the file a second time, without our checks of pipes, sizes and links: so our read comes first, and the text that
 * cosmiconfig read is accepted only where it equals ours. `take` receives the text, or nothing for an empty file.
 */
async function read<T>(file: string, bytes: Buffer, take: (text?: string) => T): Promise<T> {
  const cosmiconfig = await (explorer ??= build())
  const stale = () =>
    problem(
      'VT_FILE_STALE',
      { path: file },
      { hint: 'Load it again when nobody is writing it.', details: { files: [file] } },
    )
  // Loading the parsers takes a while: a pipe put there meanwhile would be waited for, and a huge file read.
  const stat = statSync(file)
  if (!stat.isFile() || stat.size > largest) throw stale()
  const found = cosmiconfig.load(file)
  const text = !found || found.isEmpty ? undefined : (found.config as () => string)()
  const ours = bytes.toString('utf8')
  if (text === undefined ? ours.trim() !== '' : text !== ours) throw stale()
  return take(text?.replace(/^\ufeff/, ''))
}

/** One explorer for every file; a synchronous explorer takes a tenth of the time of an asynchronous one. */
async function build(): Promise<PublicExplorerSync> {
  const { cosmiconfigSync } = await import('cosmiconfig')
  const hand: LoaderSync = (_, text) => {
    // A function, so that cosmiconfig finds no `$import` to follow. Of a file named package.* it takes what stands under its module name.
    const handed = () => text
    return Object.assign(handed, { vtcode: handed })
  }
  const loaders = Object.fromEntries(
    ['.yaml', '.yml', '.json', '.js', '.cjs', '.mjs', '.ts', 'noExt', 'default'].map((end) => [end, hand]),
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
