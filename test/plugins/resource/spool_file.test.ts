import { existsSync, readdirSync, utimesSync } from 'node:fs'
import { join, relative } from 'node:path'
import { describe, expect, it } from 'vitest'
import { bootKernel } from 'vtcode/test'
import { lacks } from '../../support/exec.js'

it('shows and lists the spool files of its session and refuses other files and sessions', async () => {
  await using booted = await bootKernel({
    files: { '.vtcode/spool/run-1.txt': 'planted\n', 'secret.txt': 'no' },
    config: { automation: { full_auto: { enabled: true, allowed_tools: ['exec', 'read', 'net', 'write'] } } },
  })
  expect(
    await booted.kernel.call(
      'unified_exec',
      { action: 'run', command: 'seq 1 20000', yield_time_ms: 5000 },
      { session: 'a' },
    ),
  ).toMatchObject({ ok: true })
  const names = await booted.kernel.inspection.complete('resource/spool_file', 'id', '', 'a')
  expect(names.length).toBeGreaterThan(0)
  for (const id of names) {
    expect(await booted.kernel.call('resource/spool_file', { id }, { session: 'a' })).toMatchObject({
      ok: true,
      text: expect.stringContaining('\n19999\n'),
    })
    expect(await booted.kernel.call('resource/spool_file', { id }, { session: 'b' })).toMatchObject({
      ok: false,
      error: { code: 'VT_PATH_NOT_FOUND' },
    })
  }
  expect(await booted.kernel.inspection.complete('resource/spool_file', 'id', '', 'b')).toEqual([])
  for (const id of ['run-1.txt', 'none.txt', '../../secret.txt', '..', '']) {
    expect(await booted.kernel.call('resource/spool_file', { id }, { session: 'a' }), id).toMatchObject({ ok: false })
  }
})

describe.skipIf(lacks('bwrap'))(
  `spool files and records in the sandbox${lacks('bwrap') ? ' (SKIPPED: needs bwrap)' : ''}`,
  () => {
    it('shows a sandboxed command the whole files of its own session and no name of another', async () => {
      await using booted = await bootKernel({ config: { sandbox: { mode: 'required' } } as never })
      const run = async (session: string, command: string) => {
        const result = await booted.kernel.call('unified_exec', { action: 'run', command }, { session })
        return result.ok ? String(result.output['stdout']) : expect.fail(JSON.stringify(result.error))
      }
      await run('a', 'seq 1 20000')
      expect(existsSync(join(booted.root, '.vtcode/spool'))).toBe(true)
      const [name] = readdirSync(join(booted.root, '.vtcode/spool')).filter((name) => name.endsWith('.txt'))
      await booted.kernel.endSession('b')
      await expect.poll(() => existsSync(join(booted.root, '.vtcode/sessions/a/calls.jsonl'))).toBe(true)
      const looks = `ls -aR .vtcode; cat .vtcode/spool/${name} | tail -1; cat .vtcode/sessions/a/calls.jsonl; find .vtcode -type f | wc -l`
      const [own, other] = [await run('a', looks), await run('b', looks)]
      expect(own).toContain(`${name}\n`)
      expect(own).toContain('\n20000\n')
      expect(own).toContain('"slot":"unified_exec/run"')
      expect(other).not.toContain('txt')
      expect(other).not.toContain('20000')
      expect(other).not.toContain('unified_exec')
      // Files that another session writes later stay hidden from a running command too.
      const later = run('c', 'for i in $(seq 40); do sleep 0.1; ls -aR .vtcode; done')
      await run('a', 'seq 1 30000')
      expect(await later).not.toContain('txt')
    })
  },
)

it('moves spool files without a valid seal away, names them once and never shows them', async () => {
  const planted = ['ses_talk-run-0123456789ab.txt', `ses_talk-run-${'0'.repeat(16)}.txt`, 'run-1.txt']
  await using booted = await bootKernel({
    files: Object.fromEntries(planted.map((name) => [`.vtcode/spool/${name}`, 'planted\n'])),
    config: { sandbox: { mode: 'off' } } as never,
  })
  for (const name of planted) utimesSync(join(booted.root, '.vtcode/spool', name), 1, 1)
  for (let time = 0; time < 9; time += 1)
    await booted.kernel.call('unified_exec', { action: 'run', command: `seq ${time} 20000` }, { session: 'ses_talk' })
  expect(readdirSync(join(booted.root, '.vtcode/spool')).filter((name) => planted.includes(name))).toEqual([])
  expect(
    readdirSync(join(booted.root, '.vtcode/aside'))
      .map((name) => name.replace(/^spool-(.*)-[0-9a-f]{6}$/, '$1'))
      .sort(),
  ).toEqual([...planted].sort())
  const named = booted.kernel.diagnostics().filter(({ code }) => code === 'VT_STATE_FOREIGN')
  expect(named).toMatchObject([
    { message: expect.stringMatching(/^'\.vtcode\/spool\/[\w-]+\.txt' \(and 2 more\) has no valid seal/) },
  ])
  expect(named[0]!.files.map((file) => relative(booted.root, file).replace(/-[0-9a-f]{6}$/, '')).sort()).toEqual(
    planted.map((name) => `.vtcode/aside/spool-${name}`).sort(),
  )
  const shown = await booted.kernel.inspection.complete('resource/spool_file', 'id', '', 'ses_talk')
  expect(shown.filter((name) => planted.includes(name))).toEqual([])
  expect(shown.length).toBeGreaterThan(8)
})
