// Runs what most test files load and writes what V8 made of it to the file that is named, for the workers of a run (support/run.ts).
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { serialize } from 'node:v8'

const file = process.argv[2]
const dist = fileURLToPath(new URL('../../dist', import.meta.url))
const { load, useCompiledFiles, collectCompiled } = createRequire(import.meta.url)(join(dist, 'core/loader.cjs'))
useCompiledFiles(new Map())
const { createKernel } = load(join(dist, 'core/index.cjs'))
for (const name of ['core/program_run.cjs', 'plugins/agent/index.cjs']) load(join(dist, name))

const folder = mkdtempSync(join(tmpdir(), 'vtcode-compile-'))
writeFileSync(join(folder, 'a.txt'), 'one\ntwo\n')
const kernel = await createKernel({
  workspace: folder,
  home: join(folder, 'home'),
  env: { PATH: process.env.PATH },
  mode: 'full-auto',
  config: { automation: { full_auto: { enabled: true, allowed_tools: ['read', 'write', 'exec'] } } },
})
for (const [tool, input] of [
  ['unified_file', { action: 'read', path: 'a.txt' }],
  ['unified_file', { action: 'edit', path: 'a.txt', old_str: 'two', new_str: 'three' }],
  ['unified_search', { action: 'list', path: '.' }],
  ['unified_search', { action: 'grep', pattern: 'o', path: '.' }],
  ['unified_exec', { action: 'run', command: 'echo a' }],
])
  await kernel.call(tool, input)
await kernel.close()
rmSync(folder, { recursive: true, force: true })

const compiled = [...collectCompiled()].map(([path, { stamp, data }]) => [path, stamp, data])
writeFileSync(`${file}.${process.pid}`, serialize(compiled))
renameSync(`${file}.${process.pid}`, file)
