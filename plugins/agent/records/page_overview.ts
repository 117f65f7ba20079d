import { html, type Html } from '../../lib/base/index.js'
import { formatSpan } from './outline.js'
import { isFailed, type StepRecord, type TracedCall, type TracedRun, type TurnRecord } from '../runs/index.js'

/** The kinds of moments; later ones cover earlier ones. */
const kinds = ['model', 'tool', 'wait', 'failed'] as const
type MomentKind = (typeof kinds)[number]
const words: Record<MomentKind, string> = {
  model: 'model',
  tool: 'tools',
  wait: 'waiting for a person',
  failed: 'failed',
}
/** The number of moments on the time axis, which limits the bars of a long run. */
const moments = 1000
const mostRows = 200

/** Renders all turns on one time axis, without the time between turns. */
export function renderOverview(run: TracedRun): Html | undefined {
  const spans = run.turns.map(({ started_at, ended_at }) => Math.max(1, time(ended_at) - time(started_at)))
  const whole = spans.reduce((sum, span) => sum + span, 0)
  if (run.turns.length === 0 || whole <= run.turns.length) return undefined
  const used = new Set<MomentKind>()
  let before = 0
  const rows = run.turns.slice(0, mostRows).map((turn, index) => {
    const row = renderRow(turn, { from: before, span: spans[index]!, whole }, used)
    before += spans[index]!
    return row
  })
  const left = run.turns.length - mostRows
  const more = left > 0 ? html`<p class="dim">and ${left} more turns</p>` : undefined
  const legend = kinds
    .filter((kind) => used.has(kind))
    .map((kind) => html`<span><i class="${CLASSES[kind]}"></i>${words[kind]}</span>`)
  return html`<section class="overview" aria-labelledby="time">
    <h2 class="small" id="time">Time</h2>
    <span class="dim legend">${formatSpan(whole)} in turns ${legend}</span>${rows}${more}
  </section>`
}

const time = (at: string): number => Date.parse(at) || 0
const CLASSES: Record<MomentKind, string> = { model: 'model', tool: 'tool', wait: 'wait', failed: 'tool failed' }

function renderRow(
  turn: TurnRecord,
  { from, span, whole }: { from: number; span: number; whole: number },
  used: Set<MomentKind>,
): Html {
  const start = time(turn.started_at)
  const cells = new Map<number, number>()
  const fill = (kind: MomentKind, begins: number, ends: number): void => {
    used.add(kind)
    const at = (value: number): number =>
      Math.floor(((from + Math.min(Math.max(value - start, 0), span)) / whole) * moments)
    for (let cell = at(begins); cell <= Math.max(at(begins), at(ends) - 1); cell++)
      cells.set(cell, Math.max(cells.get(cell) ?? 0, kinds.indexOf(kind)))
  }
  for (const entry of turn.entries) {
    if (entry.kind === 'step') fillStep(entry, fill)
    if (entry.kind === 'own_call') fillCall(entry.call, fill)
  }
  const failed = turn.status === 'failed' ? ', failed' : ''
  const title = `Turn ${turn.number}, ${formatSpan(span)}${failed}`
  return html`<a class="lane" href="#turn-${turn.number}"
    ><span>${title}</span><span class="flow" aria-hidden="true">${renderBars(cells)}</span></a
  >`
}

type Fill = (kind: MomentKind, begins: number, ends: number) => void

function fillStep({ started_at, ended_at, calls }: StepRecord, fill: Fill): void {
  fill('model', time(started_at), time(calls[0]?.started_at ?? ended_at))
  for (const call of calls) fillCall(call, fill)
}

function fillCall(call: TracedCall, fill: Fill): void {
  const [begins, ends] = [time(call.started_at), time(call.ended_at)]
  const waited = begins + (call.answered?.wait_ms ?? 0)
  if (waited > begins) fill('wait', begins, Math.min(waited, ends))
  fill(isFailed(call) ? 'failed' : 'tool', Math.min(waited, ends), ends)
}

/** Renders neighbours of one kind as one bar. */
function renderBars(cells: ReadonlyMap<number, number>): Html[] {
  const sorted = [...cells].sort(([a], [b]) => a - b)
  const bars: { from: number; to: number; kind: number }[] = []
  for (const [cell, kind] of sorted) {
    const last = bars.at(-1)
    if (last && last.to === cell && last.kind === kind) last.to = cell + 1
    else bars.push({ from: cell, to: cell + 1, kind })
  }
  const percent = (cell: number): string => `${((100 * cell) / moments).toFixed(1)}%`
  return bars.map(
    ({ from, to, kind }) =>
      html`<i class="${CLASSES[kinds[kind]!]}" style="left:${percent(from)};width:${percent(to - from)}"></i>`,
  )
}
