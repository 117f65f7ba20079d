import { describe, expect, it } from 'vitest'
import { bootKernel, matches, tempWorkspace, type Booted, type TempWorkspace } from 'vtcode/test'
import type { Result, Timeouts } from 'vtcode'
import { fc, runs } from '../../support/property.js'

interface Bench extends AsyncDisposable {
  booted: Booted
  plugins: TempWorkspace
}

/** A kernel with the slot `echo` and the given policies and compactors, each the body of its function. */
async function bench(
  kind: 'policy' | 'compactor',
  bodies: Record<string, string>,
  more = '',
  waits?: Partial<Timeouts>,
): Promise<Bench> {
  const argument = kind === 'policy' ? 'call' : 'result, call'
  const files = Object.entries(bodies).flatMap(([name, body], index) => [
    [`${name}.yaml`, `name: ${name}\nkind: ${kind}\norder: ${index}\n${more}module: ./${name}.js\n`],
    [`${name}.js`, `export default async (${argument}, context) => { ${body} }\n`],
  ])
  const plugins = await tempWorkspace({
    'echo.yaml':
      'name: echo\ndescription: Answers.\neffects: [read]\nerrors: { ECHO_FAIL: { message: It fails. } }\ninput: { properties: { fail: { type: boolean }, list: { type: array, default: [1] } } }\nmodule: ./echo.js\n',
    'echo.js':
      "export default ({ input }) => input.fail ? { ok: false, error: { code: 'ECHO_FAIL', message: 'It fails.' } } : { ok: true, output: { a: 1 }, text: 'long text' }\n",
    ...(Object.fromEntries(files) as Record<string, string>),
  })
  // Without the memory of refusals, every call is judged again.
  const booted = await bootKernel({
    manifests: [plugins.root],
    config: { manifests: ['!builtin:repeats'] },
    ...(waits && { waits }),
  })
  return {
    booted,
    plugins,
    async [Symbol.asyncDispose]() {
      await booted[Symbol.asyncDispose]()
      await plugins[Symbol.asyncDispose]()
    },
  }
}

const word = (result: Result): string =>
  result.ok
    ? 'run'
    : ({ VT_POLICY_DENIED: 'deny', VT_POLICY_NEEDS_APPROVAL: 'ask' }[result.error.code] ?? result.error.code)

describe('verdicts of policies', () => {
  it('ranks deny over ask over none in any order and reports the first reason of the strictest verdict', async () => {
    const words = ['none', 'ask', 'deny']
    const say = (at: number): string =>
      `return { none: undefined, ask: { ask: 'Sure?' }, deny: { deny: 'No.' } }[call.input.list[${at}]]`
    await using made = await bench('policy', { p1: say(0), p2: say(1), p3: say(2) })
    for (const [a, b, c] of words.flatMap((one) =>
      words.flatMap((two) => words.map((three) => [one, two, three] as const)),
    )) {
      const worst = [a, b, c].includes('deny') ? 'deny' : [a, b, c].includes('ask') ? 'ask' : 'run'
      expect([a, b, c, word(await made.booted.call('echo', { list: [a, b, c] }))]).toEqual([a, b, c, worst])
      expect([a, b, c, word(await made.booted.call('echo', { list: [a, b, c] }, { approve: () => true }))]).toEqual([
        a,
        b,
        c,
        worst === 'ask' ? 'run' : worst,
      ])
    }
  })

  it('copies hint, next and details of a verdict into the error', async () => {
    await using made = await bench('policy', {
      p: "return { deny: 'No.', hint: 'Try else.', next: { tool: 'echo', input: {} }, details: { why: 1 } }",
    })
    matches(await made.booted.call('echo'), {
      ok: false,
      error: {
        message: 'No.',
        hint: 're:.*Try else\\.',
        next: { tool: 'echo' },
        details: { why: 1, not_applied: true },
      },
    })
  })

  it.each([
    ['throws', "throw new Error('broken')"],
    ['answers text', "return 'yes'"],
    ['answers true', 'return true'],
    ['answers null', 'return null'],
    ['answers an empty object', 'return {}'],
    ['says allow', "return { allow: 'all' }"],
    ['denies with a number', 'return { deny: 1 }'],
    ['changes the call', 'call.input.list.push(2)'],
    ['replaces the mode', "call.mode = 'full-auto'"],
  ])('denies the call when a policy %s', async (_, body) => {
    await using made = await bench('policy', { p: body })
    expect(word(await made.booted.call('echo', {}, { approve: () => true }))).toBe('deny')
  })

  it('denies the call when a policy hangs past its time limit', async () => {
    await using made = await bench('policy', { p: 'await new Promise(() => {})' }, '', { policy: 200 })
    expect(word(await made.booted.call('echo'))).toBe('deny')
  })

  it('denies the call when the module of a policy is broken, and reports code and file', async () => {
    await using plugins = await tempWorkspace({
      'p.yaml': 'name: p\nkind: policy\nmodule: ./p.js\n',
      'p.js': "throw new Error('x')\n",
    })
    await using booted = await bootKernel({ files: { a: '' }, manifests: [plugins.root] })
    expect(word(await booted.call('unified_file', { action: 'read', path: 'a' }))).toBe('deny')
    expect(booted.kernel.diagnostics().map(({ code, files }) => [code, files[0]!.split('/').at(-1)])).toContainEqual([
      'VT_PLUGIN_IMPORT',
      'p.yaml',
    ])
  })

  it('skips policies for slots and effects that they do not cover', async () => {
    await using slots = await bench('policy', { p: "return { deny: 'No.' }" }, "slots: ['other/*']\n")
    await using effects = await bench('policy', { p: "return { deny: 'No.' }" }, 'effects: [write]\n')
    expect(word(await slots.booted.call('echo'))).toBe('run')
    expect(word(await effects.booted.call('echo'))).toBe('run')
  })
})

describe('compactors', () => {
  it.each([
    ['throws', "throw new Error('broken')"],
    ['hangs', 'await new Promise(() => {})'],
    ['grows the result', "return { ...result, text: 'x'.repeat(4000) }"],
    [
      'turns success into failure',
      "return { ok: false, error: { code: 'VT_CALL_FAILED', message: '', hint: '', retryable: false } }",
    ],
    ['answers nothing', 'return undefined'],
    ['drops the output', 'return { ok: true }'],
    ['changes the result in place', 'result.ok = false; result.output = undefined; return result'],
  ])('skips a compactor that %s and names it in a notice', async (_, body) => {
    await using made = await bench('compactor', { shrink: body })
    const result = await made.booted.call('echo')
    matches(result, {
      ok: true,
      output: { a: 1 },
      text: 'long text',
      notices: [{ code: 'VT_COMPACT_IGNORED', message: 're:.*shrink.*' }],
    })
  })

  it('runs compactors on failures too, and keeps the error code', async () => {
    await using made = await bench('compactor', {
      shorter: "return result.ok ? result : { ...result, error: { ...result.error, message: 'Short.' } }",
      other: "return result.ok ? result : { ...result, error: { ...result.error, code: 'VT_CALL_ABORTED' } }",
    })
    matches(await made.booted.call('echo', { fail: true }), {
      ok: false,
      error: { code: 'ECHO_FAIL', message: 'Short.' },
      notices: [{ code: 'VT_COMPACT_IGNORED', message: 're:.*other.*' }],
    })
  })

  it('runs compactors in their declared order, each on the result of the one before', async () => {
    await using made = await bench('compactor', {
      one: "return { ...result, text: result.text + '1' }",
      two: "return { ...result, text: result.text + '2' }",
    })
    matches(await made.booted.call('echo'), { ok: true, text: 'long text12' })
  })
})

describe('policies of a call', () => {
  it('applies the policies to every spelling of a tool name', async () => {
    await using made = await bench('policy', { p: "if (call.slot === 'echo') return { deny: 'No.' }" })
    const spellings = ['echo', ' echo ', 'Echo', 'functions.echo', 'tools.echo', 'mcp__vtcode__echo', '"echo"']
    for (const tool of spellings) expect([tool, word(await made.booted.call(tool))]).toEqual([tool, 'deny'])
    const inputs = fc.oneof(fc.json(), fc.jsonValue(), fc.object())
    await fc.assert(
      fc.asyncProperty(inputs, async (input) => {
        expect((await made.booted.call('echo', input)).ok).toBe(false)
      }),
      { numRuns: runs(200) },
    )
  })
})

describe('built-in policy', () => {
  it("gives the user's settings the right to remove a built-in policy", async () => {
    await using booted = await bootKernel({
      mode: 'plan',
      files: { a: '' },
      config: { manifests: ['!builtin:permission'] },
    })
    expect(word(await booted.call('unified_file', { action: 'read', path: 'a' }))).toBe('run')
    expect(booted.kernel.inspection.contributions().find(({ id }) => id === 'builtin:permission')).toMatchObject({
      state: 'inactive',
    })
  })
})

describe('built-in compactors', () => {
  it('gives the place of each built-in compactor to one that a manifest puts there', async () => {
    const order = { hook_results: -60, response_format: -50, redact: -40, spool: 50, repeats: 90, record: 100 }
    const files = Object.fromEntries(
      Object.entries(order).flatMap(([name, at]) => [
        [`${name}.yaml`, `name: my_${name}\nkind: compactor\norder: ${at}\ndescription: Ours.\nmodule: ./${name}.js\n`],
        [
          `${name}.js`,
          `export default (result) => ({ ...result, notices: [...(result.notices ?? []), { code: 'MINE', message: '${name}' }] })\n`,
        ],
      ]),
    )
    await using mine = await tempWorkspace(files)
    const away = Object.keys(order).map((name) => `!builtin:${name}`)
    await using booted = await bootKernel({
      files: { 'long.txt': `AKIA${'ABCD1234'.repeat(2)} ${'x'.repeat(200)}\n`.repeat(100) },
      manifests: [mine.root],
      config: { manifests: away },
    })
    const result = await booted.call('unified_search', { action: 'grep', pattern: 'AKIA' })
    expect(result.notices?.filter(({ code }) => code === 'MINE').map(({ message }) => message)).toEqual(
      Object.keys(order),
    )
    // No built-in compactor runs: secrets stay, and no text is spooled, recorded or left out.
    expect(JSON.stringify(result)).toContain('AKIAABCD1234')
    expect(result.ok && result.text!.length).toBeGreaterThan(8192)
    await booted.kernel.endSession('main')
    expect(await booted.read('.vtcode/sessions/main/calls.jsonl')).toBeUndefined()
    for (const name of Object.keys(order)) {
      await using one = await bootKernel({
        manifests: [{ from: mine.root, only: [`*:my_${name}`] }],
        files: { a: 'x' },
        config: { manifests: [`!builtin:${name}`] },
      })
      const { notices } = await one.call('unified_file', { action: 'read', path: 'a' })
      expect([name, notices]).toEqual([name, [{ code: 'MINE', message: name }]])
      expect(one.kernel.inspection.contributions().find(({ id }) => id === `builtin:${name}`)).toMatchObject({
        state: 'inactive',
      })
    }
  })
})
