import type { PublicExplorer } from 'cosmiconfig'
import { programFile } from '../base/index.js'
import { readBytes, readData, type Data } from './document.js'

let explorer: Promise<PublicExplorer> | undefined

/**
 * Loads one settings or manifest file through cosmiconfig: data only, by our own reader, never cached. Which file it is says the
 * caller; cosmiconfig's search is not used, because it runs code it finds and calls an unreadable file absent.
 * An empty file holds `null`. Throws VT_MANIFEST_INVALID, VT_MANIFEST_LIMIT and what the system says.
 */
export async function load(file: string, within?: string): Promise<Data> {
  // Cosmiconfig opens the file itself before it asks a loader: a pipe would hang it and a large file fill the memory.
  readBytes(file, { within })
  explorer ??= build()
  const found = await (await explorer).load(file)
  if (!found || found.isEmpty) return readData(file, within)
  const data: Data = await found.config(within)
  return data
}

async function build(): Promise<PublicExplorer> {
  const { cosmiconfig } = await import('cosmiconfig')
  // A function, so that cosmiconfig finds no `$import` to follow in what was read.
  const data = (file: string) => (within?: string) => readData(file, within)
  const refuse = (file: string): never => {
    throw new Error(`${file} is not data.`)
  }
  const code = { '.js': refuse, '.cjs': refuse, '.mjs': refuse, '.ts': refuse, noExt: refuse }
  const loaders = { '.yaml': data, '.yml': data, '.json': data, ...code }
  const cwd = process.cwd
  // Constructing an explorer executes `.config/config.js` of the working folder; our own folder has none.
  process.cwd = () => programFile('core')
  try {
    return cosmiconfig('vtcode', { cache: false, searchPlaces: [], loaders })
  } finally {
    process.cwd = cwd
  }
}
