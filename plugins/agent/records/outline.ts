import { visible, visibleLine } from '../../../core/text/index.js'
import { boundaryText } from './atif.js'
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

/** A run as an indented outline, for a terminal or a model: a line for each turn, step, call and remark. `full` shows texts whole. */
export function outlineOf(run: TracedRun, { full = false }: { full?: boolean } = {}): string {
  const { head, totals } = run
  const lines = [
    line(0, `${head.session_id || 'a log'}  ${head.model}  ${head.mode}  ${head.started_at}`),
    line(
      0,
      `${endText(run)}: ${totals.turns} turns, ${totals.steps} steps, ${totals.calls} calls (${totals.failed_calls} failed), ${usageText(totals)}`,
    ),
    ...run.turns.flatMap((turn) => turnLines(turn, full)),
  ]
  return `${lines.join('\n')}\n`
}

const line = (depth: number, text: string): string => `${'  '.repeat(depth)}${visibleLine(text)}`
const brief = (text: string, full: boolean): string =>
  full || text.length <= longestBrief ? text : `${text.slice(0, longestBrief)}…`

const usageText = ({ usage, cost_usd }: Pick<StepRecord, 'usage' | 'cost_usd'>): string =>
  `${usage.input_tokens} tokens in, ${usage.output_tokens} out, ${moneyText(cost_usd)}`

/** How a run ended, in a few words. */
export function endText({ totals: { end } }: TracedRun): string {
  if (!end) return 'no end'
  const proved = end.verified === null ? '' : end.verified ? ', verified' : ', not verified'
  return `${end.outcome_code.replaceAll('_', ' ')}${proved}`
}
/** An amount of money; four places are enough for a cent's hundredth. */
export const moneyText = (cost: number | null): string => (cost === null ? 'cost not known' : `${cost.toFixed(4)} USD`)
/** A time span a person can read, from milliseconds. */
export const spanText = (ms: number): string =>
  ms < 1000
    ? `${Math.round(ms)} ms`
    : ms < 60_000
      ? `${(ms / 1000).toFixed(1)} s`
      : `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`

function turnLines(turn: TurnRecord, full: boolean): string[] {
  const why = turn.code === undefined ? '' : `  ${turn.code}: ${turn.message ?? ''}`
  return [
    line(0, `turn ${turn.number}  ${turn.status}${why}`),
    ...turn.entries.flatMap((entry) => entryLines(entry, full)),
  ]
}

function entryLines(entry: TurnEntry, full: boolean): string[] {
  switch (entry.kind) {
    case 'message':
      return [line(1, `${entry.origin}: ${brief(entry.text, full)}`)]
    case 'step':
      return stepLines(entry, full)
    case 'own_call':
      return [line(1, 'harness'), ...callLines(entry.call, full)]
    case 'boundary':
      return [line(1, `── ${boundaryText(entry)}`)]
    case 'segment':
      return [line(1, `segment ${entry.segment_id} (${entry.reason}) ${entry.model}`)]
    case 'child':
      return [line(1, `sub-agent ${entry.name}: ${entry.status}`)]
    case 'note':
      return [line(1, `${entry.error ? '✗' : '·'} ${entry.name}: ${brief(entry.text, full)}`)]
  }
}

function stepLines(step: StepRecord, full: boolean): string[] {
  const purpose = step.purpose === undefined ? '' : ` (${step.purpose})`
  const head = `step ${step.position}${purpose}  ${spanText(step.duration_ms)}  ${usageText(step)}${step.status === 'cut' ? '  cut off' : ''}`
  const texts = step.texts.flatMap(({ type, text, status }) => {
    const label = `${type}${status === 'completed' ? '' : ` (${status})`}:`
    if (text === '') return []
    return full ? [line(2, label), visible(text)] : [line(2, `${label} ${brief(text, false)}`)]
  })
  return [line(1, head), ...texts, ...step.calls.flatMap((call) => callLines(call, full))]
}

function callLines(call: TracedCall, full: boolean): string[] {
  const { tool, duration_ms, error_code, exit_code, output } = call
  const end = [error_code, exit_code === undefined ? undefined : `exit ${exit_code}`, spanText(duration_ms)]
    .filter((part) => part !== undefined)
    .join('  ')
  const head = line(
    2,
    `${isFailed(call) ? '✗' : '✓'} ${tool} ${brief(call.command ?? JSON.stringify(toArguments(call)), full)}  ${end}`,
  )
  return full && output !== undefined ? [head, visible(output)] : [head]
}
