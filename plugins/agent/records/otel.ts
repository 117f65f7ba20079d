import type { JsonObject } from '../../../core/shapes/index.js'
import { sha256 } from '../../../core/system/index.js'
import {
  toArguments,
  isFailed,
  RunReducer,
  type LoggedEvent,
  type TracedCall,
  type RunHead,
  type RunPiece,
  type StepRecord,
} from '../runs/index.js'

type AttributeValue = string | number | boolean | readonly string[]
/** The attribute names of the GenAI conventions 0.1.0, all in development. */
const names = {
  operation: 'gen_ai.operation.name',
  agent: 'gen_ai.agent.name',
  agentId: 'gen_ai.agent.id',
  conversation: 'gen_ai.conversation.id',
  provider: 'gen_ai.provider.name',
  model: 'gen_ai.request.model',
  answered: 'gen_ai.response.model',
  finish: 'gen_ai.response.finish_reasons',
  input: 'gen_ai.usage.input_tokens',
  output: 'gen_ai.usage.output_tokens',
  cached: 'gen_ai.usage.cache_read.input_tokens',
  created: 'gen_ai.usage.cache_creation.input_tokens',
  tool: 'gen_ai.tool.name',
  call: 'gen_ai.tool.call.id',
  type: 'gen_ai.tool.type',
  given: 'gen_ai.tool.call.arguments',
  result: 'gen_ai.tool.call.result',
  messages: 'gen_ai.output.messages',
  error: 'error.type',
}

/**
 * Exports a log as one OTLP/JSON document in pieces: spans `invoke_agent` (one a run), `chat` and `execute_tool`. Ids
 * derive from those of the thread, so that a second export is the same trace. Texts of people and models require
 * `content`.
 */
export async function* exportOtel(
  events: AsyncIterable<LoggedEvent>,
  { content = false }: { content?: boolean } = {},
): AsyncGenerator<string> {
  const reducer = new RunReducer()
  const spans = new Spans(reducer, content)
  let begun = false
  const render = (pieces: readonly RunPiece[]): string => {
    let text = ''
    for (const span of pieces.flatMap((piece) => spans.toSpans(piece))) {
      text += `${begun ? ',\n' : formatBeginning(reducer.head)}${JSON.stringify(span)}`
      begun = true
    }
    return text
  }
  for await (const event of events) {
    const text = render(reducer.add(event))
    if (text !== '') yield text
  }
  yield render(reducer.end())
  const last = spans.last()
  if (last) yield `${begun ? ',\n' : formatBeginning(reducer.head)}${JSON.stringify(last)}`
  else if (!begun) yield formatBeginning(reducer.head)
  yield ']}]}]}\n'
}

function formatBeginning({ version }: RunHead): string {
  const resource = toAttributes({ 'service.name': 'vtcode', 'service.version': version || 'unknown' })
  return (
    `{"resourceSpans":[{"resource":{"attributes":${JSON.stringify(resource)}` +
    '},"scopeSpans":[{"scope":{"name":"vtcode"},"spans":[\n'
  )
}

interface SpanBody {
  name: string
  kind: number
  from: string
  to: string
  failed: boolean
  attributes: Record<string, AttributeValue>
}

class Spans {
  private run = 0
  private head: RunHead | undefined
  /** The latest end: no parent ends before its children. */
  private latest = ''

  constructor(
    private readonly reducer: RunReducer,
    private readonly content: boolean,
  ) {}

  toSpans(piece: RunPiece): JsonObject[] {
    if (piece.kind === 'run_start') {
      const left = this.last()
      this.run += 1
      this.head = piece.head
      this.latest = piece.head.started_at
      return left ? [left] : []
    }
    if (piece.kind === 'run_end') {
      this.latest = later(this.latest, piece.end.at)
      const ended = this.last(
        {
          'vtcode.outcome': piece.end.outcome_code,
          ...(piece.end.verified !== null && { 'vtcode.verified': piece.end.verified }),
        },
        piece.end.subtype !== 'success',
      )
      return ended ? [ended] : []
    }
    if (piece.kind === 'step') return [this.chat(piece), ...piece.calls.map((call) => this.toolCall(call))]
    return piece.kind === 'own_call' ? [this.toolCall(piece.call)] : []
  }

  /** Ends the span of the open run. */
  last(more: Record<string, AttributeValue> = {}, failed = false): JsonObject | undefined {
    const { head } = this
    if (!head) return undefined
    this.head = undefined
    const about = {
      [names.operation]: 'invoke_agent',
      [names.agent]: 'vtcode',
      [names.agentId]: head.thread_id,
      [names.conversation]: head.session_id,
      [names.model]: head.model,
      'vtcode.mode': head.mode,
    }
    return this.span(`run ${this.run}`, undefined, {
      name: 'invoke_agent vtcode',
      kind: 1,
      from: head.started_at,
      to: this.latest,
      failed,
      attributes: { ...about, ...more },
    })
  }

  private chat(step: StepRecord): JsonObject {
    const { usage, model, started_at, duration_ms, calls, ended_at } = step
    // A chat ends when its first call begins.
    const to = calls[0]?.started_at ?? ended_at
    const text = step.texts
      .filter(({ type, status }) => type === 'text' && status !== 'discarded')
      .map((one) => one.text)
      .join('\n\n')
    const about = {
      [names.operation]: 'chat',
      [names.model]: model,
      [names.answered]: model,
      [names.input]: usage.input_tokens,
      [names.output]: usage.output_tokens,
      ...(model.includes('/') && { [names.provider]: model.split('/')[0]! }),
      ...(step.finish_reason && { [names.finish]: [step.finish_reason] }),
      [names.cached]: usage.cached_input_tokens,
      [names.created]: usage.cache_creation_tokens,
      'vtcode.step': step.position,
      'vtcode.attempts': step.attempts,
      'vtcode.ttft_ms': step.ttft_ms,
      'vtcode.duration_ms': duration_ms,
      ...(step.cost_usd !== null && { 'vtcode.cost_usd': step.cost_usd }),
      ...(this.content && {
        [names.messages]: JSON.stringify([{ role: 'assistant', parts: [{ type: 'text', content: text }] }]),
      }),
    }
    return this.span(`step ${step.position}`, `run ${this.run}`, {
      name: `chat ${model}`,
      kind: 3,
      from: started_at,
      to: later(started_at, to),
      failed: step.status === 'cut',
      attributes: about,
    })
  }

  private toolCall(call: TracedCall): JsonObject {
    const { tool, call_id, started_at, ended_at, executor, exit_code, error_code, outcome } = call
    const about = {
      [names.operation]: 'execute_tool',
      [names.tool]: tool,
      [names.call]: call_id,
      [names.type]: 'function',
      'vtcode.effects': [...call.effects],
      'vtcode.duration_ms': call.duration_ms,
      'vtcode.bytes': call.bytes,
      ...(executor !== undefined && { 'vtcode.executor': executor }),
      ...(exit_code !== undefined && { 'vtcode.exit_code': exit_code }),
      ...(outcome && { 'vtcode.outcome': outcome }),
      ...(error_code !== undefined && { [names.error]: error_code }),
      ...(this.content && { [names.given]: JSON.stringify(toArguments(call)), [names.result]: call.output ?? '' }),
    }
    const id = `call ${call_id} ${call.item_id}`
    return this.span(id, `run ${this.run}`, {
      name: `execute_tool ${tool}`,
      kind: 1,
      from: started_at,
      to: later(started_at, ended_at),
      failed: isFailed(call),
      attributes: about,
    })
  }

  private span(
    id: string,
    parent: string | undefined,
    { name, kind, from, to, failed, attributes: about }: SpanBody,
  ): JsonObject {
    const thread = this.reducer.head.thread_id
    this.latest = later(this.latest, to)
    return {
      traceId: hexDigest(thread, 32),
      spanId: hexDigest(`${thread} ${id}`, 16),
      ...(parent !== undefined && { parentSpanId: hexDigest(`${thread} ${parent}`, 16) }),
      name,
      kind,
      startTimeUnixNano: nanos(from),
      endTimeUnixNano: nanos(to),
      attributes: toAttributes(about),
      status: { code: failed ? 2 : 0 },
    }
  }
}

/** Returns the first hex digits of a digest. */
const hexDigest = (text: string, length: number): string => sha256(text).slice(0, length)
const later = (a: string, b: string): string => (a > b ? a : b)
const nanos = (at: string): string => `${Date.parse(at) || 0}000000`

function toAttributes(values: Record<string, AttributeValue>): JsonObject[] {
  return Object.entries(values).map(([key, value]) => ({ key, value: toAttributeValue(value) }))
}
function toAttributeValue(value: AttributeValue): JsonObject {
  if (typeof value === 'string') return { stringValue: value }
  if (typeof value === 'boolean') return { boolValue: value }
  if (typeof value === 'number') return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value }
  return { arrayValue: { values: value.map((one) => ({ stringValue: one })) } }
}
