// Builds dist/: the sources by tsc, the data beside them as it is.
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
process.chdir(root)
const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc')
execFileSync(process.execPath, [tsc, '-p', '.'], { stdio: 'inherit' })

for (const folder of ['manifests', 'skills']) {
  rmSync(join('dist', folder), { recursive: true, force: true })
  if (existsSync(folder)) cpSync(folder, join('dist', folder), { recursive: true })
}
