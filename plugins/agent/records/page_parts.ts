import { visible } from '../../../core/text/index.js'
import type { FileChange } from '../base/index.js'
import { formatBoundary } from './atif.js'
import { html, Html } from '../../lib/base/index.js'
import { formatBreak, formatMoney, formatSpan } from './outline.js'
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
  json(): Html {
    return new Html(JSON.stringify(this.rows).replace(/</g, '\\u003c'))
  }
}

/** Renders a turn with its waterfall in a `details` element. */
export function* renderTurn(turn: TurnRecord, place: PageContext): Generator<Html> {
  const id = `turn-${turn.number}`
  const from = Date.parse(turn.started_at) || 0
  const span = Math.max(1, (Date.parse(turn.ended_at) || 0) - from)
  const why = turn.code === undefined ? '' : `${turn.code}: ${turn.message ?? ''}`
  const input = turn.entries.find((entry) => entry.kind === 'message')
  const state = turn.status === 'open' ? 'not ended' : turn.status
  place.index.add(id, `turn ${turn.number} ${why}`, turn.status === 'failed' ? 'e' : '')
  const about = `${state}, ${formatSpan(span)}${turn.cost_usd === undefined ? '' : `, ${formatMoney(turn.cost_usd)}`}`
  yield html`<details class="turn" id="${id}" ${place.open ? html` open` : undefined}>
    <summary>
      <h2>Turn ${turn.number}</h2>
      <span class="${turn.status === 'failed' ? 'bad' : 'dim'}">${about}</span>
      <span class="ask">${(input?.text ?? '').slice(0, 200)}</span>
    </summary>
    ${why ? html`<p class="bad">${why}</p>` : undefined}
   `
  const scale = (at: string): number => Math.min(100, Math.max(0, (((Date.parse(at) || from) - from) / span) * 100))
  // The number of later requests that still contain a result, until a compaction.
  const later = countLaterSteps(turn.entries)
  for (const [at, entry] of turn.entries.entries()) yield renderEntry(entry, { ...place, scale, later: later[at]! })
  yield html`</details>`
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

function renderEntry(entry: TurnEntry, place: EntryPlace): Html {
  switch (entry.kind) {
    case 'message':
      return html`<section class="message">
        <h3>${entry.origin}</h3>
        <pre>${entry.text}</pre>
      </section>`
    case 'step':
      return renderStep(entry, place)
    case 'own_call':
      return html`<section class="step">
        <h3>Harness</h3>
        ${renderCall(entry.call, place)}
      </section>`
    case 'boundary': {
      const { history_path } = entry
      const where = history_path === undefined ? undefined : html` The removed part is in <code>${history_path}</code>.`
      return html`<p class="boundary">${formatBoundary(entry)}${where}</p>`
    }
    case 'segment':
      return html`<p class="dim">
        Prompt and tools were frozen: ${entry.reason}, <code>${entry.prompt_path.slice(0, 20)}…</code>
      </p>`
    case 'child':
      return html`<p>Sub-agent ${entry.name}: ${entry.status} ${entry.summary ?? ''}</p>`
    case 'note':
      return renderNote(entry.id, entry.name, entry.text, entry.error, place)
  }
}

function renderNote(id: string, name: string, text: string, error: boolean, { index }: EntryPlace): Html {
  const anchor = `note-${id.replace(/[^\w-]/g, '_')}`
  index.add(anchor, `${name} ${text}`, error ? 'e' : '')
  const title = name.replaceAll('_', ' ')
  return html`<p id="${anchor}" tabindex="-1" class="${error ? 'bad' : 'note'}"><b>${title}</b> ${text}</p>`
}

const renderBar = (kind: string, from: number, to: number): Html =>
  html`<i class="${kind}" style="left:${from.toFixed(2)}%;width:${Math.max(0.2, to - from).toFixed(2)}%"></i>`

function renderStep(step: StepRecord, place: EntryPlace): Html {
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
    ...[formatBreak(step)].filter((text) => text !== ''),
  ]
  const blocks = texts
    .filter(({ text }) => text !== '')
    .map(({ type, text, status }) => {
      const note = status === 'completed' ? undefined : html`<b>${status}</b> `
      return html`<div class="${type}">
        ${note}
        <pre>${text}</pre>
      </div>`
    })
  const purpose = step.purpose === undefined ? '' : ` (${step.purpose})`
  return html`<section class="step" id="${id}" tabindex="-1">
    <h3>Step ${position}${purpose}</h3>
    <span class="dim">${about.join(' · ')}</span>
    <div class="flow" aria-hidden="true">${model}${bars}${waits}</div>
    ${blocks}${calls.map((call) => renderCall(call, place))}
  </section>`
}

const getWaitEnd = ({ started_at, answered }: TracedCall): string =>
  new Date((Date.parse(started_at) || 0) + (answered?.wait_ms ?? 0)).toISOString()

function renderCall(call: TracedCall, { index, later, limits }: EntryPlace): Html {
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
  const facts = listFacts(call).map((fact, at) => (at === 0 ? html`${fact}` : html`<br />${fact}`))
  const written = JSON.stringify(input, null, 1).slice(0, limits.full ? Infinity : mostOfText)
  const [kind, mark, tone] = failed ? ['call failed', '✗', 'bad'] : ['call', '✓', 'dim']
  return html`<details class="${kind}" id="${id}">
    <summary>
      ${mark} <b>${tool}</b> <code>${brief.slice(0, 120)}</code> <span class="${tone}">${state.join(' · ')}</span>
    </summary>
    ${facts.length > 0 ? html`<p class="dim">${facts}</p>` : undefined}
    <h4>Input</h4>
    <pre>${written}</pre>
    <h4>Output</h4>
    ${renderOutput(output, call, limits)}
  </details>`
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

function renderOutput(output: string | undefined, { spool_path }: TracedCall, { full }: PageLimits): Html {
  if (output === undefined) return html`<p class="bad">The call was interrupted; it has no output.</p>`
  const rest = full ? 0 : output.length - mostOfText
  const where = spool_path === undefined ? 'the log; --full shows it' : spool_path
  if (rest <= 0) return html`<pre>${output}</pre>`
  return html`<pre>${output.slice(0, mostOfText)}</pre>
    <p class="dim">${rest} more letters are in ${where}.</p>`
}
