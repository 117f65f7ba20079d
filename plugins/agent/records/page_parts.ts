import { visible } from '../../../core/text/index.js'
import type { FileChange } from '../base/index.js'
import { formatBoundary } from './atif.js'
import { formatMoney, formatSpan } from './outline.js'
import {
  toArguments,
  isDenied,
  isFailed,
  type TracedRun,
  type StepRecord,
  type TracedCall,
  type TurnEntry,
  type TurnRecord,
} from '../runs/index.js'

export interface PageLimits {
  /** Shows whole texts of calls; else each is cut at 64 KiB. */
  full?: boolean
}
/** The context of a part of the page. */
interface PageContext {
  run: TracedRun
  index: PageIndex
  open: boolean
  limits: PageLimits
}
const mostOfText = 64 * 1024

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }
/** Escapes text for HTML; invisible characters become numbers. */
export const escapeHtml = (text: string): string => visible(text).replace(/[&<>"']/g, (letter) => entities[letter]!)

/** Formats a changed file with its line counts. */
export const formatChange = ({ path, added_lines = 0, removed_lines = 0 }: FileChange): string =>
  `${path} +${added_lines} −${removed_lines}`

/** The index for the script: ids in order, words, and letters for errors, changes and denials. */
export class PageIndex {
  private readonly rows: [string, string, string][] = []

  add(id: string, words: string, flags = ''): void {
    this.rows.push([id, visible(words).slice(0, 160), flags])
  }
  /** Returns JSON that is safe inside a script element. */
  json(): string {
    return JSON.stringify(this.rows).replace(/</g, '\\u003c')
  }
}

/** Renders a turn with its waterfall in a `details` element. */
export function* renderTurn(turn: TurnRecord, place: PageContext): Generator<string> {
  const id = `turn-${turn.number}`
  const from = Date.parse(turn.started_at) || 0
  const span = Math.max(1, (Date.parse(turn.ended_at) || 0) - from)
  const why = turn.code === undefined ? '' : `${turn.code}: ${turn.message ?? ''}`
  const asked = turn.entries.find((entry) => entry.kind === 'message')
  const state = turn.status === 'open' ? 'not ended' : turn.status
  place.index.add(id, `turn ${turn.number} ${why}`, turn.status === 'failed' ? 'e' : '')
  const about = `${state}, ${formatSpan(span)}${turn.cost_usd === undefined ? '' : `, ${formatMoney(turn.cost_usd)}`}`
  yield (
    `<details class="turn" id="${id}"${place.open ? ' open' : ''}><summary><h2>Turn ` +
    `${turn.number}</h2> <span class="${turn.status === 'failed' ? 'bad' : 'dim'}">${about}</span>\n` +
    `<span class="ask">${escapeHtml((asked?.text ?? '').slice(0, 200))}</span></summary>` +
    (why ? `<p class="bad">${escapeHtml(why)}</p>` : '')
  )
  const scale = (at: string): number => Math.min(100, Math.max(0, (((Date.parse(at) || from) - from) / span) * 100))
  // The number of later requests that still contain a result, until a compaction.
  const later = countLaterSteps(turn.entries)
  for (const [at, entry] of turn.entries.entries()) yield renderEntry(entry, { ...place, scale, later: later[at]! })
  yield '</details>'
}

function countLaterSteps(entries: readonly TurnEntry[]): number[] {
  const left: number[] = []
  let count = 0
  for (const entry of [...entries].reverse()) {
    if (entry.kind === 'boundary') count = 0
    left.unshift(count)
    if (entry.kind === 'step' && entry.purpose === undefined) count += 1
  }
  return left
}

interface EntryPlace extends PageContext {
  scale(at: string): number
  later: number
}

function renderEntry(entry: TurnEntry, place: EntryPlace): string {
  switch (entry.kind) {
    case 'message':
      return (
        `<section class="message"><h3>${escapeHtml(entry.origin)}</h3><pre>${escapeHtml(entry.text)}` +
        '</pre></section>'
      )
    case 'step':
      return renderStep(entry, place)
    case 'own_call':
      return `<section class="step"><h3>Harness</h3>${renderCall(entry.call, place)}</section>`
    case 'boundary':
      return (
        `<p class="boundary">${escapeHtml(formatBoundary(entry))}` +
        (entry.history_path === undefined
          ? ''
          : ` The removed part is in <code>${escapeHtml(entry.history_path)}</code>.`) +
        '</p>'
      )
    case 'segment':
      return (
        `<p class="dim">Prompt and tools were frozen: ${escapeHtml(entry.reason)}, ` +
        `<code>${escapeHtml(entry.prompt_path.slice(0, 20))}…</code></p>`
      )
    case 'child':
      return (
        `<p>Sub-agent ${escapeHtml(entry.name)}: ${escapeHtml(entry.status)} ` +
        `${escapeHtml(entry.summary ?? '')}</p>`
      )
    case 'note':
      return renderNote(entry.id, entry.name, entry.text, entry.error, place)
  }
}

function renderNote(id: string, name: string, text: string, error: boolean, { index }: EntryPlace): string {
  const anchor = `note-${id.replace(/[^\w-]/g, '_')}`
  index.add(anchor, `${name} ${text}`, error ? 'e' : '')
  return (
    `<p id="${anchor}" tabindex="-1" class="${error ? 'bad' : 'note'}"><b>${escapeHtml(name.replaceAll('_', ' '))}` +
    `</b> ${escapeHtml(text)}</p>`
  )
}

const renderBar = (kind: string, from: number, to: number): string =>
  `<i class="${kind}" style="left:${from.toFixed(2)}%;width:${Math.max(0.2, to - from).toFixed(2)}%"></i>`

function renderStep(step: StepRecord, place: EntryPlace): string {
  const { usage, calls, texts, position, started_at, ended_at } = step
  const id = `step-${position}`
  place.index.add(
    id,
    `step ${position} ${texts
      .map(({ text }) => text)
      .join(' ')
      .slice(0, 120)}`,
    step.status === 'cut' ? 'e' : '',
  )
  const { scale } = place
  const model = renderBar('model', scale(started_at), scale(calls[0]?.started_at ?? ended_at))
  const bars = calls.map((call) =>
    renderBar(isFailed(call) ? 'tool failed' : 'tool', scale(call.started_at), scale(call.ended_at)),
  )
  // A wait lies over the beginning of its call.
  const waits = calls
    .filter(({ answered }) => (answered?.wait_ms ?? 0) > 0)
    .map((call) => renderBar('wait', scale(call.started_at), Math.min(scale(call.ended_at), scale(getWaitEnd(call)))))
  const about = [
    formatSpan(step.duration_ms),
    `${usage.input_tokens} in`,
    `${usage.cached_input_tokens} cached`,
    `${usage.output_tokens} out`,
    formatMoney(step.cost_usd),
    ...(step.attempts > 1 ? [`${step.attempts} attempts`] : []),
    ...(step.status === 'cut' ? ['cut off'] : []),
  ]
  const blocks = texts
    .filter(({ text }) => text !== '')
    .map(
      ({ type, text, status }) =>
        `<div class="${type}">${status === 'completed' ? '' : `<b>${status}</b> `}<pre>${escapeHtml(text)}</pre></div>`,
    )
  return (
    `<section class="step" id="${id}" tabindex="-1"><h3>Step ` +
    `${position}${step.purpose === undefined ? '' : ` (${escapeHtml(step.purpose)})`}</h3> <span ` +
    `class="dim">${about.join(' · ')}</span>\n` +
    `<div class="flow" aria-hidden="true">${model}${bars.join('')}${waits.join('')}</div>${blocks.join('')}` +
    `${calls.map((call) => renderCall(call, place)).join('')}</section>`
  )
}

const getWaitEnd = ({ started_at, answered }: TracedCall): string =>
  new Date((Date.parse(started_at) || 0) + (answered?.wait_ms ?? 0)).toISOString()

function renderCall(call: TracedCall, { index, later, limits }: EntryPlace): string {
  const { tool, output, bytes, duration_ms, exit_code, error_code } = call
  const id = `call-${call.call_id.replace(/[^\w-]/g, '_')}`
  const failed = isFailed(call)
  const input = toArguments(call)
  const brief =
    call.command ??
    Object.values(input)
      .filter((value) => typeof value === 'string')
      .join(' ')
      .slice(0, 120)
  index.add(
    id,
    `${tool} ${brief} ${error_code ?? ''}`,
    `${failed ? 'e' : ''}${call.changes ? 'c' : ''}${isDenied(call) ? 'd' : ''}`,
  )
  const weight =
    bytes > 0 ? `≈ ${Math.ceil(bytes / 4)} tokens${later > 0 ? ` × ${later} later requests` : ''}` : undefined
  const state = [
    error_code,
    exit_code === undefined ? undefined : `exit ${exit_code}`,
    formatSpan(duration_ms),
    weight,
  ].filter((one) => one !== undefined)
  const facts = listFacts(call)
  const written = escapeHtml(JSON.stringify(input, null, 1).slice(0, limits.full ? Infinity : mostOfText))
  const [kind, mark, tone] = failed ? ['call failed', '✗', 'bad'] : ['call', '✓', 'dim']
  return (
    `<details class="${kind}" id="${id}"><summary>${mark} <b>${escapeHtml(tool)}</b> ` +
    `<code>${escapeHtml(brief.slice(0, 120))}</code> <span ` +
    `class="${tone}">${escapeHtml(state.join(' · '))}</span></summary>\n` +
    `${facts.length > 0 ? `<p class="dim">${facts.map(escapeHtml).join('<br>')}</p>` : ''}<h4>` +
    `Input</h4><pre>${written}</pre><h4>Output</h4>${renderOutput(output, call, limits)}</details>`
  )
}

function listFacts({ asked, answered, effects, executor, changes = [] }: TracedCall): string[] {
  const scope = answered?.scope === undefined ? '' : `, ${answered.scope}`
  const place = executor === undefined ? '' : `, run in ${executor}`
  return [
    ...(asked ? [`Asked by ${asked.policy}: ${asked.reason}`] : []),
    ...(answered ? [`Answer: ${answered.decision}${scope}, after ${formatSpan(answered.wait_ms)}`] : []),
    ...(effects.length > 0 ? [`Effects: ${effects.join(', ')}${place}`] : []),
    ...changes.map((change) => `${change.kind} ${formatChange(change)}`),
  ]
}

function renderOutput(output: string | undefined, { spool_path }: TracedCall, { full }: PageLimits): string {
  if (output === undefined) return '<p class="bad">The call was interrupted; it has no output.</p>'
  const rest = full ? 0 : output.length - mostOfText
  const where = spool_path === undefined ? 'the log; --full shows it' : spool_path
  if (rest <= 0) return `<pre>${escapeHtml(output)}</pre>`
  const more = `<p class="dim">${rest} more letters are in ${escapeHtml(where)}.</p>`
  return `<pre>${escapeHtml(output.slice(0, mostOfText))}</pre>${more}`
}
