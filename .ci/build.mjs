// Builds dist/: the sources by tsc, the data beside them as it is, and what has to start fast in one piece.
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { bundleProgram, bundleSdk } from './bundle.mjs'
import { rollDeclarations } from './declarations.mjs'
import { copyGrammars } from './grammars.mjs'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
process.chdir(root)
const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc')
execFileSync(process.execPath, [tsc, '-p', '.'], { stdio: 'inherit' })

for (const folder of ['manifests', 'skills']) {
  rmSync(join('dist', folder), { recursive: true, force: true })
  if (existsSync(folder)) cpSync(folder, join('dist', folder), { recursive: true, filter: (file) => !file.endsWith('.d.ts') })
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
// What our actions answer is for types and tests; a start need not read it.
writeFileSync('dist/manifests/_outputs.json', JSON.stringify(outputsOf(catalogue)))
writeFileSync('dist/manifests/_catalogue.json', JSON.stringify(catalogue.map(({ file, manifest: { output, ...manifest } }) => ({ file, manifest }))))
try {
  writeFileSync('dist/skills/_catalogue.json', JSON.stringify(compileSkills(join(root, 'dist/skills'))))
} catch (error) {
  console.error(error.message)
  process.exit(1)
}
writeFileSync('dist/manifests/schema/_defaults.json', JSON.stringify(defaultsOf(readContract('config.1.json'))))

// `vtcode/test` carries the published examples, so that a plugin's author can run the table of a slot.
for (const file of ['tools.md', 'w.json']) cpSync(join('test/fixtures', file), join('dist/test/fixtures', file))

await rollDeclarations()
await bundleProgram(catalogue)
await bundleSdk()

/** Slot to what it answers, where its primary says so. */
function outputsOf(catalogue) {
  const slots = catalogue.flatMap(({ manifest: { kind = 'action', stage = 'primary', action, slot, name, output } }) => (kind === 'action' && stage === 'primary' && output ? [[action ?? slot ?? name, output]] : []))
  return Object.fromEntries(slots)
}
