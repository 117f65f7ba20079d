import type { Booted } from 'vtcode/test'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { bootExec, error, output } from './exec.js'

let booted: Booted
beforeEach(async () => {
  booted = await bootExec()
})
afterEach(() => booted[Symbol.asyncDispose]())

describe('continue', () => {
  it('writes when there is something to write, else polls', async () => {
    await output(booted, { command: 'cat; sleep 0.3; echo late', session_id: 's', yield_time_ms: 250 })
    const go = (input: object = {}) => output(booted, { action: 'continue', session_id: 's', ...input })
    expect(await go({ input: 'hello\n', yield_time_ms: 3000 })).toMatchObject({ stdout: 'hello\n', running: true })
    expect(await go({ input: '', keys: [], yield_time_ms: 0 })).toMatchObject({ stdout: '', running: true })
    await go({ keys: ['ctrl-d'], yield_time_ms: 0 })
    expect(await go({ yield_time_ms: 5000 })).toMatchObject({ stdout: 'late\n', running: false })
    expect(await go()).toMatchObject({ stdout: '', exit_code: 0 })
    expect(await error(booted, { action: 'continue', session_id: 's', input: 'x' })).toMatchObject({ code: 'VT_EXEC_CLOSED' })
  })
})
