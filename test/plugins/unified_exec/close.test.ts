import { describe, expect, it } from 'vitest'
import { call, error, eventually, nap, output, processesWith, readOn } from '../../support/exec.js'
import { drivesSession } from '../../support/session.js'

const driven = drivesSession()
const start = driven.run
/** Starts a program that prints `up`, and waits for that. */
const up = async (command: string): Promise<void> =>
  void (await readOn(driven.booted, await start({ command }), 'up\n'))
const close = driven.on('close')
const write = driven.on('write')

describe('unified_exec/close', () => {
  it('ends the whole process tree, returns the last output and forgets the session', async () => {
    const left = nap()
    await up(`trap "echo bye; exit 4" TERM; (${left}) & echo up; wait`)
    expect(await close({ grace_ms: 10_000 })).toMatchObject({
      running: false,
      exit_code: 4,
      signal: null,
      stdout: 'bye\n',
    })
    expect(processesWith(left.replace(' ', '\0'))).toEqual([])
    expect(await error(driven.booted, { action: 'poll', session_id: 's' })).toMatchObject({ code: 'VT_EXEC_SESSION' })
  })

  it('sends the requested signal, then SIGKILL after the grace period', async () => {
    await up('trap "exit 9" INT; echo up; while :; do sleep 0.05; done')
    expect(await close({ signal: 'SIGINT', grace_ms: 10_000 })).toMatchObject({ exit_code: 9 })
    await up('trap "" TERM INT HUP; echo up; while :; do sleep 0.05; done')
    const began = Date.now()
    expect(await close({ grace_ms: 300 })).toMatchObject({ exit_code: null, signal: 'SIGKILL' })
    expect(Date.now() - began).toBeLessThan(20_000)
  })

  it('ends the process groups that job control makes in a terminal', async () => {
    const left = nap()
    await start({ command: ['bash', '--norc', '-i'], tty: true })
    await write({ input: `${left} &\n`, yield_time_ms: 500 })
    expect(await eventually(() => processesWith(left.replace(' ', '\0')).length === 1)).toBe(true)
    await close({ signal: 'SIGHUP', grace_ms: 500 })
    expect(await eventually(() => processesWith(left.replace(' ', '\0')).length === 0)).toBe(true)
  })

  it('names a process that left the session and still runs', async () => {
    const left = nap()
    await start({ command: `setsid ${left} >/dev/null 2>&1 & sleep 60` })
    expect(await eventually(() => processesWith(left.replace(' ', '\0')).length === 1)).toBe(true)
    expect((await call(driven.booted, { action: 'close', session_id: 's' })).notices?.map(({ code }) => code)).toEqual([
      'VT_EXEC_SURVIVORS',
    ])
    for (const pid of processesWith(left.replace(' ', '\0'))) process.kill(pid, 'SIGKILL')
  })

  it('forgets a session that has already ended', async () => {
    await start({ command: 'echo over; exit 2', yield_time_ms: 30_000 })
    expect(await close()).toMatchObject({ running: false, exit_code: 2, stdout: '' })
    expect((await output(driven.booted, { action: 'list' })).sessions).toEqual([])
  })
})
