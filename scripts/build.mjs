// Builds build/, every module by tsc, for tests of rooms and for this script, and dist/, the program: bundles, and the data beside them.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { bundleProgram, bundleSdk } from './bundle.mjs'
import { rollDeclarations } from './declarations.mjs'
import { copyGrammars, folder as grammars } from './grammars.mjs'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
process.chdir(root)

takeLock('build/.lock')
// One build a change: `npm ci` builds, and so would `npm test` right after it.
const stamp = stampOf(
  ['core', 'plugins', 'manifests', 'skills', 'test/kit', 'scripts'],
  [
    'test/kit.ts',
    'test/fixtures/tools.md',
    'test/fixtures/w.json',
    'package.json',
    'package-lock.json',
    'tsconfig.json',
  ],
)
if (existsSync('dist/core/bin.js') && existsSync('build/.stamp') && readFileSync('build/.stamp', 'utf8') === stamp)
  process.exit(0)
rmSync('build/.stamp', { force: true })

// TypeScript 7 compiles in a fifth of the time; version 6 stays for the tests that use the compiler as a library.
const typescript = dirname(createRequire(import.meta.url).resolve('typescript7/package.json'))
execFileSync(process.execPath, [join(typescript, 'bin/tsc'), '-p', '.'], { stdio: 'inherit' })

const data = ['manifests', 'skills']
for (const folder of data) {
  rmSync(join('build', folder), { recursive: true, force: true })
  cpSync(folder, join('build', folder), { recursive: true, filter: (file) => !file.endsWith('.d.ts') })
}

// A start reads these instead of a hundred YAML files and a long schema; a broken manifest or skill ends the build here, by file and line.
const built = (room) => import(pathToFileURL(join(root, 'build/core', room, 'index.js')).href)
const { buildCheck, checkFileName, compileContract, readContract } = await built('schema')
for (const name of ['manifest.1', 'config.1', 'tool-policy.1', 'schedule_task.1', 'thread_event.1', 'job.1'])
  writeFileSync(`build/manifests/schema/_${name}.cjs`, await compileContract(`${name}.json`))
const [{ compileCatalogue }, { collectDefaults }, { compileSkills }] = await Promise.all(
  ['manifests', 'config', 'skills'].map(built),
)
const orEnd = (error) => {
  console.error(error.message)
  process.exit(1)
}
const catalogue = await compileCatalogue(join(root, 'build/manifests')).catch(orEnd)
// What our actions answer is for types and tests; a start need not read it.
writeFileSync('build/manifests/_outputs.json', JSON.stringify(outputsOf(catalogue)))
writeFileSync(
  'build/manifests/_catalogue.json',
  JSON.stringify(catalogue.map(({ file, manifest: { output, ...manifest } }) => ({ file, manifest }))),
)
const modes = catalogue
  .filter(({ manifest: { mode, default_mode } }) => mode ?? default_mode)
  .map(({ manifest: { verb, mode, default_mode } }) => [verb, { mode, default_mode }])
writeFileSync('build/manifests/_verbs.json', JSON.stringify(Object.fromEntries(modes)))
try {
  writeFileSync('build/skills/_catalogue.json', JSON.stringify(compileSkills(join(root, 'build/skills'))))
} catch (error) {
  orEnd(error)
}
writeFileSync('build/manifests/schema/_defaults.json', JSON.stringify(collectDefaults(readContract('config.1.json'))))

const { createKernel } = await built('')
const nowhere = mkdtempSync(join(tmpdir(), 'vtcode-build-'))
const kernel = await createKernel({ workspace: nowhere, home: join(nowhere, 'home') })
await buildChecks(catalogue, kernel)
const { makeManPage } = await import('./man.mjs')
const manPage = await makeManPage(kernel)
await kernel.close()
rmSync(nowhere, { recursive: true, force: true })

rmSync('dist', { recursive: true, force: true })
// The index of the manifests is a page of the package, beside docs/.
const isPage = (file) => file === join('build', 'manifests', 'README.md')
for (const folder of data)
  cpSync(join('build', folder), join('dist', folder), { recursive: true, filter: (file) => !isPage(file) })
cpSync('build/test', 'dist/test', { recursive: true, filter: (file) => !file.endsWith('.d.ts') })
// `vtcode/test` carries the published examples, so that a plugin's author can run the table of a slot.
cpSync('test/fixtures/w.json', 'dist/test/fixtures/w.json')
writeFileSync('dist/test/fixtures/tools.md', keepExamples(readFileSync('test/fixtures/tools.md', 'utf8')))
mkdirSync('dist/man')
writeFileSync('dist/man/vtcode.1', manPage)
copyGrammars('build')
cpSync(`build/${grammars}`, `dist/${grammars}`, { recursive: true, filter: (file) => !/\.(?:js|d\.ts)$/.test(file) })

await rollDeclarations()
await bundleProgram(catalogue)
await bundleSdk()
for (const name of ['bin.cjs', 'bin.js']) chmodSync(`dist/core/${name}`, 0o755)
writeFileSync('build/.stamp', stamp)

/** Waits until no other build of this checkout runs, and keeps others waiting until this process exits. */
function takeLock(file) {
  mkdirSync(dirname(file), { recursive: true })
  for (;;) {
    try {
      writeFileSync(file, String(process.pid), { flag: 'wx' })
      break
    } catch (error) {
      if (error.code !== 'EEXIST') throw error
    }
    if (!isAlive(Number(readFileSync(file, { encoding: 'utf8' })))) rmSync(file, { force: true })
    else Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200)
  }
  process.on('exit', () => rmSync(file, { force: true }))
}

function isAlive(pid) {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return error.code === 'EPERM'
  }
}

/** The checks of what our actions take, as a kernel that has nothing else binds them, and of what tells an action by its input. */
async function buildChecks(catalogue, kernel) {
  const told = catalogue
    .flatMap(({ manifest: { infer = {}, effectless } }) =>
      [infer, ...(infer.former ?? []), ...(infer.presets ?? [])]
        .map(({ when }) => when)
        .concat(infer.otherwise, effectless),
    )
    .filter((schema) => schema !== undefined)
  const schemas = [...kernel.list().map(({ input }) => input), ...told]
  const folder = 'build/manifests/schema/checks'
  mkdirSync(folder, { recursive: true })
  for (const schema of schemas) {
    const check = await buildCheck(schema)
    if (check) writeFileSync(join(folder, checkFileName(schema)), check)
  }
}

/** Changes when one of these files, or of the files in these folders, does. */
function stampOf(folders, files) {
  const all = [
    ...folders.flatMap((folder) => readdirSync(folder, { recursive: true }).map((name) => join(folder, name))),
    ...files,
  ].sort()
  const hash = createHash('sha256').update(process.version)
  for (const file of all) {
    const { size, mtimeMs } = statSync(file)
    hash.update(`\n${file} ${size} ${mtimeMs}`)
  }
  return hash.digest('hex')
}

/** Slot to what it answers, where its primary says so. */
function outputsOf(catalogue) {
  const slots = catalogue.flatMap(({ manifest: { kind = 'action', stage = 'primary', action, slot, name, output } }) =>
    kind === 'action' && stage === 'primary' && output ? [[action ?? slot ?? name, output]] : [],
  )
  return Object.fromEntries(slots)
}

/** Keeps the headings and the blocks of a document; every other line becomes empty, so that line numbers stay. */
function keepExamples(markdown) {
  let isBlock = false
  return markdown
    .split('\n')
    .map((line) => {
      if (line.startsWith('```')) isBlock = !isBlock
      return isBlock || /^(?:#|```)/.test(line) ? line : ''
    })
    .join('\n')
}
