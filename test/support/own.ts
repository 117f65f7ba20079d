import { randomUUID } from 'node:crypto'
import { chmodSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, expect, inject } from 'vitest'
import { noteCodes, seen } from './codes.js'
import { endFile, endTest } from './held.js'

// Before each test file: a home of its own and the environment that the worker began with. A worker runs many files, so the folder for
// temporary files is that of the worker: the program keeps what it puts there as long as the process lives.
interface Worker {
  env: NodeJS.ProcessEnv
  folder: string
}
const shared = globalThis as { vtcodeTestWorker?: Worker }
const run = inject('run')
const { env, folder } = (shared.vtcodeTestWorker ??= startWorker())
for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name]
Object.assign(process.env, env)
const home = mkdtempSync(join(folder, 'home-'))
process.env['HOME'] = home

function startWorker(): Worker {
  const folder = mkdtempSync(join(run, 't'))
  // Some tests give files to another user.
  chmodSync(folder, 0o755)
  process.env['TMPDIR'] = join(folder, 'tmp')
  mkdirSync(process.env['TMPDIR'])
  for (const name of Object.keys(process.env)) if (name.startsWith('XDG_') || name === 'VTCODE_HOME') delete process.env[name]
  noteCodes()
  return { env: { ...process.env }, folder }
}

afterEach(endTest)
// The hook that is registered first runs last.
afterAll(async () => {
  writeFileSync(join(run, 'seen', randomUUID()), JSON.stringify({ file: expect.getState().testPath, codes: [...seen] }))
  // A program that is about to end may still write there; `rmSync` would check each folder only once.
  await rm(home, { recursive: true, force: true, maxRetries: 12 })
})
afterAll(endFile)
