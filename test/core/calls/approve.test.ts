import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bootKernel, tempWorkspace, type Booted, type TempWorkspace } from 'vtcode/test'
import type { Approval } from 'vtcode'

let plugins: TempWorkspace
let booted: Booted
beforeAll(async () => {
  plugins = await tempWorkspace({
    'say.yaml':
      'action: demo/say\neffects: [read]\ndescription: Says it.\nmodule: ./say.js\ninput: { properties: { text: { type: string, maxLength: 5 } } }\n',
    'say.js': 'export default ({ input }) => ({ ok: true, output: { said: input.text } })\n',
    'speak.yaml':
      "name: speak\ndescription: Says it too.\nalias: { to: demo/say, rename: { words: text }, output: { spoken: '{{said}}' } }\ninput: { properties: { words: { type: string } } }\n",
    'swap.yaml': 'name: swap\nkind: policy\nslots: [demo/*]\nmodule: ./swap.js\n',
    'swap.js': `export default ({ input: { text } }) => {
      if (text === 'a') return { deny: 'b instead.', instead: { text: 'b' } }
      if (text === 'wrong') return undefined
      if (text === 'x') return { deny: 'longer.', instead: { text: 'too long' } }
      if (text === 'loop') return { deny: 'Round and round.', instead: { text: 'loop' } }
      if (text === 'ask') return { ask: 'May it?', lasting: { covers: 'saying ask', keep: (scope) => { globalThis.kept = scope } } }
      if (text === 'never') return { deny: 'Never.' }
    }\n`,
    'shout.yaml':
      'name: shout\ndescription: Repeats words.\nrun: [echo, "{words}"]\ninput: { properties: { words: { type: string } } }\n',
    'later.yaml': 'name: later\nkind: policy\nslots: [demo/*]\norder: 50\nmodule: ./later.js\n',
    'later.js': `export default (call, { explain }) => (explain?.({ seen: call.input.text }), call.input.text === 'ask' || call.input.text === 'never' ? { ask: 'Later too.' } : undefined)\n`,
  })
  booted = await bootKernel({ manifests: [plugins.root] })
})
afterAll(async () => {
  await booted[Symbol.asyncDispose]()
  await plugins[Symbol.asyncDispose]()
})
const say = (text: string, options = {}) => booted.call('demo', { action: 'say', text }, options)

describe('policy that reissues a call', () => {
  it('runs the reissued call through all policies and adds a notice', async () => {
    expect(await say('a')).toMatchObject({
      ok: true,
      output: { said: 'b' },
      notices: [{ code: 'VT_CALL_REISSUED', message: expect.stringContaining('{"text":"b"}') }],
    })
  })
  it('refuses a reissued input that the slot refuses', async () => {
    expect(await say('x')).toMatchObject({ ok: false, error: { code: 'VT_INPUT_INVALID' } })
  })
  it('denies a call that a policy reissues a second time', async () => {
    expect(await say('loop')).toMatchObject({
      ok: false,
      error: { code: 'VT_POLICY_DENIED', message: 'Round and round.' },
    })
  })
})

describe('approval question', () => {
  let asks = 0
  const ask = async (
    answer: unknown,
  ): Promise<{ result: Awaited<ReturnType<typeof say>>; kept: unknown; asked: Approval[] }> => {
    const asked: Approval[] = []
    const state = globalThis as { kept?: unknown }
    delete state.kept
    const result = await say('ask', {
      session: `s${(asks += 1)}`,
      approve: (request: Approval) => (asked.push(request), answer),
    })
    return { result, kept: state.kept, asked }
  }
  it('names what a longer approval covers, and passes the chosen scope to the policy', async () => {
    const once = await ask(true)
    expect(once.asked).toMatchObject([{ reasons: ['May it?'], covers: 'saying ask' }])
    expect([once.result.ok, once.kept]).toEqual([true, 'once'])
    expect((await ask({ decision: 'allow', scope: 'broad' })).kept).toBe('once')
    for (const scope of ['session', 'always']) expect((await ask({ decision: 'allow', scope })).kept).toBe(scope)
  })
  it('denies the call on a refusal, a missing answer or an invalid answer', async () => {
    for (const answer of [
      false,
      { decision: 'deny', scope: 'always' },
      undefined,
      { decision: 'cancel' },
      {},
      'yes',
      null,
    ]) {
      const { result, kept } = await ask(answer)
      expect([answer, result.ok, kept]).toEqual([answer, false, undefined])
    }
    expect((await ask({ decision: 'deny', followup: 'use b' })).result).toMatchObject({
      error: { hint: expect.stringContaining('use b') },
    })
  })
})

describe('kernel.explain', () => {
  it('asks every policy, also after a denial, and runs nothing', async () => {
    const told = await booted.kernel.explain('demo', { action: 'say', text: 'never' })
    expect(told).toMatchObject({
      verdict: 'deny',
      decided_by: expect.stringMatching(/:swap$/),
      reason: 'Never.',
      call: { slot: 'demo/say', input: { text: 'never' } },
    })
    expect(told.chain.find(({ policy }) => policy.endsWith(':later'))).toMatchObject({
      verdict: 'ask',
      notes: [{ seen: 'never' }],
    })
    expect(await booted.kernel.explain('demo', { action: 'say', text: 'q' })).toMatchObject({ verdict: 'run' })
    expect(await booted.kernel.explain('nobody', {})).toMatchObject({ verdict: 'refused', chain: [] })
  })
  it('shows the program that a command tool would start', async () => {
    expect(await booted.kernel.explain('shout', { words: 'a b' })).toMatchObject({
      would: { argv: ['echo', 'a b'] },
    })
    expect(await booted.kernel.explain('demo', { action: 'say', text: 'q' })).not.toHaveProperty('would')
  })
})
