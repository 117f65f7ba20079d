import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { entries } from '../../support/entries.js'

const { at, act, code } = entries()

describe('unified_file/copy', () => {
  it('copies a file with its mode, and a directory with its contents only when asked', async () => {
    writeFileSync(at('run'), '#!', { mode: 0o755 })
    await act('copy', 'run', { destination: 'n/run' })
    expect(statSync(at('n/run')).mode & 0o777).toBe(0o755)
    expect(await code('copy', 'dir', { destination: 'twin' })).toBe('VT_INPUT_MISSING')
    const copied = await act('copy', 'dir', { destination: 'twin', recursive: true })
    expect(copied).toMatchObject({ output: { entries: 3, bytes: 2 }, text: 'copied dir -> twin (3 entries)' })
    expect(readFileSync(at('twin/.hidden'), 'utf8')).toBe('h')
  })

  it('leaves nothing of a directory copy that fails in part', async () => {
    execFileSync('mkfifo', [at('dir/sub/fifo')])
    expect(await code('copy', 'dir', { destination: 'twin', recursive: true })).toBe('VT_PATH_SPECIAL')
    symlinkSync('../../secret', at('dir/sub/out'))
    expect(await code('copy', 'dir', { destination: 'n/twin', recursive: true })).toMatch(/VT_PATH_(SPECIAL|OUTSIDE)/)
    expect(readdirSync(at('.')).sort()).toEqual(['.vtcode', 'a.txt', 'b.txt', 'dir'])
  })
})
