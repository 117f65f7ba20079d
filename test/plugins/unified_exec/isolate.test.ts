import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Config } from 'vtcode'
import { bootKernel, type Booted } from 'vtcode/test'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { call, output, rounds } from '../../support/exec.js'
import { rawMcp } from '../../support/raw_mcp.js'

const fixture = fileURLToPath(new URL('../../fixtures/mcp/server.mjs', import.meta.url))

let booted: Booted
beforeAll(async () => {
  booted = await bootKernel({
    mode: 'auto',
    files: { 'a.txt': 'alpha\nTODO one\n', 'b.txt': 'TODO two\n' },
    config: { exec: { script_max_memory_mb: 24, script_max_calls: 300 } },
  })
})
afterAll(() => booted[Symbol.asyncDispose]())

const run = (code: string, input: object = {}): Promise<any> => output(booted, { action: 'code', code, ...input })
const answer = (code: string, input: object = {}) => call(booted, { action: 'code', code, ...input })
const result = async (code: string, input: object = {}): Promise<unknown> => {
  const made = await run(code, input)
  return made.exit_code === 0 ? made.result : made.stderr
}
const messages = ({ notices = [] }: { notices?: { message: string }[] }) => notices.map(({ message }) => message)

describe('unified_exec/code: the isolate', () => {
  it('runs a script without a language and returns its value and what it prints', async () => {
    const made = await answer('console.log("seen", { a: 1 }); console.error("odd"); return [1, "é\\u0000\\ud800"]')
    expect(made).toMatchObject({
      ok: true,
      output: {
        language: 'javascript',
        exit_code: 0,
        stdout: 'seen {"a":1}\n',
        stderr: 'odd\n',
        result: [1, 'é\u0000\ud800'],
        calls: [],
        effects: [],
      },
    })
    expect((made as any).text).toMatch(/^seen {"a":1}\n\[stderr\]\nodd\n\[result\] \[1,.*\nexit 0 in [\d.]+ s$/)
  })

  it('accepts a function body, a module and TypeScript', async () => {
    const rows: [code: string, value: unknown][] = [
      ['return 1', 1],
      ['const x = await Promise.resolve(2); return x', 2],
      ['export const result = 3', 3],
      ['export default await Promise.resolve(4)', 4],
      ['interface P { x: number }\nconst p: P = { x: 5 }\nreturn (p as P).x', 5],
      ['enum E { A = 6 }\nexport const result: E = E.A', 6],
      ['const f = <T,>(x: T): T => x\nreturn f<number>(7)', 7],
      ['return input', 'given'],
    ]
    for (const [code, value] of rows)
      expect([code, (await run(code, { input: 'given' })).result]).toEqual([code, value])
  })

  it('returns any value as JSON and names the kinds that JSON lacks', async () => {
    const setup = 'class Hidden { #a = 1 }\nclass Point { x = 1 }\nconst cycle = []\ncycle.push(cycle)\n'
    const rows: [code: string, value: unknown, kinds: string][] = [
      ['new Map([["k", 77]])', { k: 77 }, 'Map as an object'],
      ['new Map([[1, 2]])', [[1, 2]], 'Map as pairs'],
      ['new Set([77])', [77], 'Set as a list'],
      ['new Error("bad77")', 'Error: bad77', 'Error as text'],
      ['NaN', 'NaN', 'NaN as text'],
      ['-Infinity', '-Infinity', '-Infinity as text'],
      ['10n', '10', 'bigint as text'],
      ['new Date(0)', '1970-01-01T00:00:00.000Z', 'Date as text'],
      ['new Date(NaN)', 'Invalid Date', 'Date as text'],
      ['/x/g', '/x/g', 'RegExp as text'],
      ['new TextEncoder().encode("hié")', 'hié', 'bytes as text'],
      ['new Uint8Array([255])', '/w==', 'bytes as base64'],
      ['new Float64Array([1.5])', [1.5], 'Float64Array as a list'],
      ['new Hidden()', 'Hidden {}', 'Hidden as text'],
      ['new Point()', { x: 1 }, 'Point as its properties'],
      ['Symbol("s")', 'Symbol(s)', 'symbol as text'],
      ['[undefined]', [null], 'undefined as null'],
      ['cycle', ['<cycle>'], "a cycle as '<cycle>'"],
      ['[Promise.resolve(7)]', ['Promise {}'], 'a promise that was not awaited as text'],
      ['Promise.resolve(77)', 77, ''],
      ['JSON.parse(\'{"__proto__":{"a":1}}\')', JSON.parse('{"__proto__":{"a":1}}'), ''],
      [
        'structuredClone(new Map([["k", new Date(0)]]))',
        { k: '1970-01-01T00:00:00.000Z' },
        'Map as an object, Date as text',
      ],
      [
        '[atob(btoa("x\\u00ff")) === "x\\u00ff", new TextDecoder().decode(new TextEncoder().encode("é😀"))]',
        [true, 'é😀'],
        '',
      ],
    ]
    for (const [code, value, kinds] of rows) {
      const made = await answer(`${setup}return ${code}`)
      expect([code, (made as any).output?.result, messages(made)]).toEqual([
        code,
        value,
        kinds === '' ? [] : [`result has values that JSON lacks: ${kinds}.`],
      ])
    }
  })

  it('says why a result cannot be shown', async () => {
    expect(messages(await answer('return "x".repeat(300_000)'))).toEqual([
      'result cannot be shown: it is 300002 bytes of JSON; at most 262144 are shown. Return or print the parts that matter.',
    ])
    expect(messages(await answer('return { get a() { throw new TypeError("no") } }'))).toEqual([
      'result cannot be shown: TypeError: no. Return or print the parts that matter.',
    ])
    expect(messages(await answer('1 + 1'))).toEqual([
      'The script returned and printed nothing. End it with `return value`.',
    ])
  })

  it('shows a failure with the line of the script', async () => {
    expect(await run('const a = 1\nif (a) throw new RangeError("no")')).toMatchObject({
      exit_code: 1,
      stderr: 'RangeError: no\n    at line 2: if (a) throw new RangeError("no")\n',
    })
    expect((await run('throw { odd: true }')).stderr).toBe('Uncaught {"odd":true}\n')
    expect((await run('setTimeout(() => { throw new Error("late") })\nawait new Promise(() => {})')).stderr).toContain(
      'Error: late',
    )
    expect((await run('import vtcode\nresult = 1')).stderr).toMatch(
      /SyntaxError: .*line 2[\s\S]*For Python, set language: python3/,
    )
    expect((await run('import fs from "node:fs"\nexport const result = 1')).stderr).toMatch(
      /Cannot import 'node:fs'.*language: node/,
    )
  })

  it('lacks files, programs, network and globals of Node', async () => {
    const names = ['process', 'require', 'fetch', 'Buffer', 'WebSocket', 'Worker', 'std', 'os', 'module', '__dirname']
    expect(await result(`return ${JSON.stringify(names)}.filter((name) => name in globalThis)`)).toEqual([])
    expect(
      await result(
        'return Function("return this")() === globalThis && !("constructor" in mcpOrNothing())\nfunction mcpOrNothing() { return typeof mcp === "undefined" ? Object.create(null) : mcp }',
      ),
    ).toBe(true)
  })

  it('keeps nothing of a script for the next one', async () => {
    await run('globalThis.left = 1; Object.prototype.left = 2; Array.prototype.map = () => "broken"')
    expect(await result('return [typeof left, ({}).left, [1].map((x) => x + 1)]')).toEqual(['undefined', null, [2]])
  })
})

describe('unified_exec/code: calls of a script', () => {
  it('calls tools as functions, side by side, and reports them', async () => {
    const made = await run(`const { matches } = await search.grep({ pattern: 'TODO' })
const all = await Promise.all(matches.map(({ file: path }) => file.read({ path })))
return all.map(({ content }) => content.length)`)
    expect(made).toMatchObject({ result: [15, 9], call_count: 3, effects: ['read'] })
    expect(made.calls).toMatchObject([
      { tool: 'unified_search', action: 'grep', ok: true },
      { tool: 'unified_file', action: 'read', ok: true },
      { tool: 'unified_file', action: 'read', ok: true },
    ])
    expect(
      await result("return (await vtcode.call('unified_file', { action: 'read', path: 'a.txt' })).content.length"),
    ).toBe(15)
  })

  it('throws a failed call as an error with code, hint and next', async () => {
    const code = `try { await file.read({ path: 'a.tx' }) } catch (error) {
  return [error instanceof vtcode.CallError, error.code, typeof error.hint, error.next !== undefined, error.message]
}`
    expect(await result(code)).toEqual([
      true,
      'VT_PATH_NOT_FOUND',
      'string',
      expect.any(Boolean),
      expect.stringMatching(/^VT_PATH_NOT_FOUND: /),
    ])
    expect((await run("\nawait file.read({ path: 'none' })")).stderr).toMatch(
      /^VT_PATH_NOT_FOUND: [\s\S]*at line 2: await file.read/,
    )
    expect(await result("return await file.read('a.txt').catch((error) => error.code)")).toMatch(/^VT_INPUT_/)
    expect(await result('return await file.read({ path: 10n }).catch((error) => String(error))')).toMatch(/bigint/)
  })

  it('makes each call with the rights of the session', async () => {
    await using asking = await bootKernel({ mode: 'ask', files: { 'a.txt': 'x' } })
    const code = `const seen = []
for (const make of [() => file.delete({ path: 'a.txt' }), () => exec.run({ command: 'touch made' }), () => exec.code({ language: 'node', code: '1' }), () => vtcode.call('nope')])
  await make().then(() => seen.push('done'), (error) => seen.push(error.code))
return seen`
    const made = await asking.call('unified_exec', { action: 'code', code })
    expect(made).toMatchObject({
      ok: true,
      output: {
        result: ['VT_POLICY_NEEDS_APPROVAL', 'VT_POLICY_NEEDS_APPROVAL', 'VT_POLICY_NEEDS_APPROVAL', 'VT_TOOL_UNKNOWN'],
        effects: [],
      },
    })
    expect(await asking.read('a.txt')).toBe('x')
    await using planning = await bootKernel({ mode: 'plan', files: { 'a.txt': 'x' } })
    expect(
      await planning.call('unified_exec', {
        action: 'code',
        code: "return (await file.read({ path: 'a.txt' })).content",
      }),
    ).toMatchObject({ ok: true, output: { result: 'x' } })
    expect(
      await planning.call('unified_exec', {
        action: 'code',
        code: "return await file.write({ path: 'b', content: '' }).catch((error) => error.code)",
      }),
    ).toMatchObject({ ok: true, output: { result: expect.stringMatching(/^VT_POLICY_/) } })
  })

  it('pauses for the approval of a call, shows its line, and does not count the wait', async () => {
    await using asking = await bootKernel({ mode: 'ask', files: { 'a.txt': 'x' } })
    const questions: string[] = []
    const approve = async ({ question }: { question: string }) => {
      questions.push(question)
      await new Promise((resolve) => setTimeout(resolve, 1500))
      return true
    }
    const code = "const path = 'a.txt'\nawait file.delete({ path })\nreturn 'deleted'"
    const made = await asking.kernel.call('unified_exec', { action: 'code', code, timeout_secs: 1 }, { approve })
    expect(made).toMatchObject({ ok: true, output: { result: 'deleted', effects: ['write'] } })
    expect(questions).toEqual([expect.stringContaining('Called from line 2 of a script: await file.delete({ path })')])
  })

  it('answers tools() with the declarations that unified_search tools ranks first', async () => {
    const found = String(await result("return await tools('search text by regular expression')"))
    expect(found).toMatch(/search\.grep\(input: \{ pattern\?: string;.*\): Promise<\{ matches: /)
    expect(found.split('\n').length).toBeLessThanOrEqual(8)
  })

  it('returns the images of an output that the script returns', async () => {
    const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
    writeFileSync(join(booted.root, 'dot.png'), Buffer.from(png, 'base64'))
    const shown: any = await answer("const dot = await file.read({ path: 'dot.png' })\nreturn { dot }")
    expect(shown.content).toMatchObject([{ type: 'image', mimeType: 'image/png' }])
    const silent: any = await answer("const dot = await file.read({ path: 'dot.png' })\nreturn typeof dot")
    expect(silent.content).toBeUndefined()
  })

  it('reports the progress of each call', async () => {
    const texts: (string | undefined)[] = []
    const onProgress = ({ text }: { text?: string }) => texts.push(text)
    const code = "await file.read({ path: 'a.txt' })\nawait file.read({ path: 'none' }).catch(() => {})"
    await booted.kernel.call('unified_exec', { action: 'code', code }, { onProgress })
    expect(texts).toEqual([
      expect.stringMatching(/^unified_file read: done in \d+ ms\n$/),
      expect.stringMatching(/^unified_file read: VT_PATH_NOT_FOUND in \d+ ms\n$/),
    ])
  })

  it('runs a script for an MCP client without a question, under the name with an underscore too', async () => {
    const server = rawMcp(booted as never, ['mcp'])
    server.send({
      id: 'begin',
      method: 'initialize',
      params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
    })
    await server.line(({ id }) => id === 'begin')
    server.send({ method: 'notifications/initialized' })
    const code = "return (await file.read({ path: 'a.txt' })).content.length"
    for (const params of [
      { name: 'unified_exec', arguments: { action: 'code', code } },
      { name: 'unified_exec_code', arguments: { code } },
    ])
      expect((await server.call(params)).result?.content[0]?.text).toMatch(/^\[result\] 15\nexit 0/)
    await server.end()
  })

  it('makes at most the permitted number of calls', async () => {
    const made = await run(`let count = 0
try { for (;;) { await file.read({ path: 'a.txt' }); count++ } } catch (error) { return [count, error.code] }`)
    expect(made.result).toEqual([300, 'VT_EXEC_LIMIT'])
    expect(made.calls.length).toBe(100)
    const burst = `const all = await Promise.allSettled(Array.from({ length: ${rounds(5_000, 100_000)} }, () => file.read({ path: 'a.txt' })))
return all.filter(({ status }) => status === 'fulfilled').length`
    expect((await run(burst, { timeout_secs: 120 })).result).toBe(300)
  }, 120_000)

  it('ends a recursion of scripts at the depth of calls', async () => {
    const code = `const code = input
try { const { result, stderr } = await exec.code({ code, input: code }); return result ?? stderr } catch (error) { return error.code }`
    expect((await run(code, { input: code })).result).toBe('VT_CALL_DEPTH')
  })

  it('waits for calls that a script did not await, and runs nothing after its end', async () => {
    const made = await answer(
      "void file.write({ path: 'late.txt', content: 'x' }).then(() => file.write({ path: 'later.txt', content: 'x' }))\nsetTimeout(() => file.write({ path: 'timer.txt', content: 'x' }), 5)\nreturn 1",
    )
    expect(messages(made)).toEqual(['The script ended before 1 call: await each call.'])
    expect(await booted.read('late.txt')).toBe('x')
    await new Promise((resolve) => setTimeout(resolve, 100))
    expect(
      await result("return [await search.list({ name_pattern: '{later,timer}.txt' })].flatMap(({ items }) => items)"),
    ).toEqual([])
  })

  it('offers the tools of a server under names that the language can say', async () => {
    const inputSchema = { type: 'object', properties: { text: { type: 'string' } } }
    const names = ['constructor', '__proto__', 'two-words', 'delete', '9lives']
    writeFileSync(
      join(booted.home, 'tools.json'),
      JSON.stringify(names.map((name) => ({ name, description: `The tool ${name}.`, inputSchema }))),
    )
    const automation = {
      full_auto: { enabled: true, allowed_tools: ['read', 'write', 'exec', 'net', 'ask', 'mcp__*'] },
    }
    const odd = { command: process.execPath, args: [fixture, booted.home, ''], startup_timeout_secs: 20 }
    await using served = await bootKernel({
      mode: 'full-auto',
      config: { automation, mcp: { servers: { odd } } } as Config,
    })
    const code = `const made = []
for (const name of Object.keys(mcp.odd)) made.push([name, typeof await mcp.odd[name]({ text: 'x' })])
return [made.sort(), typeof mcp.constructor, typeof mcp.odd.toString, await tools('the tool constructor')]`
    const answer: any = await served.call('unified_exec', { action: 'code', code })
    const [made, above, inherited, declared] = answer.output?.result ?? [answer]
    expect(made).toEqual(['_9lives', '__proto__', 'constructor', 'delete', 'two_words'].map((name) => [name, 'object']))
    expect([above, inherited]).toEqual(['undefined', 'undefined'])
    expect(declared).toContain('mcp.odd.constructor(input: { text?: string')
  })
})

describe('unified_exec/code: hostile scripts', () => {
  it('ends an endless loop at its limit, and the next script runs', async () => {
    for (const code of [
      'for (;;);',
      'for (;;) await 0',
      'await new Promise((resolve) => setTimeout(resolve, 60_000))',
    ]) {
      const made = await answer(`console.log('before'); ${code}`, { timeout_secs: 3 })
      expect([code, made]).toMatchObject([code, { output: { timed_out: true, exit_code: null, stdout: 'before\n' } }])
      expect(messages(made)[0]).toMatch(/^The script had not ended/)
    }
    expect(await result('return 1')).toBe(1)
  })

  it('ends a script at the limits of its memory and its stack', async () => {
    // On a busy machine, the usual time would end first.
    const how = { timeout_secs: 600 }
    expect(await result('const all = []; for (;;) all.push(new Uint8Array(1_000_000))', how)).toMatch(/out of memory/)
    expect(await result('const f = () => f() + 1; return f()', how)).toMatch(/stack overflow|call stack/i)
    expect(await result('return 1')).toBe(1)
  })

  it('reports a promise that nothing can settle', async () => {
    expect((await run('await new Promise(() => {})')).stderr).toMatch(/An `await` never ended/)
  })

  it('counts what is printed over the limit', async () => {
    const made = await answer('for (let i = 0; i < 3000; i++) console.log("x".repeat(1023))')
    expect(messages(made)).toEqual(['2023424 characters that were printed after the first 1048576 are lost.'])
    expect((made as any).text.length).toBeLessThan(20_000)
    expect((await run('console.log("x".repeat(9000))', { max_output_tokens: 100 })).stdout).toMatch(
      /^x{200}\n… 8601 characters left out …\nx{199}\n$/,
    )
  })

  it('accepts a script of one megabyte and refuses a longer one', async () => {
    expect(await result(`/*${'x'.repeat(1024 * 1024 - 20)}*/ return 1`)).toBe(1)
    expect(await answer(`/*${'x'.repeat(1024 * 1024)}*/`)).toMatchObject({
      ok: false,
      error: { code: 'VT_INPUT_TOO_LARGE' },
    })
  })

  it('ends a script with its calls when it is cancelled in the middle of a change', async () => {
    const cancel = new AbortController()
    const code = `for (let at = 0; ; at++) await file.write({ path: 'made/' + at + '.txt', content: 'whole '.repeat(1000) })`
    const running = booted.kernel.call(
      'unified_exec',
      { action: 'code', code },
      { signal: cancel.signal, onProgress: () => cancel.abort() },
    )
    expect(await running).toMatchObject({ ok: false, error: { code: 'VT_CALL_INTERRUPTED' } })
    const { items } = (await output(booted, { action: 'code', code: "return (await search.list({ path: 'made' }))" }))
      .result as { items: { path: string }[] }
    expect(items.length).toBeGreaterThan(0)
    for (const { path } of items) expect((await booted.read(path))?.length).toBe(6000)
    const count = items.length
    await new Promise((resolve) => setTimeout(resolve, 100))
    expect((await result("return (await search.list({ path: 'made' })).items.length")) as number).toBe(count)
  })

  it('refuses a working folder, which a script does not have', async () => {
    mkdirSync(join(booted.root, 'sub'), { recursive: true })
    writeFileSync(join(booted.root, 'sub/c.txt'), 'c')
    expect(await answer('return 1', { workdir: 'sub' })).toMatchObject({
      ok: false,
      error: { code: 'VT_INPUT_INVALID' },
    })
  })
})

describe('unified_exec/code: the store', () => {
  it('keeps values for later scripts of the session', async () => {
    await run("await store.set('seen', { list: [1, 'é\\u0000'] }); await store.set('other', 2)")
    expect(
      await result(
        "return [await store.get('seen'), await store.list(), await store.delete('other'), await store.list('s'), await store.get('none')]",
      ),
    ).toEqual([{ list: [1, 'é\u0000'] }, ['other', 'seen'], true, ['seen'], null])
    const other = await booted.kernel.call(
      'unified_exec',
      { action: 'code', code: 'return await store.list()' },
      { session: 'other' },
    )
    expect(other).toMatchObject({ output: { result: [] } })
  })

  it('refuses a value when it is full and keeps the old one', async () => {
    const code = `await store.set('big', 'x'.repeat(5_000_000))
try { await store.set('more', 'x'.repeat(4_000_000)) } catch (error) {
  return [error.code, (await store.get('big')).length, await store.list('m')]
}`
    expect(await result(code)).toEqual(['VT_EXEC_STORE', 5_000_000, []])
    await run("await store.delete('big')")
  })
})
