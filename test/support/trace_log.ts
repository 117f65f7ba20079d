/** A log by hand: what a test needs of a thread, numbered and timed like a real one. */
export class TraceLog {
  readonly events: any[] = []
  private clock = Date.parse('2026-01-01T00:00:00.000Z')
  private turn = 0
  private step = 0
  private item = 0

  constructor(
    readonly session = 'ses_one',
    readonly thread = 'th_one',
  ) {}

  add(type: string, body: object = {}, ms = 10): this {
    this.clock += ms
    this.events.push({
      type,
      ...body,
      seq: this.events.length + 1,
      ts: new Date(this.clock).toISOString(),
      thread_id: this.thread,
      ...(this.turn > 0 && { turn_id: `tn_${this.turn}` }),
    })
    return this
  }
  say(item: Record<string, unknown>, ms = 10): this {
    const whole = { id: `it_${++this.item}`, ...item }
    return this.add('item.started', { item: whole }, ms).add('item.completed', { item: whole }, 0)
  }
  begin(model = 'peer/m'): this {
    return this.add('thread.started', { session_id: this.session, model, mode: 'auto', cwd: '/w', version: '0.1.0' })
  }
  private segment(model = 'peer/m'): this {
    const hash = 'a'.repeat(64)
    return this.add('segment.started', {
      segment_id: 'sg_1',
      model,
      reason: 'start',
      prompt_hash: hash,
      prompt_path: `prompts/${hash}`,
      catalog_hash: hash,
      catalog_path: `prompts/${hash}`,
    })
  }
  ask(text: string): this {
    this.turn += 1
    this.add('turn.started', { turn_number: this.turn }).say({ type: 'user_message', text, origin: 'prompt' })
    return this.turn === 1 ? this.segment() : this
  }
  call(
    tool: string,
    input: unknown,
    {
      output = 'ok',
      ms = 100,
      ...about
    }: {
      output?: string | null
      ms?: number
      outcome?: string
      error_code?: string
      exit_code?: number
      changes?: object[]
      command?: string
      origin?: string
      asked?: boolean
    } = {},
  ): this {
    const {
      outcome = about.error_code === undefined ? 'success' : 'error',
      error_code,
      exit_code,
      changes,
      command,
      origin,
      asked,
    } = about
    const call_id = origin === undefined ? `c${this.step + 1}-${++this.item}` : `h${++this.item}`
    const id = `it_${++this.item}`
    const status = error_code === undefined ? 'completed' : 'failed'
    const item = {
      id,
      type: 'tool_invocation',
      tool_name: tool,
      arguments: input,
      call_id,
      tool_call_id: `x${this.item}`,
      effects: command === undefined ? ['read'] : ['exec'],
      ...(origin !== undefined && { origin }),
    }
    this.add('item.started', { item: { ...item, status: 'in_progress' } })
    if (asked)
      this.add('permission.requested', {
        tool_name: tool,
        call_id,
        reason: 'It changes files.',
        policy: 'permission',
      }).add(
        'permission.resolved',
        { tool_name: tool, call_id, decision: error_code === undefined ? 'allow' : 'deny', wait_ms: 500 },
        500,
      )
    if (output === null) return this
    this.say(
      {
        type: 'tool_output',
        call_id,
        output,
        status,
        is_error: error_code !== undefined,
        duration_ms: ms,
        bytes: Buffer.byteLength(output),
        ...(error_code !== undefined && { error_code }),
        ...(exit_code !== undefined && { exit_code }),
      },
      ms,
    )
    if (command !== undefined)
      this.say(
        {
          type: 'command_execution',
          command,
          aggregated_output: output,
          status: exit_code === 0 ? 'completed' : 'failed',
          call_id,
          ...(exit_code !== undefined && { exit_code }),
        },
        0,
      )
    if (changes) this.say({ type: 'file_change', changes, status: 'completed', call_id }, 0)
    return this.add('item.completed', { item: { ...item, status, outcome } }, 0)
  }
  stepEnd(about: Record<string, unknown> = {}, ms = 5): this {
    this.step += 1
    const usage = {
      input_tokens: 1000 * this.step,
      cached_input_tokens: 400,
      cache_creation_tokens: 0,
      output_tokens: 50,
    }
    return this.add(
      'step.completed',
      {
        step: this.step,
        model: 'peer/m',
        finish_reason: 'tool-calls',
        usage,
        cost_usd: 0.001 * this.step,
        ttft_ms: 20,
        duration_ms: 80,
        attempts: 1,
        item_ids: [],
        ...about,
      },
      ms,
    )
  }
  turnEnd(): this {
    return this.add('turn.completed', {
      usage: { input_tokens: 0, cached_input_tokens: 0, cache_creation_tokens: 0, output_tokens: 0 },
      cost_usd: 0,
      limits: { tool_loops: 1, tool_calls: 1, wall_ms: 1 },
    })
  }
  end(about: Record<string, unknown> = {}): this {
    this.turn = 0
    const usage = { input_tokens: 0, cached_input_tokens: 0, cache_creation_tokens: 0, output_tokens: 0 }
    return this.add('thread.completed', {
      session_id: this.session,
      subtype: 'success',
      outcome_code: 'success',
      usage,
      total_cost_usd: 0,
      num_turns: 1,
      num_steps: this.step,
      verified: null,
      ...about,
    })
  }
  get text(): string {
    return this.events.map((event) => `${JSON.stringify({ schema_version: '1.0.0', event })}\n`).join('')
  }
}

/** All that can happen: two turns, calls side by side, a cut stream, a denial, a compaction, a sub-agent, a verification that fails and then passes. */
export function eventful(): TraceLog {
  const log = new TraceLog().begin().ask('Fix the parser of src/a.ts.')
  log
    .say({ type: 'agent_message', text: 'I begin', status: 'discarded' })
    .say({ type: 'harness', event: 'model_retry', message: 'The stream broke off; trying again.' })
  log
    .say({ type: 'reasoning', text: 'The file first.', status: 'completed' })
    .say({ type: 'agent_message', text: 'I read the file.', status: 'completed' })
  log
    .call('unified_file', { action: 'read', path: 'src/a.ts' }, { output: 'export const a = 1\n' })
    .call('unified_search', { action: 'grep', pattern: 'a' }, { output: 'src/a.ts:1' })
    .stepEnd({ attempts: 2 })
  log.call(
    'unified_file',
    { action: 'delete', path: 'b.ts' },
    { error_code: 'VT_POLICY_DENIED', outcome: 'permission_rejected', output: 'VT_POLICY_DENIED: no', asked: true },
  )
  log
    .call(
      'unified_file',
      { action: 'edit', path: 'src/a.ts' },
      { changes: [{ path: 'src/a.ts', kind: 'update', added_lines: 3, removed_lines: 1 }], asked: true },
    )
    .stepEnd()
  log.call(
    'unified_exec',
    { action: 'run', command: 'npm test' },
    { command: 'npm test', exit_code: 1, output: '1 failing', origin: 'harness' },
  )
  log
    .say({ type: 'harness', event: 'verification_failed', message: 'npm test failed.', data: { commands: 1 } })
    .turnEnd()
  log.add('thread.compact_boundary', {
    trigger: 'auto',
    mode: 'local',
    original_message_count: 9,
    compacted_message_count: 3,
    tokens_before: 5000,
    tokens_after: 900,
    deduped_reads: 1,
  })
  log.ask('Go on.').say({
    type: 'subagent',
    child_thread_id: 'th_child',
    agent_name: 'explorer',
    status: 'completed',
    summary: 'Nothing else.',
  })
  log
    .call(
      'unified_exec',
      { action: 'run', command: 'node x.js' },
      { command: 'node x.js', exit_code: 3, output: 'boom' },
    )
    .stepEnd()
  log
    .say({ type: 'agent_message', text: 'Done: the parser is fixed.', status: 'completed' })
    .stepEnd({ finish_reason: 'stop', cost_usd: 0.1 + 0.2 })
  log.call(
    'unified_exec',
    { action: 'run', command: 'npm test' },
    { command: 'npm test', exit_code: 0, output: '12 passing', origin: 'harness' },
  )
  log.say({ type: 'harness', event: 'verification_passed', message: 'npm test passed.' }).turnEnd()
  return log.end({
    verified: true,
    result: 'Done: the parser is fixed.',
    verification: {
      result: 'passed',
      commands: [{ command: 'npm test', exit_code: 0, timed_out: false, duration_ms: 100, digest: 'b'.repeat(64) }],
    },
  })
}
