// Builds dist/: the sources by tsc, the data beside them as it is, and what has to start fast in one piece.
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { bundleProgram, bundleSdk } from './bundle.mjs'
import { copyGrammars } from './grammars.mjs'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
process.chdir(root)
const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc')
execFileSync(process.execPath, [tsc, '-p', '.'], { stdio: 'inherit' })

for (const folder of ['manifests', 'skills']) {
  rmSync(join('dist', folder), { recursive: true, force: true })
  if (existsSync(folder)) cpSync(folder, join('dist', folder), { recursive: true })
}

copyGrammars('dist')

// A start reads these instead of a hundred YAML files and a long schema; a broken manifest or skill ends the build here, by file and line.
const built = (file) => import(pathToFileURL(join(root, 'dist/core', file)).href)
const [{ compileCatalogue }, { defaultsOf }, { compileContract, readContract }, { compileSkills }] = await Promise.all(['manifest.js', 'merge.js', 'conform.js', 'scan.js'].map(built))
for (const name of ['manifest.1', 'config.1', 'tool-policy.1']) writeFileSync(`dist/manifests/schema/_${name}.cjs`, await compileContract(`${name}.json`))
const catalogue = await compileCatalogue(join(root, 'dist/manifests')).catch((error) => {
  console.error(error.message)
  process.exit(1)
})
writeFileSync('dist/manifests/_catalogue.json', JSON.stringify(catalogue))
const modes = catalogue.filter(({ manifest: { mode, default_mode } }) => mode ?? default_mode).map(({ manifest: { verb, mode, default_mode } }) => [verb, { mode, default_mode }])
writeFileSync('dist/manifests/_verbs.json', JSON.stringify(Object.fromEntries(modes)))
try {
  writeFileSync('dist/skills/_catalogue.json', JSON.stringify(compileSkills(join(root, 'dist/skills'))))
} catch (error) {
  console.error(error.message)
  process.exit(1)
}
writeFileSync('dist/manifests/schema/_defaults.json', JSON.stringify(defaultsOf(readContract('config.1.json'))))

// `vtcode/test` carries the published examples, so that a plugin's author can run the table of a slot.
for (const file of ['tools.md', 'w.json']) cpSync(join('test/fixtures', file), join('dist/test/fixtures', file))

await bundleProgram(catalogue)
await bundleSdk()
