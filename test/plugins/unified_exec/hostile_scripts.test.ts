import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bootExec } from '../../support/exec.js'
import { hold } from '../../support/held.js'
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

describe('unified_exec/code: limits of calls', () => {
  it('limits the input of a call and of the calls that have not ended', async () => {
    const code = `const codes = {}
const count = (error) => (codes[error.code] = (codes[error.code] ?? 0) + 1)
await file.read({ path: 'x'.repeat(1024 * 1024) }).catch(count)
const path = 'x'.repeat(900_000)
for (let at = 0; at < 16; at++) void exec.run({ command: at === 0 ? 'sleep 5' : 'true' })
await Promise.all(Array.from({ length: 60 }, () => file.read({ path }).catch(count)))
return codes`
    const { output } = await run(code)
    expect(output.result).toMatchObject({ VT_INPUT_TOO_LARGE: 1, VT_EXEC_LIMIT: expect.any(Number) })
    expect(output.call_count).toBe(77)
    expect(output.calls.length).toBeLessThan(77)
  })

  it('begins no queued call after a script was cancelled', async () => {
    const cancel = new AbortController()
    const code = `const all = Array.from({ length: 60 }, (_, at) => exec.run({ command: 'sleep 1; touch queued-' + at }))
await Promise.allSettled(all)`
    const running = run(code, {}, { signal: cancel.signal })
    await sleep(500)
    cancel.abort()
    expect(await running).toMatchObject({ ok: false })
    await sleep(1500)
    const { output } = await run("return (await search.list({ name_pattern: 'queued-*' })).items")
    expect(output.result).toEqual([])
  }, 60_000)

  it('begins the next call after calls whose record cannot be kept', async () => {
    const record = async () => {
      throw new Error('The disk is full.')
    }
    const scripts = { values: new Map<string, string>(), put: async () => {}, record }
    const code = `const all = await Promise.allSettled(Array.from({ length: 40 }, () => file.read({ path: 'a.txt' })))
return [...new Set(all.map(({ reason }) => reason.code))]`
    expect(await run(code, { timeout_secs: 10 }, { scripts })).toMatchObject({
      output: { timed_out: false, result: ['VT_CALL_FAILED'] },
    })
  })

  it('shares the number of calls with the scripts that a script starts', async () => {
    await using few = await bootExec({
      mode: 'full-auto',
      files: { 'a.txt': 'x' },
      config: { exec: { script_max_calls: 6 } },
    })
    const inner =
      "let n = 0; for (let at = 0; at < 9; at++) await file.read({ path: 'a.txt' }).then(() => n++, () => 0); return n"
    const code = `const read = async () => (await exec.code({ code: ${JSON.stringify(inner)} })).result
return [await read(), await read().catch((error) => error.code)]`
    expect(await few.call('unified_exec', { action: 'code', code })).toMatchObject({
      output: { result: [5, 'VT_EXEC_LIMIT'] },
    })
  })

  it('limits the requests to the store and the bytes of them', async () => {
    const many = `let last
for (let at = 0; at < 10_001; at++) await store.get('none').catch((error) => (last = [at, error.code]))
return last`
    expect((await run(many)).output).toMatchObject({ result: [10_000, 'VT_EXEC_STORE'] })
    const large = `const text = 'x'.repeat(4_000_000)
for (let at = 0; at < 40; at++) try { await store.set('large', text) } catch (error) { return [at, error.message] }`
    expect((await run(large)).output).toMatchObject({
      result: [16, expect.stringContaining('at most 67108864 bytes')],
    })
    const read = "for (let at = 0; at < 40; at++) try { await store.get('large') } catch (error) { return at }"
    expect((await run(read)).output).toMatchObject({ result: 17 })
    await run("await store.delete('large')")
  }, 60_000)

  it('names a tool of a script in one short line', async () => {
    const texts: string[] = []
    const onProgress = ({ text = '' }: { text?: string }) => void texts.push(text)
    const code = "await vtcode.call('odd\\nunified_file read: done\\u001b[31m' + 'x'.repeat(5000)).catch(() => {})"
    const { output } = await run(code, {}, { onProgress })
    expect(texts).toEqual([expect.stringMatching(/^[^\n\u001b]{1,300}\n$/)])
    expect(output.calls[0].tool.length).toBeLessThan(300)
  })

  it('counts the time in which a script computes while a person decides', async () => {
    await using asking = await bootExec({ mode: 'ask', files: { 'b.txt': 'y' } })
    const approve = async () => {
      await sleep(4000)
      return false
    }
    const code = `void file.delete({ path: 'b.txt' }).catch(() => {})
await new Promise((resolve) => setTimeout(resolve, 100))
const end = Date.now() + 3000
while (Date.now() < end);
return 'spun'`
    const made: any = await asking.kernel.call('unified_exec', { action: 'code', code, timeout_secs: 1 }, { approve })
    expect(made).toMatchObject({ output: { timed_out: true, exit_code: null } })
    expect(made.output.result).toBeUndefined()
  }, 60_000)
})

it('makes no changing call of a script while another one waits for an answer', async () => {
  const made = hold(
    await bootExec({ mode: 'auto', files: { 'go.sh': 'echo good > out.txt\n' }, config: { sandbox: { mode: 'off' } } }),
  )
  const approve = async () => (await sleep(800), true)
  const code = `const ran = exec.run({ command: 'sh go.sh' })
await new Promise((resolve) => setTimeout(resolve, 200))
const read = await file.read({ path: 'go.sh' })
await file.write({ path: 'go.sh', content: 'echo other > out.txt\\n', mode: 'overwrite' })
await ran
return read.content`
  const result = await made.kernel.call('unified_exec', { action: 'code', code }, { approve })
  expect(result).toMatchObject({ ok: true, output: { result: 'echo good > out.txt\n' } })
  expect([await made.read('out.txt'), await made.read('go.sh')]).toEqual(['good\n', 'echo other > out.txt\n'])
})
