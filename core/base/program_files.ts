import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

// Bundled or not: the nearest folder above this module that holds our manifests.
let folder = dirname(fileURLToPath(import.meta.url))
while (!existsSync(join(folder, 'manifests/schema')) && folder !== dirname(folder)) folder = dirname(folder)

/** A file or folder of the built program: `core/bin.js`, `manifests/schema/config.1.json`. The build joins modules, so only this module knows the root. */
export const programFile = (path = ''): string => join(folder, path)

/** The program's version. */
export const version: string = JSON.parse(readFileSync(programFile('../package.json'), 'utf8')).version

let joined: Readonly<Record<string, readonly [from: string, names: Readonly<Record<string, string>>]>> | undefined

/** A module of the program, by its file. What the build joined with others comes from where that lies: a file less to find, compile and link. */
export async function importOwn(file: string): Promise<Readonly<Record<string, unknown>>> {
  const list = programFile('manifests/_modules.json')
  joined ??= existsSync(list) ? (JSON.parse(readFileSync(list, 'utf8')) as NonNullable<typeof joined>) : {}
  const [from, names] = joined[relative(folder, file)] ?? []
  const module = (await import(pathToFileURL(from === undefined ? file : programFile(from)).href)) as Record<string, unknown>
  return names === undefined ? module : Object.fromEntries(Object.entries(names).map(([name, theirs]) => [name, module[theirs]]))
}
