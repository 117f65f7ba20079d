// Removes from package.json what only a checkout needs, while npm packs: `strip` before and `restore` after it.
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const manifest = join(root, 'package.json')
// The file itself is moved, so its time stays and the next build has nothing to do.
const original = join(root, 'build/package.json')

const command = process.argv[2]
if (command === 'strip') {
  if (existsSync(original))
    throw new Error(`${original} is left from an earlier pack. Run: node scripts/pack.mjs restore`)
  const {
    scripts: _scripts,
    devDependencies: _packages,
    devEngines: _engines,
    allowScripts: _allowed,
    ...shipped
  } = JSON.parse(readFileSync(manifest, 'utf8'))
  renameSync(manifest, original)
  writeFileSync(manifest, `${JSON.stringify(shipped, null, 2)}\n`)
} else if (command === 'restore') {
  if (existsSync(original)) renameSync(original, manifest)
} else {
  throw new Error(`Unknown command '${command}': use 'strip' or 'restore'.`)
}
