import type { CallRecord } from '../../lib/state/index.js'

/** What a page adds to, by `key`: a call, a word, a step, a turn or a run of a session. Later rows of one key change the earlier one. */
export interface LiveRow {
  key: string
  session: string
  kind: 'call' | 'said' | 'step' | 'turn' | 'run' | 'note'
  at?: string
  /** Name of the tool, who said it, the model. */
  name?: string
  /** One line. */
  brief?: string
  state?: 'running' | 'asking' | 'done' | 'failed' | 'denied'
  /** What else is to be seen in one line, such as duration, code, cost. */
  facts?: string[]
  /** Texts below the line: what, and the text. */
  parts?: [string, string][]
}
const most = { text: 8 * 1024, brief: 160 }

const cut = (text: string): string => (text.length > most.text ? `${text.slice(0, most.text)}\n… ${text.length - most.text} more characters are in the log.` : text)
const asText = (value: unknown): string => (typeof value === 'string' ? value : (JSON.stringify(value, null, 1) ?? ''))
const brief = (value: unknown): string => {
  const texts = typeof value === 'object' && value !== null ? Object.values(value).filter((one) => typeof one === 'string') : [asText(value)]
  return texts.join(' ').replace(/\s+/g, ' ').slice(0, most.brief)
}
const span = (ms: number): string => (ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`)
const present = (...facts: (string | undefined | false)[]): string[] => facts.filter((fact) => typeof fact === 'string')

interface Event {
  type: string
  ts?: string
  turn_id?: string
  item?: Record<string, unknown>
  [name: string]: any
}

/** What a line of `events.jsonl` adds; nothing for what is no event. */
export function rowsOfEvent(session: string, value: unknown): LiveRow[] {
  const event = ((value as { event?: unknown } | null)?.event ?? value) as Event | null
  if (typeof event !== 'object' || event === null || typeof event.type !== 'string') return []
  const at = typeof event.ts === 'string' ? event.ts : undefined
  const row = (kind: LiveRow['kind'], id: unknown, rest: Partial<LiveRow>): LiveRow[] => [{ key: `${session} ${kind} ${asText(id)}`, session, kind, ...(at !== undefined && { at }), ...rest }]
  switch (event.type) {
    case 'item.started':
    case 'item.completed':
      return typeof event.item === 'object' && event.item !== null ? rowsOfItem(event.type === 'item.completed', event.item, row) : []
    case 'permission.requested':
      return row('call', event['call_id'], { state: 'asking', parts: [['Asked', `${asText(event['policy'])}: ${asText(event['reason'])}`]] })
    case 'permission.resolved':
      return row('call', event['call_id'], { state: event['decision'] === 'allow' ? 'running' : 'denied', parts: [['Answer', `${asText(event['decision'])} after ${span(Number(event['wait_ms']) || 0)}`]] })
    case 'step.completed': {
      const usage = event['usage'] as Record<string, number> | undefined
      const cost = typeof event['cost_usd'] === 'number' && `${event['cost_usd'].toFixed(4)} USD`
      const facts = present(span(Number(event['duration_ms']) || 0), usage && `${usage['input_tokens']} in`, usage && `${usage['output_tokens']} out`, cost)
      return row('step', event['step'], { name: asText(event['model']), brief: `step ${asText(event['step'])}`, state: 'done', facts })
    }
    case 'turn.started':
      return row('turn', event.turn_id, { name: `Turn ${asText(event['turn_number'])}`, state: 'running' })
    case 'turn.completed':
    case 'turn.failed':
      return row('turn', event.turn_id, { state: event.type === 'turn.failed' ? 'failed' : 'done' })
    case 'thread.started':
      return row('run', at, { name: 'Run begins', brief: asText(event['model']), facts: present(`mode ${asText(event['mode'])}`), state: 'done' })
    case 'thread.completed':
      return row('run', at, { name: 'Run ended', brief: asText(event['outcome_code']), state: event['subtype'] === 'success' ? 'done' : 'failed' })
    case 'error':
      return row('note', at, { name: asText(event['code']), brief: asText(event['message']), state: 'failed' })
    default:
      return []
  }
}

type MakeRow = (kind: LiveRow['kind'], id: unknown, rest: Partial<LiveRow>) => LiveRow[]

function rowsOfItem(ended: boolean, item: Record<string, unknown>, row: MakeRow): LiveRow[] {
  const { type, id } = item
  if (type === 'tool_invocation') {
    const input = item['arguments']
    if (ended) return []
    const facts = present(item['origin'] === 'harness' && 'by the harness')
    return row('call', item['call_id'], { name: asText(item['tool_name']), brief: brief(input), state: 'running', facts, parts: [['Input', cut(asText(input))]] })
  }
  if (!ended) return []
  if (type === 'tool_output') {
    const { error_code, exit_code, is_error } = item
    const denied = typeof error_code === 'string' && error_code.startsWith('VT_POLICY_')
    const failed = is_error === true || (typeof exit_code === 'number' && exit_code !== 0)
    const size = [span(Number(item['duration_ms']) || 0), `${Number(item['bytes']) || 0} bytes`]
    const facts = present(typeof error_code === 'string' && error_code, typeof exit_code === 'number' && `exit ${exit_code}`, ...size)
    return row('call', item['call_id'], { state: denied ? 'denied' : failed ? 'failed' : 'done', facts, parts: [['Output', cut(asText(item['output'] ?? ''))]] })
  }
  if (type === 'user_message' || type === 'agent_message') {
    const name = type === 'user_message' ? asText(item['origin'] ?? 'prompt') : 'model'
    return row('said', id, { name, brief: brief(item['text']), parts: [['Text', cut(asText(item['text'] ?? ''))]] })
  }
  if (type === 'error') return row('note', id, { name: asText(item['code'] ?? 'error'), brief: brief(item['message']), state: 'failed' })
  if (type === 'harness') return row('note', id, { name: asText(item['event']).replaceAll('_', ' '), brief: brief(item['message'] ?? ''), state: /_failed$/.test(asText(item['event'])) ? 'failed' : 'done' })
  return []
}

/** What a line of `calls.jsonl` adds: the calls of sessions without a model, such as those of an editor. */
export function rowsOfCall(session: string, value: unknown): LiveRow[] {
  const { call, slot, alias, surface, time, ok, code, message, verdict, input, bytes, ms, mode } = value as Partial<CallRecord>
  if (typeof call !== 'string' || typeof slot !== 'string') return []
  const state = ok === true ? 'done' : code?.startsWith('VT_POLICY_') ? 'denied' : 'failed'
  const texts: [string, unknown][] = [['Input', input], ['Policies', verdict], ['Error', message]]
  const parts = texts.flatMap(([what, text]): [string, string][] => (text === undefined ? [] : [[what, cut(asText(text))]]))
  const facts = present(code, span(Number(ms) || 0), `${Number(bytes) || 0} bytes`, surface !== undefined && `by ${surface}`, mode !== undefined && `mode ${mode}`)
  const asked = `${alias === undefined ? '' : `as ${alias} `}${brief(input ?? {})}`
  return [{ key: `${session} call ${call}`, session, kind: 'call', ...(time !== undefined && { at: time }), name: slot, brief: asked, state, facts, parts }]
}
