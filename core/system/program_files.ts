import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { load, type Loaded } from './load.js'

// The nearest folder above this module that contains our manifests, bundled or not.
let folder = dirname(fileURLToPath(import.meta.url))
while (!existsSync(join(folder, 'manifests/schema')) && folder !== dirname(folder)) folder = dirname(folder)

/**
 * Returns the path of a file or folder of the built program: `core/bin.cjs`, `manifests/schema/config.1.json`. The
 * build joins modules, so only this module knows the root.
 */
export const programFile = (path = ''): string => join(folder, path)

/** Version of the program. */
export const version: string = JSON.parse(readFileSync(programFile('../package.json'), 'utf8')).version

let own: NodeJS.Require | undefined

/**
 * Loads a library, or a script of the program by its whole path, synchronously and on first use. The build maps the
 * names of bundled libraries to their files.
 */
export const requireLibrary = (name: string): any => (own ??= createRequire(import.meta.url))(name)

/**
 * Imports a module of the program by its file. The build creates a script, which lies next to the path of the module.
 */
export async function importProgramModule(file: string): Promise<Loaded> {
  const script = file.replace(/\.js$/, '.cjs')
  // Imports that start at the same time continue in their order, as with real modules.
  await new Promise((resolve) => setImmediate(resolve))
  return existsSync(script) ? load(script) : ((await import(pathToFileURL(file).href)) as Loaded)
}
