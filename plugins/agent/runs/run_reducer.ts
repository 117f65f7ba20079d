import { omitUndefined } from '../../../core/shapes/index.js'
import type { FileChange, ThreadEvent, ThreadItem, Usage } from '../base/index.js'
import { createCall, isFailed } from './traced_call.js'
import type { RunHead, RunPiece, RunTotals, StepRecord, StepText, TracedCall, TurnRecord } from './types.js'

/** Events as logs have them; a later version may have more. */
export type LoggedEvent = ThreadEvent
const noUsage = (): Usage => ({ input_tokens: 0, cached_input_tokens: 0, cache_creation_tokens: 0, output_tokens: 0 })

/** Reduces a log in bounded memory: the data of a step is dropped when the step ends. */
export class RunReducer {
  readonly head: RunHead = { session_id: '', thread_id: '', model: '', mode: '', cwd: '', version: '', started_at: '' }
  readonly totals: RunTotals = {
    runs: 0,
    turns: 0,
    steps: 0,
    calls: 0,
    failed_calls: 0,
    usage: noUsage(),
    cost_usd: 0,
    files: [],
    ended_at: '',
    unknown_events: 0,
  }
  private readonly calls = new Map<string, TracedCall>()
  /** The calls that the harness made. */
  private readonly own = new Map<string, TracedCall>()
  private readonly files = new Map<string, FileChange>()
  private texts: StepText[] = []
  private turn = ''
  /** The end of the last entry before the current step. */
  private since = ''
  private lastStep = 0

  add(event: LoggedEvent): RunPiece[] {
    if (typeof event.ts === 'string') this.totals.ended_at = event.ts
    switch (event.type) {
      case 'thread.started':
        return this.beginRun(event)
      case 'thread.completed':
        return this.endRun(event)
      case 'turn.started':
        this.turn = event.turn_id ?? `turn-${this.totals.turns + 1}`
        this.since = event.ts
        this.totals.turns += 1
        return [
          {
            kind: 'turn_start',
            turn: {
              turn_id: this.turn,
              number: event.turn_number,
              started_at: event.ts,
              ...(event.token_breakdown && { breakdown: event.token_breakdown }),
            },
          },
        ]
      case 'turn.completed':
        return this.closeTurn(event.ts, { status: 'completed', usage: event.usage, cost_usd: event.cost_usd })
      case 'turn.failed':
        return this.closeTurn(event.ts, {
          status: 'failed',
          code: event.code,
          message: event.message,
          ...(event.usage && { usage: event.usage }),
        })
      case 'step.completed':
        return this.endStep(event)
      case 'item.started':
        return this.startItem(event.item, event.ts)
      case 'item.completed':
        return this.completeItem(event.item, event.ts)
      default:
        return this.readOther(event)
    }
  }

  /** Returns the pieces that are still open at the end of the log. */
  end(): RunPiece[] {
    const at = this.totals.ended_at
    return this.turn === '' ? this.cutStep(at) : this.closeTurn(at, { status: 'open' })
  }

  private beginRun(event: LoggedEvent & { type: 'thread.started' }): RunPiece[] {
    const { session_id, thread_id, parent_thread_id, model, mode, cwd, version, ts: started_at } = event
    // A killed process wrote no end.
    const left = this.end()
    const head = {
      session_id,
      thread_id,
      ...omitUndefined({ parent_thread_id }),
      model,
      mode,
      cwd,
      version,
      started_at,
    }
    if (this.totals.runs === 0) Object.assign(this.head, head)
    this.totals.runs += 1
    this.since = started_at
    delete this.totals.end
    return [...left, { kind: 'run_start', head }]
  }

  private endRun({
    ts: at,
    outcome_code,
    subtype,
    result,
    stop_reason,
    verified,
    verification,
    not_applied,
  }: LoggedEvent & { type: 'thread.completed' }): RunPiece[] {
    const left = this.end()
    const end = {
      at,
      outcome_code,
      subtype,
      verified,
      ...omitUndefined({ result, stop_reason }),
      ...(verification && { verification }),
      ...(not_applied && { not_applied }),
    }
    this.totals.end = end
    return [...left, { kind: 'run_end', end }]
  }

  private closeTurn(
    at: string,
    how: Pick<TurnRecord, 'status' | 'code' | 'message' | 'usage' | 'cost_usd'>,
  ): RunPiece[] {
    const left = this.cutStep(at)
    const turn_id = this.turn
    this.turn = ''
    return [...left, { kind: 'turn_end', turn: { turn_id, ended_at: at, ...how } }]
  }

  /** Returns the known parts of a step that never ended. */
  private cutStep(at: string): RunPiece[] {
    const calls = this.takeCalls(at)
    const own: RunPiece[] = [...this.own.values()].map((call) => ({
      kind: 'own_call',
      at: call.started_at,
      call: { ...call, ended_at: at },
    }))
    this.own.clear()
    if (calls.length === 0 && this.texts.length === 0) return own
    return [
      ...own,
      this.finishStep(
        {
          step: this.lastStep + 1,
          status: 'cut',
          model: this.head.model,
          usage: noUsage(),
          cost_usd: null,
          ttft_ms: 0,
          duration_ms: 0,
          attempts: 1,
        },
        calls,
        at,
      ),
    ]
  }

  private endStep(event: LoggedEvent & { type: 'step.completed' }): RunPiece[] {
    const {
      step,
      model,
      finish_reason,
      usage,
      cost_usd = null,
      ttft_ms = 0,
      duration_ms = 0,
      attempts = 1,
      purpose,
      prefix,
      ts,
    } = event
    if (purpose === undefined) this.lastStep = step
    addUsage(this.totals, usage, cost_usd)
    return [
      this.finishStep(
        {
          step,
          status: 'completed',
          model,
          finish_reason,
          usage,
          cost_usd,
          ttft_ms,
          duration_ms,
          attempts,
          ...omitUndefined({ purpose, prefix }),
        },
        this.takeCalls(ts),
        ts,
      ),
    ]
  }

  private finishStep(
    about: Omit<StepRecord, 'kind' | 'position' | 'started_at' | 'ended_at' | 'texts' | 'calls'>,
    calls: TracedCall[],
    ended_at: string,
  ): StepRecord {
    const texts = this.texts
    this.texts = []
    this.totals.steps += 1
    // The model finishes when its first call begins; before its answer there may be waits.
    const answered = calls[0]?.started_at ?? ended_at
    const took = Math.min(Math.max(Number(about.duration_ms) || 0, 0), 1e12)
    const began = new Date((Date.parse(answered) || 1e12) - took).toISOString()
    const started_at = took > 0 && began > this.since ? began : this.since
    this.since = ended_at
    return { kind: 'step', position: this.totals.steps, ...about, started_at, ended_at, texts, calls }
  }

  /** Returns the calls of the step. An unfinished one stays with the step that asked for it. */
  private takeCalls(ended_at: string): TracedCall[] {
    const calls = [...this.calls.values()].map((call) => (call.status === 'in_progress' ? { ...call, ended_at } : call))
    this.calls.clear()
    return calls
  }

  private startItem(item: ThreadItem, at: string): RunPiece[] {
    if (item.type === 'tool_invocation')
      (item.origin === 'harness' ? this.own : this.calls).set(item.call_id, createCall(item, at))
    return []
  }

  private completeItem(item: ThreadItem, at: string): RunPiece[] {
    switch (item.type) {
      case 'user_message':
        this.since = at
        return [{ kind: 'message', at, id: item.id, origin: item.origin, text: item.text }]
      case 'agent_message':
      case 'reasoning':
      case 'plan':
        this.texts.push({
          id: item.id,
          type: item.type === 'agent_message' ? 'text' : item.type,
          text: item.text,
          status: item.status,
        })
        return []
      case 'tool_invocation':
        return this.endCall(item, at)
      case 'tool_output':
      case 'command_execution':
      case 'file_change':
        this.addDetails(item)
        return []
      case 'harness':
        return [
          {
            kind: 'note',
            at,
            id: item.id,
            name: item.event,
            text: item.message ?? '',
            error: false,
            ...(item.data && { data: item.data }),
          },
        ]
      case 'error':
        return [{ kind: 'note', at, id: item.id, name: item.code, text: item.message, error: true }]
      default:
        return this.readOtherItem(item, at)
    }
  }

  /** Handles items of later versions and items that repeat a call. */
  private readOtherItem(item: ThreadItem, at: string): RunPiece[] {
    const { type, id, child_thread_id, agent_name, status, summary, query } = item as unknown as Record<string, string>
    if (type === 'subagent' && child_thread_id !== undefined) {
      return [
        {
          kind: 'child',
          at,
          id: id ?? child_thread_id,
          thread_id: child_thread_id,
          name: agent_name ?? '',
          status: status ?? '',
          ...omitUndefined({ summary }),
        },
      ]
    }
    // Calls of MCP tools and web searches are known from their invocation.
    if (type !== 'mcp_tool_call' && query === undefined) this.totals.unknown_events += 1
    return []
  }

  private endCall(item: ThreadItem & { type: 'tool_invocation' }, at: string): RunPiece[] {
    const call = this.findCall(item.call_id) ?? createCall(item, at)
    const { status, outcome, executor } = item
    Object.assign(call, {
      status,
      ended_at: at,
      arguments: item.arguments,
      ...(outcome && { outcome }),
      ...omitUndefined({ executor }),
    })
    this.totals.calls += 1
    if (isFailed(call)) this.totals.failed_calls += 1
    if (item.origin !== 'harness') {
      this.calls.set(item.call_id, call)
      return []
    }
    this.own.delete(item.call_id)
    this.since = at
    return [{ kind: 'own_call', at: call.started_at, call }]
  }

  private findCall(id: string): TracedCall | undefined {
    return this.calls.get(id) ?? this.own.get(id)
  }

  /** Adds the details of a call that other items have. */
  private addDetails(item: ThreadItem & { type: 'tool_output' | 'command_execution' | 'file_change' }): void {
    const call = this.findCall(item.call_id)
    if (item.type === 'file_change') for (const change of item.changes) this.addChange(change)
    if (!call) return
    if (item.type === 'file_change') call.changes = [...(call.changes ?? []), ...item.changes]
    else if (item.type === 'command_execution') call.command = item.command
    else {
      const { output, bytes, is_error, duration_ms, error_code, exit_code, spool_path } = item
      const more = { ...omitUndefined({ error_code, exit_code, spool_path }) }
      Object.assign(call, { output, bytes, is_error, duration_ms }, more)
    }
  }

  private addChange({ path, kind, added_lines = 0, removed_lines = 0 }: FileChange): void {
    const known = this.files.get(path)
    this.files.set(path, {
      path,
      kind: known?.kind === 'add' && kind === 'update' ? 'add' : kind,
      added_lines: (known?.added_lines ?? 0) + added_lines,
      removed_lines: (known?.removed_lines ?? 0) + removed_lines,
    })
    this.totals.files = [...this.files.values()]
  }

  private readOther(event: LoggedEvent): RunPiece[] {
    const at = event.ts
    const id = `event-${event.seq}`
    switch (event.type) {
      case 'segment.started': {
        const { segment_id, model, reason, prompt_path, catalog_path, catalog_hash } = event
        return [{ kind: 'segment', at, segment_id, model, reason, prompt_path, catalog_path, catalog_hash }]
      }
      case 'thread.compact_boundary': {
        const {
          trigger,
          tokens_before,
          tokens_after,
          original_message_count: messages_before,
          compacted_message_count: messages_after,
          history_artifact_path: history_path,
        } = event
        return [
          {
            kind: 'boundary',
            at,
            what: 'compaction',
            trigger,
            tokens_before,
            tokens_after,
            messages_before,
            messages_after,
            ...omitUndefined({ history_path }),
          },
        ]
      }
      case 'context.reset':
        return [{ kind: 'boundary', at, what: 'reset', trigger: event.trigger }]
      case 'permission.requested':
        Object.assign(this.findCall(event.call_id) ?? {}, { asked: { reason: event.reason, policy: event.policy } })
        return []
      case 'permission.resolved':
        Object.assign(this.findCall(event.call_id) ?? {}, {
          answered: { decision: event.decision, wait_ms: event.wait_ms, ...(event.scope && { scope: event.scope }) },
        })
        return []
      case 'plan.approval.requested':
        return [{ kind: 'note', at, id, name: event.type, text: event.plan_file, error: false }]
      case 'plan.approval.resolved':
        return [{ kind: 'note', at, id, name: event.type, text: event.decision, error: false }]
      case 'interjected':
        return [{ kind: 'note', at, id, name: event.type, text: event.source, error: false }]
      case 'error':
        return [{ kind: 'note', at, id, name: event.code, text: event.message, error: true }]
      default:
        if (event.type !== 'item.updated') this.totals.unknown_events += 1
        return []
    }
  }
}

function addUsage(totals: RunTotals, usage: Usage, cost: number | null): void {
  const sum = totals.usage
  for (const key of ['input_tokens', 'cached_input_tokens', 'cache_creation_tokens', 'output_tokens'] as const)
    sum[key] += usage[key] ?? 0
  if (usage.reasoning_tokens !== undefined) sum.reasoning_tokens = (sum.reasoning_tokens ?? 0) + usage.reasoning_tokens
  if (usage.estimated) sum.estimated = true
  totals.cost_usd = totals.cost_usd === null || cost === null ? null : totals.cost_usd + cost
}
