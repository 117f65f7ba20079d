import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bootKernel, matches, tempWorkspace, type Booted, type TempWorkspace } from 'vtcode/test'

/** Handlers by the name of their slot: bodies of `(call, context) => …`. */
const bodies: Record<string, string> = {
  throws: "throw new Error('boom\\nsecond line')",
  throws_nothing: 'throw undefined',
  rejects: "return Promise.reject(new Error('later'))",
  declines: 'return undefined',
  hangs: 'return new Promise(() => {})',
  deaf: 'for (;;) await new Promise((resolve) => setTimeout(resolve, 50))',
  text: "return 'text'",
  nothing: 'return null',
  no_output: 'return { ok: true }',
  no_code: 'return { ok: false, error: {} }',
  foreign_code: "return { ok: false, error: { code: 'SOMEBODY_ELSES', message: 'x' } }",
  cycle: 'const a = {}; a.a = a; return { ok: true, output: a }',
  function_inside: 'return { ok: true, output: { f: () => 1 } }',
  getter: "return { ok: true, output: { get x() { throw new Error('gotcha') } } }",
  thenable: 'return { ok: true, output: { then() {} } }',
  proxy: "return { ok: true, output: new Proxy({}, { ownKeys() { throw new Error('gotcha') } }) }",
  big: "return { ok: true, output: { text: 'x'.repeat(33 * 1024 * 1024) } }",
  deep: 'let a = {}; for (let i = 0; i < 100_000; i++) a = { a }; return { ok: true, output: a }',
  bigint: 'return { ok: true, output: { x: 1n } }',
  timer: "setTimeout(() => { throw new Error('from a timer') }, 5); return { ok: true, output: {} }",
  late: "setTimeout(() => void Promise.reject(new Error('from a promise')), 5); return { ok: true, output: {} }",
  mutates: "call.input.list.push('more'); return { ok: true, output: {} }",
  good: 'return { ok: true, output: { fine: true } }',
}
let plugins: TempWorkspace
let booted: Booted
beforeAll(async () => {
  const files = Object.entries(bodies).flatMap(([name, body]) => [
    [
      `${name}.yaml`,
      `name: ${name}\ndescription: Does wrong.\neffects: [read]\ntimeout_secs: ${['hangs', 'deaf'].includes(name) ? 1 : 60}\ninput: { properties: { list: { type: array, default: [] } } }\nmodule: ./${name}.mjs\n`,
    ],
    [`${name}.mjs`, `export default ${name === 'deaf' ? 'async ' : ''}(call, context) => { ${body} }\n`],
  ])
  plugins = await tempWorkspace(Object.fromEntries(files) as Record<string, string>)
  booted = await bootKernel({ manifests: [plugins.root] })
})
afterAll(async () => {
  await booted[Symbol.asyncDispose]()
  await plugins[Symbol.asyncDispose]()
})

describe('handler that misbehaves', () => {
  it.each([
    ['throws', 'VT_CALL_FAILED', /throws.*boom/],
    ['throws_nothing', 'VT_CALL_FAILED', /./],
    ['rejects', 'VT_CALL_FAILED', /later/],
    ['declines', 'VT_ACTION_DECLINED', /declines/],
    ['hangs', 'VT_CALL_TIMEOUT', /1 s/],
    ['deaf', 'VT_CALL_TIMEOUT', /1 s/],
    ['text', 'VT_CALL_BAD_RESULT', /./],
    ['nothing', 'VT_CALL_BAD_RESULT', /./],
    ['no_output', 'VT_CALL_BAD_RESULT', /output/],
    ['no_code', 'VT_CALL_BAD_RESULT', /code/],
    ['foreign_code', 'VT_CALL_FAILED', /SOMEBODY_ELSES/],
    ['cycle', 'VT_CALL_BAD_RESULT', /./],
    ['function_inside', 'VT_CALL_BAD_RESULT', /./],
    ['getter', 'VT_CALL_BAD_RESULT', /./],
    ['proxy', 'VT_CALL_BAD_RESULT', /./],
    ['thenable', 'VT_CALL_BAD_RESULT', /./],
    ['big', 'VT_CALL_BAD_RESULT', /big returned more than 32 MiB\./],
    ['deep', 'VT_CALL_BAD_RESULT', /./],
    ['bigint', 'VT_CALL_BAD_RESULT', /./],
    ['mutates', 'VT_CALL_FAILED', /./],
  ])('runs a bad handler (%s), answers %s and keeps other tools working', async (tool, code, message) => {
    const result = await booted.call(tool)
    matches(result, { ok: false, error: { code } })
    if (!result.ok) {
      expect(result.error.message).toMatch(message)
      expect(result.error.message).not.toMatch(/second line|\n|node:internal|file:\/\//)
    }
    matches(await booted.call('good'), { ok: true, output: { fine: true } })
  })

  it.each([
    ['timer', 'from a timer'],
    ['late', 'from a promise'],
  ])('reports a failure after the answer (%s) by file, and the program survives', async (tool, reason) => {
    matches(await booted.call(tool), { ok: true })
    const found = () => booted.kernel.diagnostics().filter(({ message }) => message.includes(reason))
    await expect
      .poll(() => found().map(({ code, files }) => [code, ...files.map((file) => file.split('/').at(-1))]))
      .toEqual([['VT_PLUGIN_CRASHED', `${tool}.yaml`]])
    matches(await booted.call('good'), { ok: true })
  })

  it('answers every other call among a thousand mixed calls', async () => {
    const quick = Object.keys(bodies).filter((name) => !['hangs', 'deaf', 'big', 'deep'].includes(name))
    const calls = Array.from({ length: 1000 }, (_, index) => quick[index % quick.length]!)
    const results = await Promise.all(calls.map((tool) => booted.call(tool)))
    const good = results.filter((_result, index) => calls[index] === 'good')
    expect(results).toHaveLength(1000)
    expect(good.every((result) => result.ok)).toBe(true)
  })
})

describe('strict sandbox', () => {
  it('refuses a plugin that starts programs of its own, even if approved, and allows one that only reads', async () => {
    await using own = await tempWorkspace({
      'touch.yaml':
        'name: touch_it\ndescription: Starts a program.\neffects: [exec]\nrun: [touch, touched]\ncwd: workspace\n',
      'look.yaml': 'name: look\ndescription: Reads.\neffects: [read]\nmodule: ./look.mjs\n',
      'look.mjs': 'export default () => ({ ok: true, output: {} })\n',
    })
    await using booted = await bootKernel({ manifests: [own.root] })
    const strict = { sandbox: 'strict', approve: () => true } as const
    const { error }: any = await booted.kernel.call('touch_it', {}, strict)
    expect([error.code, error.message, error.hint]).toEqual([
      'VT_PLUGIN_REQUIRES',
      expect.stringContaining('outside of the sandbox'),
      expect.stringContaining('unified_exec'),
    ])
    expect(await booted.read('touched')).toBe(undefined)
    expect(await booted.kernel.call('look', {}, strict)).toMatchObject({ ok: true })
    expect(await booted.kernel.call('touch_it', {}, { approve: () => true })).toMatchObject({ ok: true })
    expect(await booted.read('touched')).toBe('')
  })
})
