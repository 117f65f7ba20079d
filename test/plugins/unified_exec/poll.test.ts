import { describe, expect, it } from 'vitest'
import { bootExec, call, error, output } from '../../support/exec.js'
import { drivesSession } from '../../support/session.js'

const driven = drivesSession()
const { run } = driven
const poll = driven.on('poll')

describe('poll', () => {
  it('delivers every byte once, in order, until the end', async () => {
    let all = (await run({ command: 'for i in $(seq 1 30); do echo line $i; sleep 0.03; done' })).stdout
    for (let running = true; running; ) {
      const answer = await poll({ yield_time_ms: 200 })
      all += answer.stdout
      running = answer.running
    }
    expect(all).toBe(Array.from({ length: 30 }, (_, index) => `line ${index + 1}\n`).join(''))
    expect(await poll()).toMatchObject({ stdout: '', running: false, exit_code: 0 })
  })

  it('returns as soon as output is followed by silence, and at once when nothing is waited for', async () => {
    await run({ command: 'sleep 0.6; echo now; sleep 30' })
    const began = Date.now()
    expect(await poll({ yield_time_ms: 20_000 })).toMatchObject({ stdout: 'now\n', running: true, next: { tool: 'unified_exec', input: { action: 'poll', session_id: 's' } } })
    expect(Date.now() - began).toBeLessThan(15000)
    const idle = Date.now()
    for (let count = 0; count < 50; count++) await poll({ yield_time_ms: 0 })
    expect(Date.now() - idle).toBeLessThan(20_000)
  })

  it('may be repeated from the cursor of an earlier answer', async () => {
    const first = await run({ command: 'echo a; sleep 0.5; echo b; sleep 0.5; echo c' })
    expect(first).toMatchObject({ stdout: 'a\n', cursor: 2 })
    const second = await poll({ cursor: first.cursor })
    expect(second.stdout).toBe('b\n')
    expect((await poll({ cursor: first.cursor })).stdout).toMatch(/^b\n/)
    expect((await poll({ cursor: 0 })).stdout).toMatch(/^a\nb\n/)
    expect((await poll({ cursor: 3 })).stdout).toMatch(/^b\n/)
  })

  it('does not deliver half of a character or of an escape sequence', async () => {
    const command = "printf 'a\\342\\202'; sleep 0.6; printf '\\254b\\033[3'; sleep 0.6; printf '1mc\\n'"
    expect((await run({ command })).stdout).toBe('a')
    expect((await poll({ yield_time_ms: 5000 })).stdout).toBe('€b')
    expect((await poll({ yield_time_ms: 5000 })).stdout).toBe('c\n')
  })

  it('knows the sessions of its own session only', async () => {
    await run({ command: 'sleep 5', session_id: 'mine' })
    const foreign = await driven.booted.call('unified_exec', { action: 'poll', session_id: 'mine' }, { session: 'another' })
    expect(foreign).toMatchObject({ ok: false, error: { code: 'VT_EXEC_SESSION', details: { sessions: [] }, next: { input: { action: 'list' } } } })
    expect(await error(driven.booted, { action: 'poll', session_id: '../1' })).toMatchObject({ code: 'VT_EXEC_SESSION', details: { sessions: ['mine'] } })
  })

  it('finds a session ended that nobody called for too long', async () => {
    await using idle = await bootExec({ config: { exec: { idle_secs: 1 } } })
    await output(idle, { command: ['sleep', '60'], session_id: 's', yield_time_ms: 250 })
    for (let turn = 0; turn < 4; turn++) {
      await new Promise((resolve) => setTimeout(resolve, 400))
      expect(await output(idle, { action: 'poll', session_id: 's', yield_time_ms: 0 })).toMatchObject({ running: true })
    }
    await new Promise((resolve) => setTimeout(resolve, 1800))
    expect(await output(idle, { action: 'poll', session_id: 's', yield_time_ms: 0 })).toMatchObject({ running: false, timed_out: true })
  })

  it('answers for a background command what it printed in between', async () => {
    await call(driven.booted, { command: 'sleep 0.3; echo done; exit 5', background: true, session_id: 's' })
    expect(await poll({ yield_time_ms: 5000 })).toMatchObject({ stdout: 'done\n', exit_code: 5, running: false })
  })
})
