import type { Booted } from 'vtcode/test'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { bootExec, call, error, eventually, nap, output, processesWith, readOn, rounds } from '../../support/exec.js'

let booted: Booted
beforeEach(async () => {
  booted = await bootExec()
})
afterEach(() => booted[Symbol.asyncDispose]())
const sessions = async () => (await output(booted, { action: 'list' })).sessions

describe('unified_exec/list', () => {
  it('shows running and ended sessions, oldest first, with live values', async () => {
    await output(booted, { command: 'exit 3', session_id: 'first' })
    await output(booted, { command: ['sleep', '30'], session_id: 'second', background: true })
    await output(booted, {
      command: `echo ${'é'.repeat(400)}; until [ -e go ]; do sleep 0.02; done; echo more; sleep 600`,
      session_id: 'third',
      yield_time_ms: 250,
    }).then((answer) => readOn(booted, answer, '\n'))
    await booted.write('go', '')
    expect(await eventually(async () => (await sessions())[2].unread_bytes === 5)).toBe(true)
    const [first, second, third] = await sessions()
    expect(first).toMatchObject({
      session_id: 'first',
      command: 'exit 3',
      cwd: '.',
      backend: 'pipe',
      running: false,
      exit_code: 3,
      unread_bytes: 0,
    })
    expect(second).toMatchObject({ session_id: 'second', command: ['sleep', '30'], running: true, exit_code: null })
    expect([...third.command].length).toBe(200)
    expect(third.unread_bytes).toBe(5)
    expect(Date.parse(third.started_at)).toBeLessThanOrEqual(Date.parse(third.last_activity_at))
  })

  it('shows at most 32 live sessions, refuses one more and accepts each id once', async () => {
    const start = (session_id?: string) =>
      call(booted, { command: 'sleep 60', background: true, ...(session_id && { session_id }) })
    const started = await Promise.all(Array.from({ length: 64 }, () => start()))
    expect(started.filter(({ ok }) => ok).length).toBe(32)
    for (const result of started)
      if (!result.ok)
        expect(result.error).toMatchObject({
          code: 'VT_EXEC_LIMIT',
          retryable: true,
          next: { input: { action: 'list' } },
        })
    const ids = (await sessions()).map(({ session_id }: { session_id: string }) => session_id)
    expect(new Set(ids).size).toBe(32)
    for (const id of ids) expect(id).toMatch(/^run-[0-9a-f]{8}$/)
    await output(booted, { action: 'close', session_id: ids[0], signal: 'SIGKILL' })
    expect(await start('mine')).toMatchObject({ ok: true })
    await output(booted, { action: 'close', session_id: ids[1], signal: 'SIGKILL' })
    expect(await error(booted, { command: 'true', session_id: 'mine' })).toMatchObject({
      code: 'VT_EXEC_SESSION_EXISTS',
    })
  })

  it('runs 32 of very many commands at once and refuses the others by a code, without a loss', async () => {
    const commands = Array.from({ length: rounds(150, 1000) }, (_, index) => ({
      command: `echo begin ${index}; sleep 1; seq 200; echo end ${index}; exit ${index % 7}`,
    }))
    const before = process.memoryUsage.rss()
    const answers = await Promise.all(commands.map((input) => call(booted, { ...input, response_format: 'detailed' })))
    const ran = answers.flatMap((answer, index) => (answer.ok ? [{ index, output: answer.output }] : []))
    // An ended command frees its slot, so more than 32 may run one after the other.
    expect(ran.length).toBeGreaterThanOrEqual(32)
    const lines = Array.from({ length: 200 }, (_, index) => `${index + 1}\n`).join('')
    for (const { index, output } of ran)
      expect(output).toMatchObject({
        stdout: `begin ${index}\n${lines}end ${index}\n`,
        exit_code: index % 7,
        running: false,
        truncated: false,
      })
    for (const answer of answers)
      if (!answer.ok)
        expect(answer.error).toMatchObject({
          code: 'VT_EXEC_LIMIT',
          retryable: true,
          message: '32 commands are running; the limit is 32.',
          next: { input: { action: 'list' } },
        })
    expect(process.memoryUsage.rss() - before).toBeLessThan(150_000_000)
    expect(processesWith('seq 200; echo end')).toEqual([])
    // Refused commands can run afterwards.
    expect(await output(booted, { command: 'echo still here' })).toMatchObject({ stdout: 'still here\n' })
    expect((await sessions()).filter(({ running }: { running: boolean }) => running)).toEqual([])
  })

  it('drives 32 programs at once, each with its own input and output', async () => {
    const ids = Array.from({ length: 32 }, (_, index) => `p${index}`)
    await Promise.all(
      ids.map((session_id, index) =>
        output(booted, { command: ['cat'], session_id, yield_time_ms: 250, tty: index % 4 === 0 }),
      ),
    )
    const answers = await Promise.all(
      ids.map((session_id) =>
        output(booted, { action: 'write', session_id, input: `I am ${session_id}\n`, yield_time_ms: 0 }).then(
          (answer) => readOn(booted, answer, `I am ${session_id}`),
        ),
      ),
    )
    answers.forEach(({ text }, index) => expect(text).toContain(`I am p${index}`))
    await Promise.all(
      ids.map((session_id) =>
        output(booted, { action: 'write', session_id, eof: true, yield_time_ms: 30_000 }).then((answer) =>
          readOn(booted, answer),
        ),
      ),
    )
    expect((await sessions()).filter(({ running }: { running: boolean }) => running)).toEqual([])
  })

  it('keeps at most 64 ended sessions', async () => {
    for (let count = 0; count < 70; count++) await output(booted, { command: ['true'], session_id: `e${count}` })
    const ids = (await sessions()).map(({ session_id }: { session_id: string }) => session_id)
    expect(ids).toEqual(Array.from({ length: 64 }, (_, index) => `e${index + 6}`))
  })

  it('keeps the session of an ended command whose background process still runs', async () => {
    const left = nap()
    await output(booted, { command: `${left} >/dev/null 2>&1 & true`, background: true, session_id: 'server' })
    for (let count = 0; count < 66; count++) await output(booted, { command: ['true'] })
    expect((await sessions())[0]).toMatchObject({ session_id: 'server', running: false })
    expect(processesWith(left.replace(' ', '\0')).length).toBe(1)
  })

  it('shows nothing to another session and ends commands with their session and with the kernel', async () => {
    const [mine, other] = [nap(), nap()]
    await output(booted, { command: mine, background: true })
    await booted.call('unified_exec', { command: other, background: true, tty: true }, { session: 'other' })
    expect((await sessions()).length).toBe(1)
    await booted.kernel.endSession('other')
    expect(processesWith(other.replace(' ', '\0'))).toEqual([])
    expect(processesWith(mine.replace(' ', '\0')).length).toBe(1)
    await booted.kernel.close()
    expect(processesWith(mine.replace(' ', '\0'))).toEqual([])
  })
})
