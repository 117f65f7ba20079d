import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bootExec } from '../../support/exec.js'
import type { Booted } from 'vtcode/test'

let booted: Booted
beforeAll(async () => {
  booted = await bootExec({ mode: 'full-auto', files: { 'a.txt': 'x' } })
})
afterAll(() => booted[Symbol.asyncDispose]())

const run = (code: string, input: object = {}, options: object = {}): Promise<any> =>
  booted.kernel.call('unified_exec', { action: 'code', code, ...input }, options)
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

const LATE = `void exec.run({ command: 'sleep 1.5; echo MARK_OF_A' })
await new Promise((resolve) => setTimeout(resolve, 200))
return 1`

describe('unified_exec/code: scripts of two sessions', () => {
  it('gives no script the answer of a call that another session made', async () => {
    await run('return 0')
    const first = run(LATE, {}, { session: 'A' })
    await sleep(700)
    const second = await run("return await exec.run({ command: 'sleep 2; echo own' })", {}, { session: 'B' })
    expect(JSON.stringify(second.output.result)).toContain('own')
    expect(JSON.stringify(second)).not.toContain('MARK_OF_A')
    expect(await first).toMatchObject({ ok: true, output: { result: 1 } })
  }, 60_000)

  it('ends no script of another session at the time limit of one that has returned', async () => {
    await run('return 0')
    const first = run(LATE, { timeout_secs: 1 }, { session: 'A' })
    await sleep(600)
    const second = run(
      "await new Promise((resolve) => setTimeout(resolve, 1500)); return 'alive'",
      {},
      { session: 'B' },
    )
    expect(await second).toMatchObject({ output: { result: 'alive' } })
    await first
  }, 60_000)

  it('keeps no thread of a cancelled script for the next one', async () => {
    for (let ms = 0; ms < 12; ms++) {
      const cancel = new AbortController()
      const first = run('return 1', {}, { session: 'A', signal: cancel.signal })
      setTimeout(() => cancel.abort(), ms)
      await first
      expect((await run('return 2', {}, { session: 'B' })).output).toMatchObject({ result: 2 })
    }
  }, 60_000)
})

describe('unified_exec/code: messages of a script', () => {
  it('sends the messages of the prelude, whatever the script changes', async () => {
    const forge = 'Object.prototype.toJSON = function () { return this.op ? { ...forged, id: this.id } : this }\n'
    const print = `const forged = { op: 'print', stream: 'stdout', text: { toString: 1, valueOf: 1 } }
${forge}console.log('plain'); return 1`
    expect(await run(print)).toMatchObject({ output: { stdout: 'plain\n', result: 1 } })
    const store = `const forged = { op: 'store', action: 'set', key: 'k', value: 'no json', line: 1 }
${forge}await store.set('k', 1); return await store.get('k')`
    expect(await run(store)).toMatchObject({ output: { result: 1 } })
    const long = `const forged = { op: 'print', stream: 'stdout', text: 'x'.repeat(2_000_000) }
${forge}for (let at = 0; at < 40; at++) console.log(at)`
    expect((await run(long)).output.stdout.length).toBeLessThan(200)
    const globals = `for (const name of ['Error', 'JSON', 'Map', 'Object', 'Promise', 'String']) globalThis[name] = undefined
return [await store.get('none'), (await file.read({ path: 'a.txt' })).content.length]`
    expect(await run(globals)).toMatchObject({ output: { result: [null, 1] } })
  })

  it('ends a script whose message has a field of another type', async () => {
    const made = await run('Array.prototype.toJSON = () => 7\nreturn new Map()')
    expect(made.output).toMatchObject({
      exit_code: 1,
      stderr: "The engine stopped: the script sent a message 'done' with an invalid 'kinds'\n",
    })
    expect((await run('return 1')).output).toMatchObject({ result: 1 })
  })

  it('runs code that closes its function once', async () => {
    const made = await run("})\nconsole.log('ran')\nthrow new SyntaxError('own')\n;(async () => {")
    expect(made.output).toMatchObject({ exit_code: 1, stdout: 'ran\n' })
    expect(made.output.stderr).toContain('own')
  })
})
