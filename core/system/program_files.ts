import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { load, type Loaded } from './load.js'

// Bundled or not: the nearest folder above this module that holds our manifests.
let folder = dirname(fileURLToPath(import.meta.url))
while (!existsSync(join(folder, 'manifests/schema')) && folder !== dirname(folder)) folder = dirname(folder)

/** A file or folder of the built program: `core/bin.cjs`, `manifests/schema/config.1.json`. The build joins modules, so only this module knows the root. */
export const programFile = (path = ''): string => join(folder, path)

/** The program's version. */
export const version: string = JSON.parse(readFileSync(programFile('../package.json'), 'utf8')).version

let own: NodeJS.Require | undefined

/** A library, or a script of the program by its whole path, where it is first needed and by somebody who cannot wait. The build leads the names of libraries that it brings along to them. */
export const requireLibrary = (name: string): any => (own ??= createRequire(import.meta.url))(name)

/** A module of the program, by its file: the build has made a script of it, which lies beside where the module would. */
export async function importOwn(file: string): Promise<Loaded> {
  const script = file.replace(/\.js$/, '.cjs')
  // Those that ask at the same time go on in the order in which they asked, as where a module is waited for.
  await new Promise((resolve) => setImmediate(resolve))
  return existsSync(script) ? load(script) : ((await import(pathToFileURL(file).href)) as Loaded)
}
