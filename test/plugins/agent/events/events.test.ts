import { appendFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createAgent } from 'vtcode/agent'
import { items, scene } from '../../../support/inside.js'
import { checkLog, isEvent, isOurEvent } from '../../../support/invariants.js'
import { call } from '../../../support/peer.js'

const usage = {
  input_tokens: 3,
  cached_input_tokens: 1,
  cache_creation_tokens: 0,
  output_tokens: 2,
  reasoning_tokens: 1,
  estimated: true,
}
const hash = '0'.repeat(64)
/** Lists each event of the contract with every possible field. */
const bodies: Record<string, object> = {
  'thread.started': {
    session_id: 'ses_1',
    parent_thread_id: 'th_0',
    model: 'p/m',
    mode: 'plan',
    cwd: '/',
    version: '1.0.0',
  },
  'thread.completed': {
    session_id: 'ses_1',
    subtype: 'success',
    outcome_code: 'success',
    result: 'r',
    stop_reason: 's',
    usage,
    total_cost_usd: null,
    num_turns: 1,
    num_steps: 1,
    verified: null,
  },
  'segment.started': {
    segment_id: 's',
    model: 'p/m',
    reason: 'start',
    prompt_hash: hash,
    prompt_path: 'p',
    catalog_hash: hash,
    catalog_path: 'c',
  },
  'thread.compact_boundary': {
    trigger: 'auto',
    mode: 'local',
    original_message_count: 9,
    compacted_message_count: 3,
    history_artifact_path: 'h',
    previous_segment_id: 'a',
    new_segment_id: 'b',
    previous_prefix_hash: hash,
    new_prefix_hash: hash,
    previous_catalog_hash: hash,
    new_catalog_hash: hash,
    tokens_before: 9,
    tokens_after: 3,
    deduped_reads: 0,
  },
  'context.reset': {
    trigger: 'plan_approval',
    plan_preserved: true,
    previous_context_usage_percent: 40,
    tool_budget_reset: true,
  },
  'turn.started': {
    turn_number: 1,
    token_breakdown: {
      system_prompt_tokens: 1,
      tool_schema_tokens: 1,
      instruction_file_tokens: 1,
      message_history_tokens: 1,
      cache_read_tokens: 0,
      cache_write_tokens: 0,
      cache_miss_tokens: 0,
      subagent_bootstrap_tokens: 0,
    },
  },
  'turn.completed': { usage, cost_usd: 0.1, limits: { tool_loops: 1, tool_calls: 1, wall_ms: 1 } },
  'turn.failed': { message: 'm', usage, code: 'VT_INTERNAL' },
  'step.completed': {
    step: 1,
    model: 'p/m',
    finish_reason: 'stop',
    usage,
    cost_usd: null,
    ttft_ms: 1,
    duration_ms: 1,
    attempts: 1,
    item_ids: ['it_1'],
  },
  'permission.requested': { tool_name: 't', call_id: 'c1-0', reason: 'r', policy: 'permission' },
  'permission.resolved': { tool_name: 't', call_id: 'c1-0', decision: 'followup', scope: 'once', wait_ms: 1 },
  interjected: { source: 'queue', image_count: 0, redirect_kind: 'interjection', intent_id: 'i' },
  'plan.delta': { item_id: 'it_1', delta: 'd' },
  'plan.approval.requested': { plan_file: 'p.md' },
  'plan.approval.resolved': { decision: 'execute', automatic: false },
  error: { message: 'm', code: 'VT_INTERNAL' },
}
/** Lists each item. */
const parts: Record<string, object> = {
  user_message: { text: 't', origin: 'prompt', intent_id: 'i', image_count: 0 },
  agent_message: { text: 't', status: 'completed' },
  plan: { text: 't', status: 'in_progress' },
  reasoning: { text: 't', stage: 's', status: 'discarded' },
  command_execution: {
    command: 'ls',
    arguments: [],
    aggregated_output: 'a',
    exit_code: 0,
    status: 'completed',
    call_id: 'c1-0',
  },
  tool_invocation: {
    tool_name: 't',
    arguments: {},
    tool_call_id: 'p',
    call_id: 'c1-0',
    status: 'completed',
    outcome: 'success',
    effects: ['exec'],
    executor: 'local',
  },
  tool_output: {
    call_id: 'c1-0',
    tool_call_id: 'p',
    spool_path: 's',
    output: 'o',
    exit_code: 0,
    status: 'failed',
    is_error: true,
    error_code: 'VT_X',
    duration_ms: 1,
    bytes: 1,
  },
  file_change: {
    changes: [{ path: 'a', kind: 'add', added_lines: 1, removed_lines: 0 }],
    status: 'completed',
    call_id: 'c1-0',
  },
  mcp_tool_call: { tool_name: 'mcp__s__t', arguments: {}, result: 'r', status: 'started' },
  web_search: { query: 'q', provider: 'p', results: [{}] },
  harness: {
    event: 'resumed',
    message: 'm',
    command: 'c',
    path: 'p',
    exit_code: 0,
    attempt: 1,
    error_category: 'e',
    duration_ms: 1,
    data: {},
  },
  subagent: { child_thread_id: 'th_2', agent_name: 'a', status: 'completed', summary: 's', trajectory_path: 't' },
  error: { message: 'm', code: 'VT_X' },
}
const frame = { seq: 1, ts: '2026-01-01T00:00:00.000Z', thread_id: 'th_1', turn_id: 'tn_1' }
const events = [
  ...Object.entries(bodies).map(([type, body]) => ({ ...frame, type, ...body })),
  ...['item.started', 'item.updated', 'item.completed'].flatMap((type) =>
    Object.entries(parts).map(([part, fields]) => ({ ...frame, type, item: { id: 'it_1', type: part, ...fields } })),
  ),
]

describe('event schema', () => {
  it('covers deltas, which have no number', () => {
    const delta = {
      type: 'item.delta',
      thread_id: 'th_1',
      turn_id: 'tn_1',
      item_id: 'it_1',
      kind: 'arguments',
      at: 0,
      text: 't',
      tool_name: 'n',
    }
    expect([isOurEvent(delta), isEvent({ ...delta, more: 1 }), isOurEvent({ ...delta, more: 1 })]).toEqual([
      true,
      true,
      false,
    ])
    for (const wrong of [
      { seq: 1 },
      { ts: frame.ts },
      { at: -1 },
      { at: '0' },
      { kind: 'words' },
      { text: 1 },
      { item_id: undefined },
      { tool_name: 1 },
    ])
      expect(isEvent(JSON.parse(JSON.stringify({ ...delta, ...wrong }))), JSON.stringify(wrong)).toBe(false)
  })
  it('covers every event and every item with each of their fields', () => {
    for (const event of events) {
      expect(isOurEvent(event), JSON.stringify([event, isOurEvent.errors])).toBe(true)
      const more = 'item' in event ? { ...event, item: { ...(event.item as object), more: 1 } } : { ...event, more: 1 }
      expect([isEvent(more), isOurEvent(more)], event.type).toEqual([true, false])
    }
  })
  it('rejects a field of the wrong type in each event', () => {
    for (const event of events) {
      const { type, seq, ts, thread_id, turn_id, ...body } = event as Record<string, any>
      const fields = type.startsWith('item.') ? body['item'] : body
      for (const name of Object.keys(fields)) {
        if (['arguments', 'type', 'id'].includes(name)) continue
        const wrong = { ...fields, [name]: { not: ['this'] } }
        const changed = { ...frame, type, ...(type.startsWith('item.') ? { item: wrong } : wrong) }
        if (!['data'].includes(name)) expect(isEvent(changed), `${type} ${fields.type ?? ''} ${name}`).toBe(false)
      }
    }
  })
})

it('resumes a session whose log holds an unknown event and field', async () => {
  const s = await scene([{ content: 'one' }, { content: 'two' }])
  const { session_id } = await s.run()
  const file = join(s.booted.root, '.vtcode/sessions', session_id, 'events.jsonl')
  const { seq, thread_id } = s.events.at(-1)!
  appendFileSync(
    file,
    `${JSON.stringify({ schema_version: '1.9.0', event: { type: 'thread.dreamt', seq: seq + 1, ts: frame.ts, thread_id, of: 'sheep' }, more: 1 })}\n`,
  )
  expect(await s.run('again', { resume: session_id })).toMatchObject({ outcome_code: 'success', text: 'two' })
  const log = readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).event)
  expect(log.map((event) => event.seq)).toEqual(log.map((_, index) => index + 1))
})

describe('token breakdown of a turn', () => {
  it('counts prompt, tools, instructions, conversation and cache misses at the start of a turn', async () => {
    const counted = { prompt_tokens: 100, completion_tokens: 5 }
    const s = await scene(
      [
        { content: 'one', usage: counted },
        { content: 'two', usage: counted },
      ],
      { boot: { files: { 'AGENTS.md': 'Be brief. '.repeat(50) } } },
    )
    const agent = await createAgent(s.booted.kernel, { env: {}, onEvent: (event) => void s.events.push(event) })
    await agent.run('first task')
    await agent.run('second task')
    await agent.close()
    checkLog(s.events)
    const [first, second] = s.events.flatMap((event) => (event.type === 'turn.started' ? [event.token_breakdown!] : []))
    expect(first).toMatchObject({ cache_read_tokens: 0, cache_write_tokens: 0, cache_miss_tokens: 0 })
    for (const name of [
      'system_prompt_tokens',
      'tool_schema_tokens',
      'instruction_file_tokens',
      'message_history_tokens',
    ] as const)
      expect(first![name], name).toBeGreaterThan(0)
    expect(first!.instruction_file_tokens).toBeGreaterThan(80)
    expect(second!.message_history_tokens).toBeGreaterThan(first!.message_history_tokens)
    expect(second).toMatchObject({
      cache_read_tokens: 0,
      cache_miss_tokens: 100,
      tool_schema_tokens: first!.tool_schema_tokens,
    })
  })
})

describe('events for calls', () => {
  it('reports a command with its output and its folder', async () => {
    const run = (command: string, more: object = {}) => call('unified_exec', { action: 'run', command, ...more })
    const s = await scene(
      [
        {
          toolCalls: [
            run('echo out; echo err >&2; exit 3'),
            run('echo fine'),
            run('no-such-program-x'),
            run('printf "%09000d" 7'),
          ],
        },
        { content: 'ok' },
      ],
      { boot: { mode: 'auto' } },
    )
    await s.run('go', { providers: { approval: { approve: () => true } } })
    checkLog(s.events)
    const commands = items(s.events, 'command_execution')
    expect(commands.slice(0, 2)).toMatchObject([
      {
        call_id: 'c1-0',
        command: 'echo out; echo err >&2; exit 3',
        aggregated_output: 'out\nerr\n',
        exit_code: 3,
        status: 'failed',
      },
      { call_id: 'c1-1', aggregated_output: 'fine\n', exit_code: 0, status: 'completed' },
    ])
    expect(commands.at(-1).aggregated_output.length).toBeLessThanOrEqual(8193)
    expect(items(s.events, 'tool_invocation').map(({ executor }) => executor)[0]).toMatch(/^(local|sandbox)$/)
  })
  it('reports a web search', async () => {
    const s = await scene([{ toolCalls: [call('web_search', { query: 'tapable' })] }, { content: 'ok' }])
    const results = [{ title: 'T', url: 'https://example.com/', snippet: 'S' }]
    await s.run('go', {
      providers: {
        execute: {
          run: async () => ({ ok: true, output: { query: 'tapable', provider: 'duckduckgo', count: 1, results } }),
        },
      },
    })
    checkLog(s.events)
    expect(items(s.events, 'web_search')).toMatchObject([{ query: 'tapable', provider: 'duckduckgo', results }])
  })
  it('reports a call of an MCP tool unless the call never reached the server', async () => {
    const s = await scene([
      { toolCalls: [call('mcp__docs__find', { q: 'x' }), call('mcp__docs__fail', {}), call('mcp__docs__denied', {})] },
      { content: 'ok' },
    ])
    const fail = (code: string) => ({ ok: false as const, error: { code, message: 'No.', hint: '', retryable: false } })
    const results: Record<string, any> = {
      mcp__docs__find: { ok: true, output: {}, text: 'found' },
      mcp__docs__fail: fail('VT_MCP_TOOL'),
      mcp__docs__denied: fail('VT_POLICY_DENIED'),
    }
    await s.run('go', { providers: { execute: { run: async (name) => results[name] } } })
    checkLog(s.events)
    expect(items(s.events, 'mcp_tool_call')).toMatchObject([
      { tool_name: 'mcp__docs__find', arguments: { q: 'x' }, result: 'found', status: 'completed' },
      { tool_name: 'mcp__docs__fail', status: 'failed' },
    ])
    expect(items(s.events, 'mcp_tool_call')).toHaveLength(2)
  })
})

describe('events for changed files', () => {
  const changes = (events: readonly any[]) => items(events, 'file_change').flatMap(({ changes }) => changes)
  it('reports changed files with added and removed lines, whatever changed them', async () => {
    const file = (input: object) => call('unified_file', input)
    const script = [
      file({ action: 'write', path: 'new.txt', content: '1\n2\n3\n' }),
      file({ action: 'write', path: 'old.txt', content: 'a\nB\nc\nd\n', mode: 'overwrite' }),
      file({ action: 'write', path: 'old.txt', content: 'e\n', mode: 'append' }),
      file({ action: 'edit', path: 'old.txt', old_str: 'B\n', new_str: '' }),
      file({ action: 'copy', path: 'old.txt', destination: 'copy.txt' }),
      file({ action: 'move', path: 'new.txt', destination: 'moved.txt' }),
      file({ action: 'move', path: 'moved.txt', destination: 'copy.txt', overwrite: true }),
      file({ action: 'delete', path: 'copy.txt' }),
      call('unified_exec', { action: 'run', command: 'printf "x\\ny\\n" > old.txt' }),
      file({ action: 'delete', path: 'folder', recursive: true }),
    ]
    const s = await scene(
      [
        { toolCalls: [file({ action: 'read', path: 'old.txt' })] },
        ...script.map((one) => ({ toolCalls: [one] })),
        { content: 'ok' },
      ],
      { boot: { files: { 'old.txt': 'a\nb\nc\n', 'folder/x': '1\n' } } },
    )
    await s.run('go', { providers: { approval: { approve: () => true } } })
    checkLog(s.events)
    expect(changes(s.events)).toEqual([
      { path: 'new.txt', kind: 'add', added_lines: 3, removed_lines: 0 },
      { path: 'old.txt', kind: 'update', added_lines: 2, removed_lines: 1 },
      { path: 'old.txt', kind: 'update', added_lines: 1, removed_lines: 0 },
      { path: 'old.txt', kind: 'update', added_lines: 0, removed_lines: 1 },
      { path: 'copy.txt', kind: 'add', added_lines: 4, removed_lines: 0 },
      { path: 'new.txt', kind: 'delete', added_lines: 0, removed_lines: 3 },
      { path: 'moved.txt', kind: 'add', added_lines: 3, removed_lines: 0 },
      { path: 'moved.txt', kind: 'delete', added_lines: 0, removed_lines: 3 },
      { path: 'copy.txt', kind: 'update', added_lines: 3, removed_lines: 4 },
      { path: 'copy.txt', kind: 'delete', added_lines: 0, removed_lines: 3 },
      { path: 'old.txt', kind: 'update', added_lines: 2, removed_lines: 4 },
      { path: 'folder', kind: 'delete' },
    ])
  })
})
