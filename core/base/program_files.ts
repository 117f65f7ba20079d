import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const folder = dirname(dirname(fileURLToPath(import.meta.url)))

/** A file or folder of the built program: `core/bin.js`, `manifests/schema/config.1.json`. The build joins modules into others, so only this one knows where it lies. */
export const programFile = (path = ''): string => join(folder, path)
