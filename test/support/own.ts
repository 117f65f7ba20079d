import { randomUUID } from 'node:crypto'
import { chmodSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, expect, inject } from 'vitest'
import { noteCodes, seen } from './codes.js'

// Before each test file: a folder for temporary files and a home that nobody else sees, and nothing of the user's own.
const run = inject('run')
const folder = mkdtempSync(join(run, 't'))
// Some tests give what they made to another user.
chmodSync(folder, 0o755)
process.env['TMPDIR'] = join(folder, 'tmp')
process.env['HOME'] = join(folder, 'home')
for (const name of ['TMPDIR', 'HOME']) mkdirSync(process.env[name]!)
for (const name of Object.keys(process.env)) if (name.startsWith('XDG_') || name === 'VTCODE_HOME') delete process.env[name]

noteCodes()
// The first one registered is the last to run.
afterAll(async () => {
  writeFileSync(join(run, 'seen', randomUUID()), JSON.stringify({ file: expect.getState().testPath, codes: [...seen] }))
  // A program that is just ending may still write there; `rmSync` would look into each folder only once.
  await rm(folder, { recursive: true, force: true, maxRetries: 12 })
})
