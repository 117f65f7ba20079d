import { setTimeout as sleep } from 'node:timers/promises'
import { createAgent } from 'vtcode/agent'
import { describe, expect, it } from 'vitest'
import { rounds } from '../../../support/exec.js'
import { harness, items, scene, type Scene } from '../../../support/inside.js'
import { checkLog, checkMessages } from '../../../support/invariants.js'
import { call, type Answer } from '../../../support/peer.js'

const list = (path: string) => call('unified_search', { action: 'list', path })
const read = (path: string) => call('unified_file', { action: 'read', path })
const write = (path: string, content: string, mode?: string) =>
  call('unified_file', { action: 'write', path, content, ...(mode && { mode }) })
const told = (s: Scene) => items(s.events, 'tool_output').map(({ output }) => output)
const settled = (s: Scene) => {
  checkLog(s.events)
  for (const { messages } of s.peer.bodies) checkMessages(messages)
}

describe('calls of a step', () => {
  it('runs reading calls side by side and the others alone and in order', async () => {
    const s = await scene([
      { toolCalls: [read('a'), read('b'), read('c'), write('d', 'x'), read('e')] },
      { content: 'ok' },
    ])
    const log: string[] = []
    const barrier: (() => void)[] = []
    let open = 0
    await s.run('go', {
      providers: {
        execute: {
          run: async (_, input) => {
            const { path } = input as { path: string }
            log.push(`+${path}${++open}`)
            // The first three wait for each other.
            if ('abc'.includes(path))
              await new Promise<void>((resolve) => barrier.push(resolve) === 3 && barrier.forEach((go) => go()))
            log.push(`-${path}`)
            open -= 1
            return { ok: true, output: {}, text: `result of ${path}` }
          },
        },
      },
    })
    expect(log.slice(0, 3)).toEqual(['+a1', '+b2', '+c3'])
    expect(log.slice(-4)).toEqual(['+d1', '-d', '+e1', '-e'])
    expect(
      s.peer.bodies[1].messages.filter(({ role }: any) => role === 'tool').map(({ content }: any) => content),
    ).toEqual(['a', 'b', 'c', 'd', 'e'].map((path) => `result of ${path}`))
    settled(s)
  })
  it('runs four calls at a time and no more', async () => {
    const s = await scene([
      { toolCalls: Array.from({ length: 9 }, (_, index) => read(`f${index}`)) },
      { content: 'ok' },
    ])
    let [open, most] = [0, 0]
    await s.run('go', {
      providers: {
        execute: {
          run: async () => {
            most = Math.max(most, ++open)
            await sleep(10)
            open -= 1
            return { ok: true, output: {}, text: 'ok' }
          },
        },
      },
    })
    expect(most).toBe(4)
  })
  it('answers each call once, unknown tools, wrong actions and denials too, and runs the rest', async () => {
    const s = await scene([
      {
        toolCalls: [
          call('no_such_tool', {}),
          call('unified_file', { action: 'explode' }),
          write('.git/config', 'x'),
          list('.'),
        ],
      },
      { content: 'ok' },
      { content: 'not all of it' },
    ])
    expect((await s.run()).outcome_code).toBe('escalated')
    expect(told(s).map((text) => /^ERROR (\w+)/.exec(text)?.[1] ?? text)).toEqual([
      'VT_TOOL_UNKNOWN',
      'VT_ACTION_UNKNOWN',
      expect.stringMatching(/VT_(POLICY|PATH)/),
      '0 entries',
    ])
    expect(
      items(s.events, 'tool_invocation')
        .map(({ outcome }) => outcome)
        .slice(0, 2),
    ).toEqual(['invalid_tool', 'error'])
    settled(s)
  })
  it('asks for approvals one after the other and reports a denial to the model', async () => {
    const s = await scene([{ toolCalls: [write('a', '1'), write('b', '2')] }, { content: 'ok' }], {
      boot: { mode: 'ask' },
    })
    let [open, most] = [0, 0]
    await s.run('go', {
      providers: {
        approval: {
          approve: async ({ call }) => {
            most = Math.max(most, ++open)
            await sleep(5)
            open -= 1
            return (call.input as any).path === 'a'
          },
        },
      },
    })
    expect([most, await s.booted.read('a'), await s.booted.read('b')]).toEqual([1, '1', undefined])
    expect(
      s.events.filter(({ type }) => type.startsWith('permission.')).map((event: any) => event.decision ?? 'asked'),
    ).toEqual(['asked', 'allow', 'asked', 'deny'])
    settled(s)
  })
  it('reports which files the calls changed', async () => {
    const s = await scene([
      {
        toolCalls: [
          write('a', '1\n'),
          write('a', '2\n', 'overwrite'),
          call('unified_file', { action: 'edit', path: 'a', old_str: '2', new_str: '3\n4' }),
          call('unified_file', { action: 'delete', path: 'a' }),
        ],
      },
      { content: 'ok' },
    ])
    await s.run()
    expect(items(s.events, 'file_change').map(({ changes }) => changes)).toEqual([
      [{ path: 'a', kind: 'add', added_lines: 1, removed_lines: 0 }],
      [{ path: 'a', kind: 'update', added_lines: 1, removed_lines: 1 }],
      [{ path: 'a', kind: 'update', added_lines: 2, removed_lines: 1 }],
      [{ path: 'a', kind: 'delete', added_lines: 0, removed_lines: 2 }],
    ])
  })
})

describe('repeated calls', () => {
  it('shortens an equal result to a reference, since the model has it already', async () => {
    const text = 'line of a file\n'.repeat(100)
    const s = await scene(
      [
        { toolCalls: [read('a.txt')] },
        { toolCalls: [read('a.txt')] },
        { toolCalls: [write('a.txt', 'new\n'.repeat(100), 'overwrite')] },
        { toolCalls: [read('a.txt')] },
        { content: 'ok' },
      ],
      { boot: { files: { 'a.txt': text } } },
    )
    await s.run()
    const results = s.peer.bodies
      .at(-1)
      .messages.filter(({ role }: any) => role === 'tool')
      .map(({ content }: any) => content)
    expect(results[1]).toMatch(/^Same result as call c1-0 above \(\d+ bytes\)\.$/)
    expect(results[3]).toContain('new')
    settled(s)
  })
  it('shortens, remarks on and stops a repeated search over an unchanged tree, until a change', async () => {
    const grep = {
      toolCalls: [call('unified_search', { action: 'grep', pattern: 'needle' })],
      how: { latency: 60, chunkSize: 4000 },
    }
    const s = await scene(
      [
        ...Array.from({ length: 6 }, () => grep),
        { toolCalls: [write('b.txt', 'a needle more\n')] },
        grep,
        { content: 'ok' },
      ],
      {
        boot: {
          files: { 'a.txt': 'a needle in a line of text\n'.repeat(20) },
          timeouts: { reading: 50 },
          config: { tools: { max_repeated_tool_calls: 2 } } as never,
        },
      },
    )
    expect((await s.run()).outcome_code).toBe('success')
    const results: string[] = s.peer.bodies
      .at(-1)
      .messages.filter(({ role }: any) => role === 'tool')
      .map(({ content }: any) => content)
    const short = /^Same result as call c1-0 above \(\d+ bytes\)\./
    expect(
      results.map((text) => [
        short.test(text),
        text.includes('[VT_GUARD_DUPLICATE]'),
        text.startsWith('ERROR VT_GUARD_DUPLICATE'),
      ]),
    ).toEqual([
      [false, false, false],
      [true, false, false],
      ...Array.from({ length: 3 }, () => [true, true, false]),
      [false, false, true],
      [false, false, false],
      [false, false, false],
    ])
    settled(s)
  })
  it('ignores repetition while a running command is polled', async () => {
    const poll = (body: any) => ({
      toolCalls: [
        call('unified_exec', {
          action: 'poll',
          session_id: /run-[0-9a-f]{8}/.exec(JSON.stringify(body.messages))![0],
          yield_time_ms: 20,
        }),
      ],
    })
    // Equal calls get a remark at the fourth time and stop at the ninth.
    const polls = rounds(12, 30)
    const s = await scene(
      [
        { toolCalls: [call('unified_exec', { action: 'run', command: 'sleep 600', yield_time_ms: 250 })] },
        ...Array.from({ length: polls }, () => poll),
        { content: 'ok' },
      ],
      { settings: { policy: { allow: ['Bash(sleep *)'] } } },
    )
    expect((await s.run()).outcome_code).toBe('success')
    expect(told(s)).toHaveLength(polls + 1)
    expect(told(s).filter((text) => /VT_(GUARD|LOOP|POLICY)/.test(text))).toEqual([])
    expect(items(s.events, 'command_execution').every(({ status }) => status === 'in_progress')).toBe(true)
    settled(s)
  })
  it('stops loops of several calls and ends the turn when they continue', async () => {
    const round = [{ toolCalls: [list('a')] }, { toolCalls: [list('b')] }]
    const s = await scene(
      [...Array(8).fill(round).flat(), { content: 'I went in circles.' }].map((step) => step as Answer),
      { boot: { files: { 'a/1': '', 'b/2': '' } } },
    )
    const outcome = await s.run()
    expect(outcome).toMatchObject({ outcome_code: 'loop_detected', exit_code: 1 })
    expect(told(s).filter((text) => text.includes('VT_LOOP_CYCLE'))).toHaveLength(3)
    expect(told(s).findIndex((text) => text.includes('VT_LOOP_CYCLE'))).toBe(8)
    settled(s)
  })
  it('remarks on and stops one command with the same result', async () => {
    const command = { toolCalls: [call('unified_exec', { action: 'run', command: 'true' })] }
    const s = await scene([...Array(9).fill(command), { content: 'enough' }])
    await s.run()
    const remarks = told(s).map((text) => /\[VT_LOOP_CYCLE\]|ERROR VT_LOOP_CYCLE/.exec(text)?.[0])
    expect(remarks.slice(0, 9)).toEqual([
      undefined,
      undefined,
      undefined,
      '[VT_LOOP_CYCLE]',
      undefined,
      undefined,
      undefined,
      undefined,
      'ERROR VT_LOOP_CYCLE',
    ])
  })
  it('accepts reads of forty different files', async () => {
    const files = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`f${index}`, `${index}`]))
    const s = await scene([...Object.keys(files).map((path) => ({ toolCalls: [read(path)] })), { content: 'ok' }], {
      boot: { files, config: { tools: { max_tool_loops: 0 } } },
    })
    expect((await s.run()).outcome_code).toBe('success')
    expect(told(s).some((text) => text.includes('ERROR'))).toBe(false)
  })
})

describe('limits of a run', () => {
  const limited = async (config: object, script: Answer[]) => {
    const s = await scene(script, { settings: config, boot: { files: { 'a/1': '' } } })
    const outcome = await s.run()
    settled(s)
    return { s, outcome }
  }
  it('leaves calls over the limit unmade, and the model reports the state of the work', async () => {
    const { s, outcome } = await limited({ agent: { model: 'peer/m', harness: { max_tool_calls_per_turn: 2 } } }, [
      { toolCalls: [list('.'), list('a'), read('a/1')] },
      { content: 'two of three' },
    ])
    expect(outcome).toMatchObject({
      outcome_code: 'tool_loop_limit_reached',
      text: 'two of three\n\nThe remaining work is in .vtcode/tasks/current_blocked.md.',
    })
    expect(s.peer.bodies[1].messages.at(-2).content).toContain('VT_LOOP_CALL_LIMIT')
    // The server caches its input only while the tool list stays the same.
    expect(s.peer.bodies[1]).toMatchObject({ tools: s.peer.bodies[0].tools, tool_choice: 'none' })
    expect(harness(s.events, 'limit_reached')).toHaveLength(1)
  })
  it('requires a price for a limit on the budget', async () => {
    await expect(limited({ agent: { model: 'peer/m', harness: { max_budget_usd: 1 } } }, [])).rejects.toMatchObject({
      code: 'VT_LLM_UNPRICED',
    })
    // A fallback model counts too.
    const down = {
      name: 'peer',
      base_url: 'http://127.0.0.1:9/v1',
      retries: { request: 0 },
      cost: { input: 1, output: 1 },
    }
    const s = await scene([], {
      boot: {
        config: {
          agent: { model: 'peer/m', fallback_models: ['b/y'], harness: { max_budget_usd: 1 } },
          custom_providers: [down, { name: 'b', base_url: down.base_url }],
        } as never,
      },
    })
    expect((await s.run()).error?.code).toBe('VT_LLM_UNPRICED')
  })
  it('enforces limits on the turns of a session and of a run', async () => {
    const s = await scene([{ content: 'one' }, { content: 'two' }, { content: 'three' }], {
      settings: { tools: { max_conversation_turns: 2 } },
    })
    const agent = await createAgent(s.booted.kernel, { env: {} })
    try {
      expect([(await agent.run('1')).text, (await agent.run('2')).text, (await agent.run('3')).error?.code]).toEqual([
        'one',
        'two',
        'VT_LOOP_SESSION_TURNS',
      ])
    } finally {
      await agent.close()
    }
    const t = await scene([{ content: 'one' }, { content: 'two' }])
    const run = await createAgent(t.booted.kernel, { env: {}, limits: { max_turns: 1 } })
    await run.followUp('more')
    expect(await run.run('1')).toMatchObject({
      outcome_code: 'turn_limit_reached',
      subtype: 'error_max_turns',
      exit_code: 1,
    })
    await run.close()
  })
})

describe('follow-ups', () => {
  it('runs follow-ups one at a time, in order, after the turn before', async () => {
    const s = await scene([
      { toolCalls: [list('.')] },
      { content: 'first' },
      { content: 'second' },
      { content: 'third' },
    ])
    const events: any[] = []
    let queued = false
    const agent = await createAgent(s.booted.kernel, {
      env: {},
      onEvent: async (event) => {
        events.push(event)
        if (queued || event.type !== 'item.started' || event.item.type !== 'tool_invocation') return
        queued = true
        await agent.followUp('then this')
        const id = await agent.followUp('and this', 'twice')
        expect(await agent.followUp('and this', 'twice')).toBe(id)
      },
    })
    const outcome = await agent.run('go')
    await agent.close()
    expect(outcome).toMatchObject({ outcome_code: 'success', text: 'third', num_turns: 3 })
    const last = s.peer.bodies
      .map(({ messages }) => messages.at(-1))
      .map(({ role, content }) => (role === 'user' ? content : role))
    expect(last).toEqual(['go', 'tool', 'then this', 'and this'])
    expect(events.filter(({ type }) => type === 'interjected')).toHaveLength(2)
    checkLog(events)
  })
  it('accepts sixteen follow-ups at most', async () => {
    const s = await scene([])
    const agent = await createAgent(s.booted.kernel, { env: {} })
    for (let index = 0; index < 16; index++) await agent.followUp(`${index}`)
    await expect(agent.followUp('one more')).rejects.toMatchObject({ code: 'VT_LOOP_QUEUE_FULL' })
    await agent.close()
  })
})

describe('interruption', () => {
  it('keeps the text of an interrupted answer and ends the turn once', async () => {
    const s = await scene([{ content: 'a long story '.repeat(40), how: { latency: 20, chunkSize: 10 } }])
    const stop = new AbortController()
    const outcome = await s.run('go', { onDelta: ({ at }) => (at > 20 ? stop.abort() : undefined) }, stop.signal)
    expect(outcome).toMatchObject({ outcome_code: 'cancelled', exit_code: 130, error: { code: 'VT_CANCELLED' } })
    expect(items(s.events, 'agent_message')[0]).toMatchObject({
      status: 'cancelled',
      text: expect.stringContaining('a long story'),
    })
    checkLog(s.events)
  })
  it('ends running calls on an interruption, and the next turn works', async () => {
    const s = await scene([
      { toolCalls: [call('unified_exec', { action: 'run', command: 'sleep 60', timeout_secs: 60 }), write('a', 'x')] },
      { content: 'fresh' },
    ])
    const stop = new AbortController()
    const events: any[] = []
    const agent = await createAgent(s.booted.kernel, {
      env: {},
      onEvent: (event) => {
        events.push(event)
        if (event.type === 'item.started' && event.item.type === 'tool_invocation') setTimeout(() => stop.abort(), 200)
      },
    })
    expect(await agent.run('go', { signal: stop.signal })).toMatchObject({ outcome_code: 'cancelled' })
    expect(await s.booted.read('a')).toBeUndefined()
    expect(await agent.run('again')).toMatchObject({ outcome_code: 'success', text: 'fresh' })
    await agent.close()
    checkMessages(s.peer.bodies[1].messages)
    checkLog(events)
  })
})

it('ends the turn with a code when the program has a fault, and keeps the process', async () => {
  const s = await scene([{ error: { message: 'slow' }, status: 429 }])
  const broken = { now: () => Date.now(), sleep: () => Promise.reject(new Error('the clock broke')) }
  expect((await s.run('go', { providers: { clock: broken } })).error).toMatchObject({
    code: 'VT_INTERNAL',
    message: 'the clock broke',
  })
  checkLog(s.events)
})

it('writes a sound journal over many turns of calls', async () => {
  const turns = rounds(20, 100)
  const steps = Array.from({ length: turns }, (_, index): Answer[] => [
    { toolCalls: [write(`f${index}`, 'x'.repeat(200))] },
    { content: `done ${index}` },
  ]).flat()
  const s = await scene(steps, { settings: { tools: { max_conversation_turns: 0 } } })
  const agent = await createAgent(s.booted.kernel, { env: {} })
  for (let turn = 0; turn < turns; turn++) expect(await agent.run(`do ${turn}`)).toMatchObject({ text: `done ${turn}` })
  await agent.close()
  checkMessages(s.peer.bodies.findLast((body) => body?.messages).messages)
})
