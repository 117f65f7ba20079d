import { isObject, type JsonObject } from '../../../core/shapes/index.js'
import { AgentError } from '../base/index.js'
import type { LoggedEvent } from '../runs/index.js'

/** A trajectory of any program: every field may be missing. */
interface Trajectory {
  session_id?: unknown
  trajectory_id?: unknown
  agent?: { version?: unknown; model_name?: unknown; extra?: { mode?: unknown } }
  steps: AtifStep[]
  extra?: { outcome_code?: unknown; verified?: unknown }
}
interface AtifStep {
  source: 'system' | 'user' | 'agent'
  timestamp?: unknown
  message?: unknown
  model_name?: unknown
  reasoning_content?: unknown
  tool_calls?: {
    tool_call_id?: unknown
    function_name?: unknown
    arguments?: unknown
    extra?: { effects?: unknown; executor?: unknown; outcome?: unknown }
  }[]
  observation?: { results?: AtifResult[] }
  metrics?: {
    prompt_tokens?: unknown
    completion_tokens?: unknown
    cached_tokens?: unknown
    cost_usd?: unknown
    extra?: { ttft_ms?: unknown; duration_ms?: unknown; attempts?: unknown; cache_creation_tokens?: unknown }
  }
  llm_call_count?: unknown
  extra?: {
    turn?: unknown
    origin?: unknown
    event?: unknown
    segment_id?: unknown
    context_management?: JsonObject
    child_thread_id?: unknown
    cut?: unknown
    purpose?: unknown
  }
}
interface AtifResult {
  source_call_id?: unknown
  content?: unknown
  extra?: { duration_ms?: unknown; error_code?: unknown; exit_code?: unknown; spool_path?: unknown }
}
function text(value: unknown): string {
  if (typeof value === 'string') return value
  if (Array.isArray(value))
    return value.map((part: { text?: unknown } | null) => text(part?.text ?? '[image]')).join('\n')
  return value === undefined ? '' : JSON.stringify(value)
}
const count = (value: unknown): number =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : 0

/** Returns whether a document is an ATIF trajectory of any version. */
export const isAtif = (document: unknown): boolean =>
  isObject(document) && typeof document['schema_version'] === 'string' && document['schema_version'].startsWith('ATIF-')

/**
 * Converts an ATIF trajectory of any program to events. Missing data, such as the turn of a step, follows from the
 * order; times within a step come from its durations. Throws VT_EXPORT_INVALID with the place.
 */
export function* readAtifEvents(document: unknown): Generator<LoggedEvent> {
  yield* new AtifEvents(checkTrajectory(document)).all()
}

function checkTrajectory(document: unknown): Trajectory {
  const wrong = (where: string, what: string) =>
    new AgentError('VT_EXPORT_INVALID', `The document is no ATIF trajectory: ${where} ${what}.`)
  if (!isAtif(document)) throw wrong('schema_version', 'does not begin with ATIF-')
  const { steps } = document as { steps?: unknown }
  if (!Array.isArray(steps)) throw wrong('steps', 'is no list')
  steps.forEach((step: unknown, index) => {
    if (!isObject(step)) throw wrong(`steps[${index}]`, 'is no object')
    if (!['system', 'user', 'agent'].includes(step['source'] as string))
      throw wrong(`steps[${index}].source`, 'has to be system, user or agent')
    if (step['timestamp'] !== undefined && Number.isNaN(Date.parse(text(step['timestamp']))))
      throw wrong(`steps[${index}].timestamp`, 'is no time')
    if (step['tool_calls'] !== undefined && !(Array.isArray(step['tool_calls']) && step['tool_calls'].every(isObject)))
      throw wrong(`steps[${index}].tool_calls`, 'is no list of objects')
    const results = isObject(step['observation']) ? step['observation']['results'] : undefined
    if (results !== undefined && !(Array.isArray(results) && results.every(isObject)))
      throw wrong(`steps[${index}].observation.results`, 'is no list of objects')
  })
  return document as unknown as Trajectory
}

type Body = { type: string } & Record<string, unknown>

const textField = (name: string, value: unknown): JsonObject => (value === undefined ? {} : { [name]: text(value) })

class AtifEvents {
  private readonly thread: string
  private seq = 0
  private clock = 0
  private turn = 0
  private givenTurn: unknown
  private begun = false
  private items = 0
  private steps = 0

  constructor(private readonly document: Trajectory) {
    this.thread = text(document.trajectory_id ?? document.session_id ?? 'trajectory')
  }

  *all(): Generator<LoggedEvent> {
    const { agent = {}, steps, session_id, extra } = this.document
    this.clock = Date.parse(text(steps.find(({ timestamp }) => timestamp !== undefined)?.timestamp)) || 0
    const model = text(agent.model_name)
    yield this.event({
      type: 'thread.started',
      session_id: text(session_id ?? this.thread),
      model,
      mode: text(agent.extra?.mode ?? 'unknown'),
      cwd: '',
      version: text(agent.version),
    })
    for (const step of steps) {
      this.clock = Math.max(this.clock, Date.parse(text(step.timestamp)) || 0)
      if (this.opensTurn(step)) yield* this.openTurn(step.extra?.turn)
      if (step.source !== 'system') this.begun = true
      if (step.source === 'agent') yield* this.agentStep(step)
      else if (step.source === 'system') yield* this.systemStep(step)
      else
        yield* this.item({
          type: 'user_message',
          text: text(step.message),
          origin: text(step.extra?.origin ?? 'prompt'),
        })
    }
    if (this.turn > 0) yield this.turnEnd()
    if (extra?.outcome_code === undefined) return
    const outcome = text(extra.outcome_code)
    const verified = typeof extra.verified === 'boolean' ? extra.verified : null
    yield this.event({
      type: 'thread.completed',
      outcome_code: outcome,
      subtype: outcome === 'success' ? 'success' : 'error_during_execution',
      verified,
    })
  }

  private event(body: Body): LoggedEvent {
    this.seq += 1
    return {
      ...body,
      seq: this.seq,
      ts: new Date(this.clock).toISOString(),
      thread_id: this.thread,
      ...(this.turn > 0 && { turn_id: `turn-${this.turn}` }),
    } as unknown as LoggedEvent
  }
  private *item(item: Record<string, unknown>): Generator<LoggedEvent> {
    yield this.event({ type: 'item.completed', item: { id: `it_${++this.items}`, status: 'completed', ...item } })
  }
  private turnEnd = (): LoggedEvent => this.event({ type: 'turn.completed', usage: undefined })

  /** A system text before the first question belongs to its turn. */
  private opensTurn({ source, extra }: AtifStep): boolean {
    const given = extra?.turn
    if (this.turn === 0) return true
    return given === undefined ? source === 'user' && this.begun : count(given) > 0 && given !== this.givenTurn
  }

  private *openTurn(given: unknown): Generator<LoggedEvent> {
    if (this.turn > 0) yield this.turnEnd()
    this.turn += 1
    this.givenTurn = given
    yield this.event({ type: 'turn.started', turn_number: this.turn })
  }

  private *agentStep({
    message,
    model_name,
    reasoning_content,
    tool_calls = [],
    observation,
    metrics,
    llm_call_count,
    extra = {},
  }: AtifStep): Generator<LoggedEvent> {
    const own = metrics?.extra ?? {}
    const duration_ms = Math.min(count(own.duration_ms), 1e9)
    this.clock += duration_ms
    if (text(reasoning_content) !== '') yield* this.item({ type: 'reasoning', text: text(reasoning_content) })
    if (text(message) !== '') yield* this.item({ type: 'agent_message', text: text(message) })
    const results = new Map((observation?.results ?? []).map((result) => [text(result.source_call_id), result]))
    for (const [index, call] of tool_calls.entries()) {
      const id = text(call.tool_call_id ?? `${this.steps + 1}-${index + 1}`)
      const { effects, executor, outcome } = call.extra ?? {}
      const about = { effects: Array.isArray(effects) ? effects.map(text) : [], ...textField('executor', executor) }
      yield* this.callEvents(
        { call_id: id, tool_name: text(call.function_name), arguments: call.arguments ?? {}, ...about },
        results.get(id),
        outcome,
      )
    }
    if (extra.cut === true) return
    this.steps += 1
    const usage = {
      input_tokens: count(metrics?.prompt_tokens),
      cached_input_tokens: count(metrics?.cached_tokens),
      cache_creation_tokens: count(own.cache_creation_tokens),
      output_tokens: count(metrics?.completion_tokens),
    }
    const cost_usd = typeof metrics?.cost_usd === 'number' ? metrics.cost_usd : null
    const about = {
      usage,
      cost_usd,
      ttft_ms: count(own.ttft_ms),
      duration_ms,
      attempts: count(llm_call_count) || 1,
      item_ids: [],
      ...textField('purpose', extra.purpose),
    }
    yield this.event({
      type: 'step.completed',
      step: this.steps,
      model: text(model_name ?? this.document.agent?.model_name),
      ...about,
    })
  }

  private *callEvents(
    item: Record<string, unknown> & { call_id: string },
    result: AtifResult | undefined,
    outcome?: unknown,
  ): Generator<LoggedEvent> {
    const whole = { id: `it_${++this.items}`, type: 'tool_invocation', ...item }
    yield this.event({ type: 'item.started', item: { ...whole, status: 'in_progress' } })
    if (!result) return
    const { duration_ms, error_code, exit_code, spool_path } = result.extra ?? {}
    this.clock += Math.min(count(duration_ms), 1e9)
    const output = text(result.content)
    const failed = error_code !== undefined
    yield* this.item({
      type: 'tool_output',
      call_id: item.call_id,
      output,
      status: failed ? 'failed' : 'completed',
      is_error: failed,
      duration_ms: count(duration_ms),
      bytes: Buffer.byteLength(output),
      ...(failed && { error_code: text(error_code) }),
      ...(typeof exit_code === 'number' && { exit_code }),
      ...(spool_path !== undefined && { spool_path: text(spool_path) }),
    })
    yield this.event({
      type: 'item.completed',
      item: {
        ...whole,
        status: failed ? 'failed' : 'completed',
        ...(outcome !== undefined && { outcome: text(outcome) }),
      },
    })
  }

  private *systemStep({ message, observation, extra = {} }: AtifStep): Generator<LoggedEvent> {
    const change = extra.context_management
    if (isObject(change)) {
      const { trigger = 'auto', tokens_before, tokens_after } = change
      const counts = {
        original_message_count: 0,
        compacted_message_count: 0,
        deduped_reads: 0,
        tokens_before: count(tokens_before),
        tokens_after: count(tokens_after),
      }
      yield this.event({ type: 'thread.compact_boundary', trigger: text(trigger), mode: 'local', ...counts })
      return
    }
    const results = observation?.results ?? []
    const child_thread_id = extra.child_thread_id
    if (child_thread_id !== undefined) {
      const [, agent_name = '', status = ''] = /^The sub-agent (.*) is (.*)\.$/.exec(text(message)) ?? []
      yield* this.item({
        type: 'subagent',
        child_thread_id: text(child_thread_id),
        agent_name,
        status,
        summary: text(results[0]?.content),
      })
      return
    }
    for (const result of results)
      yield* this.callEvents(
        {
          call_id: `h${this.seq}`,
          tool_name: 'harness',
          arguments: { message: text(message) },
          effects: [],
          origin: 'harness',
        },
        result,
      )
    if (results.length > 0) return
    if (extra.event === undefined) yield* this.item({ type: 'user_message', text: text(message), origin: 'system' })
    else yield* this.item({ type: 'harness', event: text(extra.event), message: text(message) })
  }
}
