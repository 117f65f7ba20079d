import { execFileSync, spawn } from 'node:child_process'
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { writeState, writeStateSync } from '../../../build/core/system/index.js'

let folder: string
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'state-'))))
afterEach(() => rmSync(folder, { recursive: true, force: true }))

describe.each([
  ['at once', async (...given: Parameters<typeof writeStateSync>) => writeStateSync(...given)],
  ['in the background', writeState],
] as const)('state file written %s', (_, write) => {
  it('replaces a state file, makes its folder, and closes both to others by default', async () => {
    const file = join(folder, 'made/state.json')
    await write(file, 'one')
    await write(file, 'two')
    expect(readFileSync(file, 'utf8')).toBe('two')
    expect([statSync(file).mode & 0o777, statSync(join(folder, 'made')).mode & 0o777]).toEqual([0o600, 0o700])
    await write(join(folder, 'open'), new Uint8Array([104, 105]), { mode: 0o644, durable: false })
    expect([readFileSync(join(folder, 'open'), 'utf8'), statSync(join(folder, 'open')).mode & 0o777]).toEqual([
      'hi',
      0o644,
    ])
    expect(readdirSync(folder, { recursive: true }).sort()).toEqual(['made', 'made/state.json', 'open'])
  })
  it('keeps the old file and leaves no draft when it cannot be replaced', async () => {
    const file = join(folder, 'state')
    mkdirSync(join(file, 'in the way'), { recursive: true })
    await expect(write(file, 'new')).rejects.toThrow(/EISDIR|ENOTEMPTY|EEXIST/)
    expect(readdirSync(folder, { recursive: true }).sort()).toEqual(['state', 'state/in the way'])
  })
  it('replaces a link and leaves its target unchanged', async () => {
    writeFileSync(join(folder, 'precious'), 'precious')
    symlinkSync('precious', join(folder, 'state'))
    await write(join(folder, 'state'), 'new')
    expect([readFileSync(join(folder, 'state'), 'utf8'), readFileSync(join(folder, 'precious'), 'utf8')]).toEqual([
      'new',
      'precious',
    ])
  })
})

it('leaves one whole text when writers of one process run at once', async () => {
  const file = join(folder, 'state')
  const texts = Array.from({ length: 20 }, (_, index) => String(index).repeat(10_000))
  await Promise.all(texts.map((text) => writeState(file, text)))
  expect(texts).toContain(readFileSync(file, 'utf8'))
  expect(readdirSync(folder)).toEqual(['state'])
})

it('leaves the old or the new text when a writer is killed at any moment', async () => {
  const file = join(folder, 'state')
  const script = `import { writeStateSync } from ${JSON.stringify(new URL('../../../build/core/system/index.js', import.meta.url).href)}
for (let i = 0; ; i++) writeStateSync(${JSON.stringify(file)}, String(i % 10).repeat(300_000), { durable: false })`
  writeFileSync(join(folder, 'writer.mjs'), script)
  for (let round = 0; round < 5; round++) {
    const writer = spawn(process.execPath, [join(folder, 'writer.mjs')], { stdio: 'ignore' })
    const ended = new Promise((resolve) => writer.once('close', resolve))
    const started = Date.now()
    while (statSync(file, { throwIfNoEntry: false }) === undefined && Date.now() - started < 20_000) await sleep(20)
    await sleep(round * 13)
    writer.kill('SIGKILL')
    await ended
    expect(readFileSync(file, 'utf8')).toMatch(/^(\d)\1{299999}$/)
  }
})

it('finds no other module that replaces files by itself', () => {
  const root = join(import.meta.dirname, '../../..')
  const found = execFileSync(
    'grep',
    [
      '-rlE',
      "^import .*\\brename(Sync)?\\b.*'node:fs(/promises)?'|\\brenameSync\\(",
      'core',
      'plugins',
      '--include=*.ts',
    ],
    { cwd: root, encoding: 'utf8' },
  )
  const names = found
    .trim()
    .split('\n')
    .map((file) => basename(file))
    .filter((name) => name !== 'state_file.ts')
    .sort()
  // Files of the workspace, a full log, folders of plugins, copies of consented folders, auto-executed config of a
  // command, and the key of the seal.
  expect(names).toEqual([
    'call_record.ts',
    'change_files.ts',
    'copy.ts',
    'install.ts',
    'move.ts',
    'npm.ts',
    'place_entry.ts',
    'seal.ts',
    'store.ts',
    'tidy.ts',
    'write_file.ts',
  ])
})
