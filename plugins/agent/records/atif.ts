import { omitUndefined, type JsonObject } from '../../../core/shapes/index.js'
import {
  toArguments,
  RunReducer,
  type LoggedEvent,
  type BoundaryEntry,
  type TracedCall,
  type NoteEntry,
  type RunPiece,
  type SegmentEntry,
  type StepRecord,
} from '../runs/index.js'

/** The files of a log. */
export interface RecordFiles {
  /** Reads a file of the session folder by its path, such as `prompts/<sha256>`; `undefined` if it is missing. */
  read(path: string): Promise<string | undefined>
  /** Returns the log and files of a sub-agent by its thread; `undefined` if unknown. */
  child?(thread_id: string): { events: AsyncIterable<LoggedEvent>; files: RecordFiles } | undefined
}
const deepest = 8

/**
 * Exports a log as an ATIF-v1.7 trajectory, one JSON document in pieces; memory holds one step. Source of the format:
 * Harbor's RFC 0001. Calls have the unique ids of the thread; data without a key of the format goes to `extra`.
 */
export async function* exportAtif(
  events: AsyncIterable<LoggedEvent>,
  files: RecordFiles,
  depth = 0,
): AsyncGenerator<string> {
  const reducer = new RunReducer()
  const steps = new AtifSteps(files)
  const children = new Set<string>()
  let begun = false
  // The first question precedes the first segment, whose tools belong into the head.
  let early: string[] = []
  const render = async (pieces: readonly RunPiece[], last = false): Promise<string> => {
    let text = ''
    for (const piece of pieces) {
      if (piece.kind === 'child') children.add(piece.thread_id)
      const step = await steps.toStep(piece)
      if (!step) continue
      if (begun) text += `,\n${JSON.stringify(step)}`
      else early.push(JSON.stringify(step))
      if (!begun && (piece.kind === 'segment' || piece.kind === 'step')) text += await renderHead()
    }
    return last && !begun ? text + (await renderHead()) : text
  }
  const renderHead = async (): Promise<string> => {
    begun = true
    const text = `${await formatHead(reducer, steps, files)}${early.join(',\n')}`
    early = []
    return text
  }
  for await (const event of events) {
    const text = await render(reducer.add(event))
    if (text !== '') yield text
  }
  yield await render(reducer.end(), true)
  yield `],\n"final_metrics":${JSON.stringify(toMetrics(reducer, steps.count))}`
  yield* exportSubagents(children, files, depth)
  yield `,\n"extra":${JSON.stringify(toOutcome(reducer))}}\n`
}

/** Exports children as trajectories of their own; missing ones are omitted. */
async function* exportSubagents(
  threads: ReadonlySet<string>,
  files: RecordFiles,
  depth: number,
): AsyncGenerator<string> {
  let first = true
  for (const thread of depth < deepest ? threads : []) {
    const child = files.child?.(thread)
    if (!child) continue
    yield first ? ',\n"subagent_trajectories":[' : ',\n'
    first = false
    yield* exportAtif(child.events, child.files, depth + 1)
  }
  if (!first) yield ']'
}

/** Formats the beginning of the document. */
async function formatHead({ head }: RunReducer, steps: AtifSteps, files: RecordFiles): Promise<string> {
  const { session_id, thread_id, model, mode, version } = head
  const tools = steps.catalog === undefined ? undefined : parseTools(await files.read(steps.catalog))
  const agent = {
    name: 'vtcode',
    version: version || 'unknown',
    ...(model && { model_name: model }),
    ...(tools && { tool_definitions: tools }),
    extra: { mode, ...(model.includes('/') && { provider: model.split('/')[0] }) },
  }
  return (
    `{"schema_version":"ATIF-v1.7",\n"session_id":${JSON.stringify(session_id || 'unknown')},` +
    `\n"trajectory_id":${JSON.stringify(thread_id || 'unknown')},\n"agent":${JSON.stringify(agent)},` +
    '\n"steps":[\n'
  )
}

function parseTools(text: string | undefined): JsonObject[] | undefined {
  try {
    const list: unknown = JSON.parse(text ?? '')
    return Array.isArray(list) && list.every((one) => typeof one === 'object' && one !== null)
      ? (list as JsonObject[])
      : undefined
  } catch {
    return undefined
  }
}

const toMetrics = ({ totals: { usage, cost_usd } }: RunReducer, total_steps: number): JsonObject => ({
  total_prompt_tokens: usage.input_tokens,
  total_completion_tokens: usage.output_tokens,
  total_cached_tokens: usage.cached_input_tokens,
  ...(cost_usd !== null && { total_cost_usd: cost_usd }),
  total_steps,
})

const toOutcome = ({ totals: { end, unknown_events }, head }: RunReducer): JsonObject => ({
  schema: 'vtcode-events/1.0.0',
  ...(end && { outcome_code: end.outcome_code, verified: end.verified }),
  ...omitUndefined({ parent_thread_id: head.parent_thread_id }),
  ...(unknown_events > 0 && { unknown_events }),
})

/** Steps of the format, numbered without a gap, with times that never go back. */
class AtifSteps {
  count = 0
  /** The path of the tools of the first segment. */
  catalog: string | undefined
  private turn = 0
  private last = ''

  constructor(private readonly files: RecordFiles) {}

  async toStep(piece: RunPiece): Promise<JsonObject | undefined> {
    switch (piece.kind) {
      case 'turn_start':
        this.turn = piece.turn.number
        return undefined
      case 'run_start':
      case 'run_end':
      case 'turn_end':
        return undefined
      case 'segment':
        return this.segment(piece)
      case 'message':
        return this.createStep(piece.at, 'user', piece.text, { extra: { origin: piece.origin, turn: this.turn } })
      case 'step':
        return this.step(piece)
      case 'own_call':
        return this.createStep(piece.at, 'system', `The harness ran ${piece.call.command ?? piece.call.tool}.`, {
          observation: { results: [toAtifResult(piece.call, false)] },
          llm_call_count: 0,
        })
      case 'boundary':
        return this.createStep(piece.at, 'system', formatBoundary(piece), {
          extra: { context_management: toContextChange(piece) },
        })
      case 'child': {
        const known = this.files.child?.(piece.thread_id) !== undefined
        const reference = known ? { subagent_trajectory_ref: [{ trajectory_id: piece.thread_id }] } : {}
        const result = { content: piece.summary ?? piece.status, ...reference }
        return this.createStep(piece.at, 'system', `The sub-agent ${piece.name} is ${piece.status}.`, {
          observation: { results: [result] },
          extra: { child_thread_id: piece.thread_id },
        })
      }
      case 'note':
        return this.createStep(piece.at, 'system', formatNote(piece), {
          extra: { event: piece.name, ...omitUndefined({ data: piece.data }) },
        })
    }
  }

  private async segment({
    at,
    segment_id,
    catalog_hash,
    reason,
    prompt_path,
    catalog_path,
  }: SegmentEntry): Promise<JsonObject> {
    this.catalog ??= catalog_path
    const prompt = await this.files.read(prompt_path)
    return this.createStep(at, 'system', prompt ?? `The system prompt of ${segment_id} is in ${prompt_path}.`, {
      extra: { segment_id, catalog_hash, reason },
    })
  }

  private step(step: StepRecord): JsonObject {
    const { calls, texts, usage, ttft_ms, duration_ms, attempts } = step
    const kept = texts.filter(({ status }) => status !== 'discarded')
    const joinTexts = (...types: string[]) =>
      kept
        .filter(({ type }) => types.includes(type))
        .map(({ text }) => text)
        .join('\n\n')
    const reasoning = joinTexts('reasoning')
    const metrics = {
      prompt_tokens: usage.input_tokens,
      completion_tokens: usage.output_tokens,
      cached_tokens: usage.cached_input_tokens,
      ...(step.cost_usd !== null && { cost_usd: step.cost_usd }),
      extra: {
        cache_creation_tokens: usage.cache_creation_tokens,
        ttft_ms,
        duration_ms,
        attempts,
        ...omitUndefined({ reasoning_tokens: usage.reasoning_tokens }),
        ...(usage.estimated && { estimated: true }),
      },
    }
    const failed = calls.filter(({ is_error }) => is_error).map(({ call_id }) => call_id)
    const discarded = texts.length - kept.length
    return this.createStep(step.started_at, 'agent', joinTexts('text', 'plan'), {
      ...(step.model && { model_name: step.model }),
      ...(reasoning && { reasoning_content: reasoning }),
      ...(calls.length > 0 && {
        tool_calls: calls.map(toAtifCall),
        observation: { results: calls.map((call) => toAtifResult(call, true)) },
      }),
      ...(step.status === 'completed' && { metrics }),
      llm_call_count: attempts,
      extra: {
        turn: this.turn,
        ...omitUndefined({ purpose: step.purpose }),
        ...(failed.length > 0 && { error_call_ids: failed }),
        ...(discarded > 0 && { discarded_texts: discarded }),
        ...(step.status === 'cut' && { cut: true }),
      },
    })
  }

  private createStep(at: string, source: 'system' | 'user' | 'agent', message: string, more: JsonObject): JsonObject {
    this.count += 1
    if (at > this.last) this.last = at
    return { step_id: this.count, timestamp: this.last, source, message, ...more }
  }
}

const toAtifCall = (call: TracedCall): JsonObject => ({
  tool_call_id: call.call_id,
  function_name: call.tool,
  arguments: toArguments(call),
  extra: {
    effects: [...call.effects],
    ...omitUndefined({ executor: call.executor }),
    ...(call.outcome && { outcome: call.outcome }),
  },
})

function toAtifResult(call: TracedCall, asked: boolean): JsonObject {
  const { call_id, output, error_code, duration_ms, exit_code, spool_path } = call
  const extra = { duration_ms, ...omitUndefined({ error_code, exit_code, spool_path }) }
  return {
    ...(asked && { source_call_id: call_id }),
    content: output ?? 'The call was interrupted; it has no result.',
    extra,
  }
}

/** Formats one sentence about a compaction or reset. */
export function formatBoundary({ what, trigger, tokens_before, tokens_after }: BoundaryEntry): string {
  if (what === 'reset') return `The conversation was restarted (${trigger}).`
  const tokens = tokens_before === undefined ? '' : `: ${tokens_before} tokens became ${tokens_after ?? 0}`
  return `The conversation was compacted (${trigger})${tokens}.`
}

const toContextChange = ({ what, trigger, tokens_before, tokens_after }: BoundaryEntry): JsonObject => ({
  type: what,
  boundary: 'replace',
  trigger,
  ...omitUndefined({ tokens_before, tokens_after }),
})

const formatNote = ({ name, text }: NoteEntry): string => (text === '' ? name.replaceAll('_', ' ') : text)
