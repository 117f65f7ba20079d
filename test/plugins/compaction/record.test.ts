import { lstat, mkdir, readdir, symlink, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { bootKernel, tempWorkspace, type Booted } from 'vtcode/test'
import { resolveHome } from '../../../build/core/system/index.js'
import { openWorkspace } from '../../../build/core/workspace/index.js'
import { openCallLog, type CallRecord } from '../../../build/plugins/lib/state/index.js'
import { rounds } from '../../support/exec.js'
import { sealedIn } from '../../support/seal.js'

const lines = async (booted: Booted, session = 'main'): Promise<Record<string, unknown>[]> => {
  await booted.kernel.endSession(session)
  const text = (await booted.read(`.vtcode/sessions/${session}/calls.jsonl`)) ?? ''
  expect(text === '' || text.endsWith('\n')).toBe(true)
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Record<string, unknown>)
}

describe('record of calls', () => {
  it('leaves the time that a person takes to answer out of the duration', async () => {
    await using booted = await bootKernel({ mode: 'ask' })
    let waited = 0
    const approve = async () => {
      const began = performance.now()
      await new Promise((resolve) => setTimeout(resolve, 1500))
      waited = performance.now() - began
      return true
    }
    const began = performance.now()
    expect((await booted.call('unified_file', { action: 'write', path: 'b.txt', content: 'b' }, { approve })).ok).toBe(
      true,
    )
    const whole = performance.now() - began
    const [entry] = await lines(booted)
    // With the wait included, both durations would add up to more than the whole.
    expect((entry!.ms as number) + waited).toBeLessThan(whole + 100)
  })

  it('writes a line with the outcome of every call', async () => {
    await using booted = await bootKernel({ files: { 'a.txt': 'x' }, mode: 'plan' })
    await booted.call('unified_file', { action: 'read', path: 'a.txt' })
    await booted.call('unified_file', { action: 'read', path: 'missing.txt' }, { surface: 'mcp' })
    const [first, second] = await lines(booted)
    expect(first).toMatchObject({
      session: 'main',
      slot: 'unified_file/read',
      ok: true,
      mode: 'plan',
      surface: 'test',
      depth: 0,
      input: { path: 'a.txt' },
    })
    expect(second).toMatchObject({
      ok: false,
      code: 'VT_PATH_NOT_FOUND',
      surface: 'mcp',
      input: { path: 'missing.txt' },
    })
    expect(Date.parse(first!.time as string)).toBeGreaterThan(Date.now() - 60_000)
    expect(first!.ms).toBeGreaterThanOrEqual(0)
  })

  it('records the verdict of the policies and the size of the answer', async () => {
    await using booted = await bootKernel({
      files: { 'a.txt': 'x'.repeat(100) },
      mode: 'ask',
      config: { policy: { deny: ['unified_file/delete'] } } as never,
    })
    const write = { action: 'write', path: 'n', content: '' }
    await booted.call('unified_file', { action: 'read', path: 'a.txt', response_format: 'detailed' })
    await booted.call('unified_file', write)
    await booted.call('unified_file', write, { approve: () => false })
    await booted.call('unified_file', { ...write, path: 'm' }, { approve: () => true })
    await booted.call('unified_file', { action: 'delete', path: 'a.txt' })
    await booted.call('unified_file', { action: 'read', path: '../out' })
    const entries = await lines(booted)
    expect(entries.map(({ verdict }) => verdict)).toEqual(['run', 'asked', 'asked', 'allowed', 'denied', undefined])
    expect(entries[0]!.bytes).toBeGreaterThan(100)
  })

  it('records calls that are refused before they start: wrong input, unknown tool, a path outside', async () => {
    await using booted = await bootKernel()
    const secret = `ghp_${'aB3'.repeat(12)}`
    await booted.call('unified_file', { action: 'read', pth: secret })
    await booted.call('unified_nothing', { a: 1 })
    await booted.call('unified_file', { action: 'read', path: '../out' })
    await booted.call('unified_file', 'no JSON {')
    const entries = await lines(booted)
    expect(entries.map(({ slot, code }) => [slot, code])).toEqual([
      ['unified_file/read', 'VT_INPUT_UNKNOWN'],
      ['unified_nothing', 'VT_TOOL_UNKNOWN'],
      ['unified_file/read', 'VT_PATH_OUTSIDE'],
      ['unified_file', 'VT_INPUT_INVALID'],
    ])
    expect(JSON.stringify(entries)).not.toContain(secret)
  })

  it('keeps the record by session under a name that is safe as a folder', async () => {
    await using booted = await bootKernel({ files: { a: 'x' } })
    for (const session of ['one', '../../two', 'x'.repeat(300)]) {
      await booted.call('unified_file', { action: 'read', path: 'a' }, { session })
      await booted.kernel.endSession(session)
    }
    const names = (await readdir(join(booted.root, '.vtcode/sessions'))).filter((name) => name !== '.gitignore')
    expect(names).toHaveLength(3)
    for (const name of names) expect(name).toMatch(/^(one|s-[0-9a-f]{16})$/)
  })

  it('redacts secrets, shortens long inputs and escapes line breaks and control characters in the record', async () => {
    await using booted = await bootKernel()
    const secret = `ghp_${'aB3'.repeat(12)}`
    for (const path of [`${secret}.txt`, 'line\nbreak\u2028\u009b31m\u001b[2J\u007f', `${'a/'.repeat(1200)}b`]) {
      await booted.call('unified_file', { action: 'read', path })
    }
    const entries = await lines(booted)
    const text = (await booted.read('.vtcode/sessions/main/calls.jsonl'))!
    expect(entries).toHaveLength(3)
    expect(text).not.toContain(secret)
    expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028]/)
    expect(entries[2]!.input).toBeUndefined()
  })

  it('writes the records of many sessions that end at once in linear time', async () => {
    await using booted = await bootKernel({ files: { a: 'x' } })
    const sessions = Array.from({ length: rounds(200, 600) }, (_, index) => `s${index}`)
    await Promise.all(
      sessions.map((session) => booted.call('unified_file', { action: 'read', path: 'a' }, { session })),
    )
    await Promise.all(sessions.map((session) => booted.kernel.endSession(session)))
    expect(await booted.read('.vtcode/sessions/.gitignore')).toBe('*\n')
  })

  it('makes the record readable by this user only and lets git ignore it', async () => {
    await using booted = await bootKernel({ files: { a: 'x' } })
    await booted.call('unified_file', { action: 'read', path: 'a' })
    await lines(booted)
    expect((await lstat(join(booted.root, '.vtcode/sessions/main/calls.jsonl'))).mode & 0o777).toBe(0o600)
    expect(await booted.read('.vtcode/sessions/.gitignore')).toBe('*\n')
  })

  it('drops a record that cannot be written without a failure of any call', async () => {
    await using booted = await bootKernel({ files: { a: 'x' } })
    await using elsewhere = await tempWorkspace()
    await mkdir(join(booted.root, '.vtcode'))
    await symlink(elsewhere.root, join(booted.root, '.vtcode/sessions'))
    expect((await booted.call('unified_file', { action: 'read', path: 'a' })).ok).toBe(true)
    expect(await lines(booted)).toEqual([])
    expect(await readdir(elsewhere.root)).toEqual([])
  })

  it('removes records of old sessions and keeps only the 50 newest', async () => {
    await using booted = await bootKernel({ files: { a: 'x' } })
    const folder = join(booted.root, '.vtcode/sessions')
    const days = (count: number): Date => new Date(Date.now() - count * 86_400_000)
    for (let index = 0; index < 60; index += 1) {
      await mkdir(join(folder, `s${index}`), { recursive: true })
      await writeFile(join(folder, `s${index}/calls.jsonl`), sealedIn(booted).call(`s${index}`, { slot: 'a' }))
      await utimes(join(folder, `s${index}/calls.jsonl`), days(index), days(index))
    }
    await booted.call('unified_file', { action: 'read', path: 'a' })
    await lines(booted)
    const names = (await readdir(folder)).filter((name) => name !== '.gitignore')
    expect(names).toContain('main')
    expect(names).toContain('s0')
    expect(names).not.toContain('s31')
    expect(names.length).toBeLessThanOrEqual(50)
  })

  it('takes as many file system steps for one session with 40 other sessions as with two', async () => {
    const ways = async (others: number): Promise<number> => {
      await using place = await tempWorkspace()
      for (let index = 0; index < others; index += 1) {
        const folder = join(place.root, `.vtcode/sessions/s${index}`)
        await mkdir(folder, { recursive: true })
        await writeFile(join(folder, 'calls.jsonl'), sealedIn(place).call(`s${index}`, { slot: 'a' }))
      }
      const workspace = openWorkspace(place.root, { home: resolveHome({ home: place.home, env: {} }) })
      const taken = [
        vi.spyOn(workspace, 'stat'),
        vi.spyOn(workspace, 'openDirectory'),
        vi.spyOn(workspace, 'listNames'),
      ]
      const calls = openCallLog({
        session: { id: 'main', state: (_: string, make: () => unknown) => make(), onClose: () => {} },
        workspace,
      } as never)
      calls.add({ slot: 'a' } as CallRecord)
      await calls.flush()
      workspace.close()
      expect((await readdir(join(place.root, '.vtcode/sessions/main'))).includes('calls.jsonl')).toBe(true)
      return taken.reduce((sum, { mock }) => sum + mock.calls.length, 0)
    }
    expect(await ways(40)).toBe(await ways(2))
  })

  it('ignores record lines without a valid seal, neither shows nor sweeps their files and names them once', async () => {
    await using booted = await bootKernel({ files: { a: 'x' } })
    const sealed = sealedIn(booted)
    const entry = {
      time: '2020-01-01T00:00:00.000Z',
      session: 'main',
      call: 'c1',
      slot: 'planted/tool',
      ok: false,
      code: 'VT_PLANTED',
      message: 'planted',
      depth: 0,
    }
    const elsewhere = sealed.call('elsewhere', entry)
    const reworded = sealed.call('main', { ...entry, slot: 'reworded/tool' }).replace('reworded/tool', 'planted/tool!')
    for (const session of ['main', 'theirs', ...Array.from({ length: 60 }, (_, index) => `old${index}`)]) {
      await booted.write(
        `.vtcode/sessions/${session}/calls.jsonl`,
        `${JSON.stringify(entry)}\n${elsewhere}${reworded}{"slot":"planted/null","time":"x","seal":null}\nnull\n`,
      )
      if (session !== 'main') await utimes(join(booted.root, '.vtcode/sessions', session, 'calls.jsonl'), 1, 1)
    }
    await booted.call('unified_file', { action: 'read', path: 'missing' })
    const told = await booted.call('unified_search', { action: 'errors', scope: 'all' })
    expect(told).toMatchObject({ ok: true, output: { total: 1, errors: [{ code: 'VT_PATH_NOT_FOUND' }] } })
    expect(await booted.kernel.call('resource/session_log', {}, { session: 'main' })).toMatchObject({
      ok: true,
      text: expect.not.stringContaining('planted'),
    })
    await booted.kernel.endSession('main')
    expect(
      (await readdir(join(booted.root, '.vtcode/sessions'))).filter(
        (name) => name.startsWith('old') || name === 'theirs',
      ),
    ).toHaveLength(61)
    const named = booted.kernel.diagnostics().filter(({ code }) => code === 'VT_STATE_FOREIGN')
    expect(named).toMatchObject([{ message: expect.stringContaining("calls.jsonl' (and 60 more) has no valid seal") }])
    expect(new Set(named[0]!.files).size).toBe(61)
    expect(named[0]!.files).toContainEqual(expect.stringContaining('/.vtcode/aside/sessions-theirs-calls.jsonl-'))
    await booted.call('unified_search', { action: 'errors', scope: 'all' })
    expect(await readdir(join(booted.root, '.vtcode/aside'))).toHaveLength(61)
  })
})
