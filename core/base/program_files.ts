import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

// Bundled or not: the nearest folder above this module that holds our manifests.
let folder = dirname(fileURLToPath(import.meta.url))
while (!existsSync(join(folder, 'manifests/schema')) && folder !== dirname(folder)) folder = dirname(folder)

/** A file or folder of the built program: `core/bin.js`, `manifests/schema/config.1.json`. The build joins modules, so only this module knows the root. */
export const programFile = (path = ''): string => join(folder, path)

/** The program's version. */
export const version: string = JSON.parse(readFileSync(programFile('../package.json'), 'utf8')).version
