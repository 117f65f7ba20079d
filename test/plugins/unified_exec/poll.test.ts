import { describe, expect, it } from 'vitest'
import { bootExec, call, error, eventually, output, readOn } from '../../support/exec.js'
import { drivesSession } from '../../support/session.js'

const driven = drivesSession()
const { run } = driven
const poll = driven.on('poll')
/** A line of a program that waits until a file is there. */
const until = (file: string): string => `until [ -e ${file} ]; do sleep 0.02; done`

describe('unified_exec/poll', () => {
  it('returns every byte once, in order, until the end', async () => {
    let all = (await run({ command: 'for i in $(seq 1 30); do echo line $i; sleep 0.03; done' })).stdout
    for (let running = true; running;) {
      const answer = await poll({ yield_time_ms: 200 })
      all += answer.stdout
      running = answer.running
    }
    expect(all).toBe(Array.from({ length: 30 }, (_, index) => `line ${index + 1}\n`).join(''))
    expect(await poll()).toMatchObject({ stdout: '', running: false, exit_code: 0 })
  })

  it('returns once output is followed by silence, and at once when no wait is requested', async () => {
    await run({ command: `${until('go')}; echo now; sleep 600` })
    const began = Date.now()
    const polled = poll({ yield_time_ms: 30_000 })
    await driven.booted.write('go', '')
    expect(await polled).toMatchObject({
      stdout: 'now\n',
      running: true,
      next: { tool: 'unified_exec', input: { action: 'poll', session_id: 's' } },
    })
    expect(Date.now() - began).toBeLessThan(25_000)
    const idle = Date.now()
    for (let count = 0; count < 50; count++) await poll({ yield_time_ms: 0 })
    expect(Date.now() - idle).toBeLessThan(20_000)
  })

  it('returns output again from the cursor of an earlier answer', async () => {
    const first = await readOn(
      driven.booted,
      await run({ command: `echo a; ${until('go')}; echo b; sleep 600` }),
      'a\n',
    )
    expect(first).toMatchObject({ text: 'a\n', cursor: 2 })
    await driven.booted.write('go', '')
    const second = await poll({ cursor: first.cursor, yield_time_ms: 30_000 })
    expect(second.stdout).toBe('b\n')
    expect((await poll({ cursor: first.cursor, yield_time_ms: 0 })).stdout).toMatch(/^b\n/)
    expect((await poll({ cursor: 0, yield_time_ms: 0 })).stdout).toMatch(/^a\nb\n/)
    expect((await poll({ cursor: 3, yield_time_ms: 0 })).stdout).toMatch(/^b\n/)
  })

  it('returns no half of a character or of an escape sequence', async () => {
    const command = `printf 'a\\342\\202'; ${until('one')}; printf '\\254b\\033[3'; ${until('two')}; printf '1mc\\n'`
    expect((await readOn(driven.booted, await run({ command }), 'a')).text).toBe('a')
    await driven.booted.write('one', '')
    expect((await poll({ yield_time_ms: 30_000 })).stdout).toBe('€b')
    await driven.booted.write('two', '')
    expect((await poll({ yield_time_ms: 30_000 })).stdout).toBe('c\n')
  })

  it('finds the commands of its own session only', async () => {
    await run({ command: 'sleep 5', session_id: 'mine' })
    const foreign = await driven.booted.call(
      'unified_exec',
      { action: 'poll', session_id: 'mine' },
      { session: 'another' },
    )
    expect(foreign).toMatchObject({
      ok: false,
      error: { code: 'VT_EXEC_SESSION', details: { sessions: [] }, next: { input: { action: 'list' } } },
    })
    expect(await error(driven.booted, { action: 'poll', session_id: '../1' })).toMatchObject({
      code: 'VT_EXEC_SESSION',
      details: { sessions: ['mine'] },
    })
  })

  it('ends a command that was not polled within idle_secs', async () => {
    await using idle = await bootExec({ config: { exec: { idle_secs: 3 } } })
    await output(idle, { command: ['sleep', '60'], session_id: 's', yield_time_ms: 250 })
    for (let turn = 0; turn < 4; turn++) {
      await new Promise((resolve) => setTimeout(resolve, 1000))
      expect(await output(idle, { action: 'poll', session_id: 's', yield_time_ms: 0 })).toMatchObject({ running: true })
    }
    // The action list does not count as use of the session.
    expect(await eventually(async () => !(await output(idle, { action: 'list' })).sessions[0].running)).toBe(true)
    expect(await output(idle, { action: 'poll', session_id: 's', yield_time_ms: 0 })).toMatchObject({
      running: false,
      timed_out: true,
    })
  })

  it('returns what a background command printed since the last call', async () => {
    await call(driven.booted, { command: `${until('go')}; echo done; exit 5`, background: true, session_id: 's' })
    await driven.booted.write('go', '')
    expect(await readOn(driven.booted, await poll({ yield_time_ms: 30_000 }))).toMatchObject({
      text: 'done\n',
      exit_code: 5,
      running: false,
    })
  })
})
