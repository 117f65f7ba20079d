import type { CallRecord } from '../../lib/state/index.js'

/** A row of the page: a call, a message, a step, a turn or a run. A later row with an equal `key` updates it. */
export interface LiveRow {
  key: string
  session: string
  kind: 'call' | 'message' | 'step' | 'turn' | 'run' | 'note'
  at?: string
  /** Name of the tool, the author of a message, or the model. */
  name?: string
  /** Summary in one line. */
  brief?: string
  state?: 'running' | 'asking' | 'done' | 'failed' | 'denied'
  /** Short facts for the line, such as duration, code and cost. */
  facts?: string[]
  /** Texts below the line: title and text. */
  parts?: [string, string][]
}
const LIMITS = { text: 8 * 1024, brief: 160 }

const truncate = (text: string): string =>
  text.length > LIMITS.text
    ? `${text.slice(0, LIMITS.text)}\n… ${text.length - LIMITS.text} more characters are in the log.`
    : text
const asText = (value: unknown): string => (typeof value === 'string' ? value : (JSON.stringify(value, null, 1) ?? ''))
const summarize = (value: unknown): string => {
  const texts =
    typeof value === 'object' && value !== null
      ? Object.values(value).filter((one) => typeof one === 'string')
      : [asText(value)]
  return texts.join(' ').replace(/\s+/g, ' ').slice(0, LIMITS.brief)
}
const formatDuration = (ms: number): string => (ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`)
const keepTexts = (...facts: (string | undefined | false)[]): string[] =>
  facts.filter((fact) => typeof fact === 'string')

interface Event {
  type: string
  ts?: string
  turn_id?: string
  item?: Record<string, unknown>
  [name: string]: any
}

/** Converts a line of `events.jsonl` to rows; a value that is no event gives none. */
export function toEventRows(session: string, value: unknown): LiveRow[] {
  const event = ((value as { event?: unknown } | null)?.event ?? value) as Event | null
  if (typeof event !== 'object' || event === null || typeof event.type !== 'string') return []
  const at = typeof event.ts === 'string' ? event.ts : undefined
  const row = (kind: LiveRow['kind'], id: unknown, rest: Partial<LiveRow>): LiveRow[] => [
    { key: `${session} ${kind} ${asText(id)}`, session, kind, ...(at !== undefined && { at }), ...rest },
  ]
  return Object.hasOwn(rowsByEvent, event.type) ? rowsByEvent[event.type]!(event, row, at) : []
}

type MakeRow = (kind: LiveRow['kind'], id: unknown, rest: Partial<LiveRow>) => LiveRow[]
type Item = Record<string, unknown>

const rowsByEvent: Record<string, (event: Event, row: MakeRow, at: string | undefined) => LiveRow[]> = {
  'item.started': ({ item }, row) => (item?.['type'] === 'tool_invocation' ? toCallStartRows(item, row) : []),
  'item.completed': ({ item }, row) => {
    const type = asText(item?.['type'])
    return item && Object.hasOwn(rowsByItem, type) ? rowsByItem[type]!(item, row) : []
  },
  'permission.requested': ({ call_id, policy, reason }, row) =>
    row('call', call_id, { state: 'asking', parts: [['Asked', `${asText(policy)}: ${asText(reason)}`]] }),
  'permission.resolved': ({ call_id, decision, wait_ms }, row) =>
    row('call', call_id, {
      state: decision === 'allow' ? 'running' : 'denied',
      parts: [['Answer', `${asText(decision)} after ${formatUnknownDuration(wait_ms)}`]],
    }),
  'step.completed': ({ usage, cost_usd, duration_ms, model, step }, row) => {
    const cost = typeof cost_usd === 'number' && `${cost_usd.toFixed(4)} USD`
    const tokens = usage ? [`${usage.input_tokens} in`, `${usage.output_tokens} out`] : []
    const facts = keepTexts(formatUnknownDuration(duration_ms), ...tokens, cost)
    return row('step', step, { name: asText(model), brief: `step ${asText(step)}`, state: 'done', facts })
  },
  'turn.started': ({ turn_id, turn_number }, row) =>
    row('turn', turn_id, { name: `Turn ${asText(turn_number)}`, state: 'running' }),
  'turn.completed': ({ turn_id }, row) => row('turn', turn_id, { state: 'done' }),
  'turn.failed': ({ turn_id }, row) => row('turn', turn_id, { state: 'failed' }),
  'thread.started': ({ model, mode }, row, at) =>
    row('run', at, {
      name: 'Run begins',
      brief: asText(model),
      facts: keepTexts(`mode ${asText(mode)}`),
      state: 'done',
    }),
  'thread.completed': ({ outcome_code, subtype }, row, at) =>
    row('run', at, {
      name: 'Run ended',
      brief: asText(outcome_code),
      state: subtype === 'success' ? 'done' : 'failed',
    }),
  error: ({ code, message }, row, at) =>
    row('note', at, { name: asText(code), brief: asText(message), state: 'failed' }),
}

const formatUnknownDuration = (ms: unknown): string => formatDuration(Number(ms) || 0)

function toCallStartRows({ call_id, tool_name, origin, arguments: input }: Item, row: MakeRow): LiveRow[] {
  const facts = keepTexts(origin === 'harness' && 'by the harness')
  const parts: LiveRow['parts'] = [['Input', truncate(asText(input))]]
  return row('call', call_id, { name: asText(tool_name), brief: summarize(input), state: 'running', facts, parts })
}

const rowsByItem: Record<string, (item: Item, row: MakeRow) => LiveRow[]> = {
  tool_output({ call_id, error_code, exit_code, is_error, duration_ms, bytes, output }, row) {
    const denied = typeof error_code === 'string' && error_code.startsWith('VT_POLICY_')
    const failed = is_error === true || (typeof exit_code === 'number' && exit_code !== 0)
    const size = [formatUnknownDuration(duration_ms), `${Number(bytes) || 0} bytes`]
    const exit = typeof exit_code === 'number' && `exit ${exit_code}`
    const facts = keepTexts(typeof error_code === 'string' && error_code, exit, ...size)
    const state = denied ? 'denied' : failed ? 'failed' : 'done'
    return row('call', call_id, { state, facts, parts: [['Output', truncate(asText(output ?? ''))]] })
  },
  user_message: ({ id, origin, text }, row) => row('message', id, toMessageRow(asText(origin ?? 'prompt'), text)),
  agent_message: ({ id, text }, row) => row('message', id, toMessageRow('model', text)),
  error: ({ id, code, message }, row) =>
    row('note', id, { name: asText(code ?? 'error'), brief: summarize(message), state: 'failed' }),
  harness({ id, event, message }, row) {
    const name = asText(event)
    const state = name.endsWith('_failed') ? 'failed' : 'done'
    return row('note', id, { name: name.replaceAll('_', ' '), brief: summarize(message ?? ''), state })
  },
}

const toMessageRow = (name: string, text: unknown): Partial<LiveRow> => ({
  name,
  brief: summarize(text),
  parts: [['Text', truncate(asText(text ?? ''))]],
})

/** Converts a line of `calls.jsonl`, the log of sessions without a model, such as those of an editor. */
export function toCallRows(session: string, value: unknown): LiveRow[] {
  const { call, slot, alias, surface, time, ok, code, message, verdict, input, bytes, ms, mode } =
    value as Partial<CallRecord>
  if (typeof call !== 'string' || typeof slot !== 'string') return []
  const state = ok === true ? 'done' : code?.startsWith('VT_POLICY_') ? 'denied' : 'failed'
  const texts: [string, unknown][] = [
    ['Input', input],
    ['Policies', verdict],
    ['Error', message],
  ]
  const parts = texts.flatMap(([what, text]): [string, string][] =>
    text === undefined ? [] : [[what, truncate(asText(text))]],
  )
  const facts = keepTexts(
    code,
    formatDuration(Number(ms) || 0),
    `${Number(bytes) || 0} bytes`,
    surface !== undefined && `by ${surface}`,
    mode !== undefined && `mode ${mode}`,
  )
  const summary = `${alias === undefined ? '' : `as ${alias} `}${summarize(input ?? {})}`
  return [
    {
      key: `${session} call ${call}`,
      session,
      kind: 'call',
      ...(time !== undefined && { at: time }),
      name: slot,
      brief: summary,
      state,
      facts,
      parts,
    },
  ]
}
