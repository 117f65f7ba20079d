import { describe, expect, it } from 'vitest'
import { bootExec, call, error, output, readOn } from '../../support/exec.js'
import { drivesSession } from '../../support/session.js'

const driven = drivesSession()

describe('unified_exec/continue', () => {
  it('writes when there is input, else polls', async () => {
    await driven.run({ command: 'cat; sleep 0.3; echo late' })
    const go = driven.on('continue')
    expect(await go({ input: 'hello\n', yield_time_ms: 30_000 })).toMatchObject({ stdout: 'hello\n', running: true })
    expect(await go({ input: '', keys: [], yield_time_ms: 0 })).toMatchObject({ stdout: '', running: true })
    await go({ keys: ['ctrl-d'], yield_time_ms: 0 })
    expect(await readOn(driven.booted, await go({ yield_time_ms: 30_000 }))).toMatchObject({
      text: 'late\n',
      running: false,
    })
    expect(await go()).toMatchObject({ stdout: '', exit_code: 0 })
    expect(await error(driven.booted, { action: 'continue', session_id: 's', input: 'x' })).toMatchObject({
      code: 'VT_EXEC_CLOSED',
    })
  })

  it('asks the user before it sends input and not before it only waits', async () => {
    await using asking = await bootExec({ mode: 'ask', config: { policy: { allow: ['unified_exec/run'] } } })
    await output(asking, { command: 'echo up; cat', session_id: 's', yield_time_ms: 250 })
    const go = (input: object) => call(asking, { action: 'continue', session_id: 's', yield_time_ms: 0, ...input })
    for (const idle of [{}, { input: '' }, { keys: [] }, { eof: false }, { cursor: 0, rows: 20 }])
      expect(await go(idle)).toMatchObject({ ok: true, output: { running: true } })
    for (const sends of [{ input: ' ' }, { keys: ['enter'] }, { eof: true }])
      expect(await go(sends)).toMatchObject({ ok: false, error: { code: 'VT_POLICY_NEEDS_APPROVAL' } })
  })
})
