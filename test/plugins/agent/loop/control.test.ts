import { mkdirSync, readFileSync, rmdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { createAgent } from 'vtcode/agent'
import { describe, expect, it } from 'vitest'
import { startDeadline } from '../../../../build/core/system/index.js'
import { items, scene } from '../../../support/inside.js'
import { checkLog, checkMessages } from '../../../support/invariants.js'
import { call } from '../../../support/peer.js'

const write = (path: string) => call('unified_file', { action: 'write', path, content: 'x' })
const started = (type: string) => (event: any) => event.type === 'item.started' && event.item.type === type

describe('control of a running agent', () => {
  it('ends the open turn on steer and runs the new input before all queued ones', async () => {
    const s = await scene([
      { content: 'a long story '.repeat(300), how: { latency: 20, chunkSize: 10 } },
      { content: 'something else' },
      { content: 'the rest' },
    ])
    const events: any[] = []
    const agent = await createAgent(s.booted.kernel, {
      env: {},
      onEvent: (event) => {
        events.push(event)
        if (events.filter(started('agent_message')).length === 1 && started('agent_message')(event))
          void agent.followUp('and then the rest').then(() => agent.steer('no, something else'))
      },
    })
    expect(await agent.run('tell me a story')).toMatchObject({
      outcome_code: 'success',
      text: 'the rest',
      num_turns: 3,
    })
    await agent.close()
    expect(s.peer.bodies.map(({ messages }) => messages.at(-1).content)).toEqual([
      'tell me a story',
      'no, something else',
      'and then the rest',
    ])
    expect(
      events
        .filter(({ type }) => type.startsWith('turn.') && type !== 'turn.started')
        .map(({ type, code }) => code ?? type),
    ).toEqual(['VT_CANCELLED', 'turn.completed', 'turn.completed'])
    checkLog(events)
    for (const { messages } of s.peer.bodies) checkMessages(messages)
  })
  it('pauses before the next request until resumed and can be stopped meanwhile', async () => {
    const s = await scene([{ toolCalls: [call('unified_search', { action: 'list' })] }, { content: 'done' }])
    let held = false
    const agent = await createAgent(s.booted.kernel, {
      env: {},
      onEvent: (event) => {
        if (!started('tool_invocation')(event)) return
        agent.pause()
        held = true
      },
    })
    const run = agent.run('go')
    // The first request precedes the call, and only the call pauses the next request.
    await expect.poll(() => held).toBe(true)
    await new Promise((resolve) => setTimeout(resolve, 300))
    expect(s.peer.asked).toHaveLength(1)
    agent.resume()
    expect(await run).toMatchObject({ text: 'done' })
    agent.pause()
    using limit = startDeadline(100)
    expect(await agent.run('more', { signal: limit.signal })).toMatchObject({ outcome_code: 'cancelled' })
    await agent.close()
  })
})

describe('answers to an approval question', () => {
  const asked = async (
    answer: (path: string) => any,
    script = [
      { toolCalls: [write('a'), write('b'), call('unified_search', { action: 'list' })] },
      { content: 'ok' },
      { content: 'ok' },
    ],
  ) => {
    const s = await scene(script, { boot: { mode: 'ask' } })
    const outcome = await s.run('go', {
      providers: { approval: { approve: async ({ call }) => answer((call.input as any).path) } },
    })
    checkLog(s.events)
    for (const { messages } of s.peer.bodies) checkMessages(messages)
    return {
      s,
      outcome,
      outcomes: items(s.events, 'tool_invocation').map(({ outcome }) => outcome),
      resolved: s.events.filter(({ type }) => type === 'permission.resolved') as any[],
    }
  }
  it('cancels the rest of a step on request, and the model learns that and continues', async () => {
    const { s, outcomes, resolved } = await asked(() => ({ decision: 'cancel' }))
    expect(outcomes).toEqual(['permission_cancelled', 'cancelled', 'cancelled'])
    expect(resolved.map(({ decision }) => decision)).toEqual(['cancelled'])
    expect([await s.booted.read('a'), await s.booted.read('b'), s.peer.asked.length]).toEqual([undefined, undefined, 3])
    expect(s.peer.bodies[1].messages.at(-1).content).toContain(
      'VT_CALL_ABORTED: The user cancelled the rest of this step',
    )
  })
  it('accepts an instruction instead of a yes and a duration of the approval', async () => {
    const { s, outcomes, resolved } = await asked((path) =>
      path === 'a' ? { decision: 'deny', followup: 'Use b.' } : { decision: 'allow', scope: 'session' },
    )
    expect(outcomes).toEqual(['followup', 'success', 'success'])
    expect(resolved.map(({ decision, scope }) => [decision, scope])).toEqual([
      ['followup', undefined],
      ['allow', 'session'],
    ])
    expect(s.peer.bodies[1].messages.at(-3).content).toContain('Use b.')
  })
  it('excludes the wait for an approval from the time limit of calls', async () => {
    const s = await scene([{ toolCalls: [write('a')] }, { content: 'ok' }], { boot: { mode: 'ask' } })
    let now = Date.now()
    const clock = { now: () => now, sleep: async () => {} }
    await s.run('go', { providers: { clock, approval: { approve: async () => ((now += 3_600_000), true) } } })
    expect((s.events.find(({ type }) => type === 'turn.completed') as any).limits.wall_ms).toBe(0)
    expect(s.events.find(({ type }) => type === 'permission.resolved')).toMatchObject({ wait_ms: 3_600_000 })
  })
})

it('reports a call that a lifecycle hook denies as denied by the hook', async () => {
  const hooks = { PreToolUse: [{ matcher: 'unified_file', hooks: [{ command: 'echo not today >&2; exit 2' }] }] }
  const s = await scene([{ toolCalls: [write('a')] }, { content: 'ok' }], { boot: { config: { hooks } as never } })
  await s.run()
  expect(items(s.events, 'tool_invocation')).toMatchObject([{ outcome: 'hook_denied' }])
})

it('counts the earlier cost of a session in the budget and in its record', async () => {
  const usage = { prompt_tokens: 1000, completion_tokens: 1000 }
  const s = await scene([{ content: 'one', usage }, { content: 'never' }], {
    provider: { cost: { input: 100, output: 500 } },
  })
  const first = await s.run('go', { limits: { max_budget_usd: 0.65 } })
  expect(first).toMatchObject({ outcome_code: 'success', total_cost_usd: 0.6 })
  expect(JSON.parse((await s.booted.read(`.vtcode/sessions/${first.session_id}/manifest.json`))!)).toMatchObject({
    total_cost_usd: 0.6,
    status: 'completed',
  })
  expect(await s.run('x'.repeat(4000), { limits: { max_budget_usd: 0.65 }, resume: first.session_id })).toMatchObject({
    outcome_code: 'budget_limit_reached',
    exit_code: 1,
  })
})

it('reports a manifest that cannot be written when the agent closes and releases the session', async () => {
  const s = await scene([{ content: 'one' }, { content: 'two' }, { content: 'three' }])
  const agent = await createAgent(s.booted.kernel, { env: {} })
  await agent.run('go')
  const manifest = join(s.booted.root, '.vtcode/sessions', agent.session_id, 'manifest.json')
  await expect.poll(() => JSON.parse(readFileSync(manifest, 'utf8')).status).toBe('idle')
  rmSync(manifest)
  mkdirSync(manifest)
  expect(await agent.run('on')).toMatchObject({ outcome_code: 'success', text: 'two' })
  await expect(agent.close()).rejects.toMatchObject({
    code: 'VT_SESSION_WRITE',
    message: expect.stringContaining('manifest.json'),
  })
  rmdirSync(manifest)
  expect(await s.run('again', { resume: agent.session_id })).toMatchObject({ text: 'three' })
})

it('rejects a missing kernel with an error that shows how to create one', async () => {
  for (const kernel of [undefined, {}, 'x'])
    await expect(createAgent(kernel as never)).rejects.toMatchObject({
      name: 'VT_CONFIG_INVALID',
      extra: { hint: expect.stringContaining('createKernel') },
    })
})
