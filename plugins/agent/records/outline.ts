import { visible, visibleLine } from '../../../core/text/index.js'
import { formatBoundary } from './atif.js'
import {
  toArguments,
  isFailed,
  type TracedRun,
  type StepRecord,
  type TracedCall,
  type TurnEntry,
  type TurnRecord,
} from '../runs/index.js'

/** Characters of a text in an outline that is not `full`. */
const longestBrief = 160

/**
 * Formats a run as an indented outline for a terminal or a model: a line for each turn, step, call and remark. `full`
 * shows whole texts.
 */
export function formatOutline(run: TracedRun, { full = false }: { full?: boolean } = {}): string {
  const { head, totals } = run
  const lines = [
    formatLine(0, `${head.session_id || 'a log'}  ${head.model}  ${head.mode}  ${head.started_at}`),
    formatLine(
      0,
      `${formatEnd(run)}: ${totals.turns} turns, ${totals.steps} steps, ${totals.calls} calls ` +
        `(${totals.failed_calls} failed), ${formatUsage(totals)}`,
    ),
    ...run.turns.flatMap((turn) => formatTurn(turn, full)),
  ]
  return `${lines.join('\n')}\n`
}

const formatLine = (depth: number, text: string): string => `${'  '.repeat(depth)}${visibleLine(text)}`
const shorten = (text: string, full: boolean): string =>
  full || text.length <= longestBrief ? text : `${text.slice(0, longestBrief)}…`

const formatUsage = ({ usage, cost_usd }: Pick<StepRecord, 'usage' | 'cost_usd'>): string =>
  `${usage.input_tokens} tokens in, ${usage.output_tokens} out, ${formatMoney(cost_usd)}`

/** Formats the end of a run in a few words. */
export function formatEnd({ totals: { end } }: TracedRun): string {
  if (!end) return 'no end'
  const proved = end.verified === null ? '' : end.verified ? ', verified' : ', not verified'
  return `${end.outcome_code.replaceAll('_', ' ')}${proved}`
}
/** Formats USD with four decimals. */
export const formatMoney = (cost: number | null): string =>
  cost === null ? 'cost not known' : `${cost.toFixed(4)} USD`
/** Formats milliseconds for people. */
export const formatSpan = (ms: number): string =>
  ms < 1000
    ? `${Math.round(ms)} ms`
    : ms < 60_000
      ? `${(ms / 1000).toFixed(1)} s`
      : `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`

function formatTurn(turn: TurnRecord, full: boolean): string[] {
  const why = turn.code === undefined ? '' : `  ${turn.code}: ${turn.message ?? ''}`
  return [
    formatLine(0, `turn ${turn.number}  ${turn.status}${why}`),
    ...turn.entries.flatMap((entry) => formatEntry(entry, full)),
  ]
}

function formatEntry(entry: TurnEntry, full: boolean): string[] {
  switch (entry.kind) {
    case 'message':
      return [formatLine(1, `${entry.origin}: ${shorten(entry.text, full)}`)]
    case 'step':
      return formatStep(entry, full)
    case 'own_call':
      return [formatLine(1, 'harness'), ...formatCall(entry.call, full)]
    case 'boundary':
      return [formatLine(1, `── ${formatBoundary(entry)}`)]
    case 'segment':
      return [formatLine(1, `segment ${entry.segment_id} (${entry.reason}) ${entry.model}`)]
    case 'child':
      return [formatLine(1, `sub-agent ${entry.name}: ${entry.status}`)]
    case 'note':
      return [formatLine(1, `${entry.error ? '✗' : '·'} ${entry.name}: ${shorten(entry.text, full)}`)]
  }
}

/** Describes what broke the common beginning of a request and the one before, and its price; '' if nothing did. */
export function formatBreak({ prefix }: StepRecord): string {
  if (prefix?.broken_by === undefined) return ''
  const { broken_by, lost_bytes = 0, lost_usd } = prefix
  return `prefix broken by ${broken_by}: ${lost_bytes} bytes${lost_usd ? `, ${formatMoney(lost_usd)}` : ''}`
}

function formatStep(step: StepRecord, full: boolean): string[] {
  const purpose = step.purpose === undefined ? '' : ` (${step.purpose})`
  const broken = formatBreak(step)
  const head =
    `step ${step.position}${purpose}  ${formatSpan(step.duration_ms)}  ` +
    `${formatUsage(step)}${step.status === 'cut' ? '  cut off' : ''}${broken && `  ${broken}`}`
  const texts = step.texts.flatMap(({ type, text, status }) => {
    const label = `${type}${status === 'completed' ? '' : ` (${status})`}:`
    if (text === '') return []
    return full ? [formatLine(2, label), visible(text)] : [formatLine(2, `${label} ${shorten(text, false)}`)]
  })
  return [formatLine(1, head), ...texts, ...step.calls.flatMap((call) => formatCall(call, full))]
}

function formatCall(call: TracedCall, full: boolean): string[] {
  const { tool, duration_ms, error_code, exit_code, output } = call
  const end = [error_code, exit_code === undefined ? undefined : `exit ${exit_code}`, formatSpan(duration_ms)]
    .filter((part) => part !== undefined)
    .join('  ')
  const head = formatLine(
    2,
    `${isFailed(call) ? '✗' : '✓'} ${tool} ${shorten(call.command ?? JSON.stringify(toArguments(call)), full)}  ${end}`,
  )
  return full && output !== undefined ? [head, visible(output)] : [head]
}
