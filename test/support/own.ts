import { randomUUID } from 'node:crypto'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { deserialize } from 'node:v8'
import { afterAll, afterEach, expect, inject } from 'vitest'
import { noteCodes, seen } from './code_notes.js'
import { endFile, endTest } from './held.js'

// Before each test file: a folder for temporary files and a home of its own, and nothing of the user's own.
const run = inject('run')
const folder = mkdtempSync(join(run, 't'))
// Some tests give files to another user.
chmodSync(folder, 0o755)
process.env['TMPDIR'] = join(folder, 'tmp')
process.env['HOME'] = join(folder, 'home')
for (const name of ['TMPDIR', 'HOME']) mkdirSync(process.env[name]!)
for (const name of Object.keys(process.env))
  if (name.startsWith('XDG_') || name === 'VTCODE_HOME') delete process.env[name]

// Each worker would compile the program again (support/compile.mjs).
const { useCompiledFiles } = createRequire(import.meta.url)('../../dist/core/loader.cjs') as {
  useCompiledFiles(files: Map<string, object>): void
}
const compiled = deserialize(readFileSync(join(run, 'program'))) as [file: string, stamp: string, data: Buffer][]
useCompiledFiles(new Map(compiled.map(([file, stamp, data]) => [file, { stamp, data }])))

noteCodes()
afterEach(endTest)
// The hook that is registered first runs last.
afterAll(async () => {
  writeFileSync(join(run, 'seen', randomUUID()), JSON.stringify({ file: expect.getState().testPath, codes: [...seen] }))
  // A program that is about to end may still write there; `rmSync` would check each folder only once.
  await rm(folder, { recursive: true, force: true, maxRetries: 12 })
})
afterAll(endFile)
