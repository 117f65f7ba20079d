import { sha256 } from '../../../core/system/index.js'
import { renderComparison } from './compare.js'
import { html, Html } from '../../lib/base/index.js'
import { formatMoney, formatEnd, formatSpan } from './outline.js'
import { renderOverview } from './page_overview.js'
import { formatChange, PageIndex, renderTurn, type PageLimits } from './page_parts.js'
import { pageScript } from './page_script.js'
import { pageStyle } from './page_style.js'
import type { TracedRun, RunTotals } from '../runs/index.js'

export interface PageOptions extends PageLimits {
  /** A second run to compare with. */
  compare?: TracedRun
  /** The number of the only turn to show. */
  turn?: number
}

/** Content policy of the page: only its own script runs, and nothing is loaded, sent or framed. */
const policy = [
  "default-src 'none'",
  "style-src 'unsafe-inline'",
  `script-src 'sha256-${sha256(pageScript, 'base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
].join('; ')

/**
 * Renders a run as one HTML page, in pieces. The page loads nothing, works without its script and escapes all text.
 * The script uses an index in the page, so that no key press searches the document.
 */
export function* renderPage(run: TracedRun, options: PageOptions = {}): Generator<string> {
  for (const piece of renderPieces(run, options)) yield piece.text
}

function* renderPieces(run: TracedRun, options: PageOptions): Generator<Html> {
  const { compare, turn } = options
  const index = new PageIndex()
  const title = `${run.head.session_id || 'A log'}: ${formatEnd(run)}`
  yield html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta http-equiv="Content-Security-Policy" content="${new Html(policy)}" />
        <meta name="viewport" content="width=device-width,initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${title}</title>
        <style>
          ${new Html(pageStyle)}
        </style>
      </head>
      <body>
        <header>
          <h1>${title}</h1>
          <p class="dim">${formatRunFacts(run)}</p>
          ${renderSummary(run)}${turn === undefined ? renderOverview(run) : undefined}
        </header>
        ${toolbar}
        <main id="main">
     `
  if (compare) yield renderComparison(run, compare)
  const turns = run.turns.filter(({ number }) => turn === undefined || number === turn)
  // Short runs are unfolded; long ones open on demand.
  const open = run.totals.calls + run.totals.steps <= 60
  for (const one of turns) yield* renderTurn(one, { run, index, open, limits: options })
  if (turns.length === 0) yield html`<p>There are no turns.</p>`
  const result = run.totals.end?.result
  if (result !== undefined)
    yield html`<section aria-labelledby="answer">
      <h2 id="answer">Final answer</h2>
      <pre>${result}</pre>
    </section>`
  yield html`</main><script type="application/json" id="index">${index.json()}</script><script>${new Html(
    pageScript,
  )}</script></body></html>
`
}

const toolbar = html`<nav aria-label="Search and jump" id="bar" hidden>
  <label>Search <input id="find" type="search" autocomplete="off" aria-controls="found" /></label>
  <button type="button" data-go="e">First error <kbd>e</kbd></button
  ><button type="button" data-go="c">Next change <kbd>c</kbd></button
  ><button type="button" data-go="d">Next denial <kbd>d</kbd></button>
  <span class="dim">Next and previous <kbd>j</kbd> <kbd>k</kbd>, search <kbd>/</kbd></span
  ><output id="status"></output>
  <ol id="found"></ol>
</nav>`

/** Renders the summary of a run. */
function renderSummary({ head, totals }: TracedRun): Html {
  const { usage, end } = totals
  const time = Math.max(0, (Date.parse(totals.ended_at) || 0) - (Date.parse(head.started_at) || 0))
  const facts: [string, string][] = [
    ['Outcome', end ? end.outcome_code.replaceAll('_', ' ') : 'the log is incomplete'],
    ['Verified', end?.verified === true ? 'yes' : end?.verified === false ? 'no' : 'nothing to verify'],
    ['Cost', formatMoney(totals.cost_usd)],
    ['Tokens', `${usage.input_tokens} in (${usage.cached_input_tokens} cached), ${usage.output_tokens} out`],
    ['Time', formatSpan(time)],
    ['Turns, steps, calls', `${totals.turns}, ${totals.steps}, ${totals.calls} (${totals.failed_calls} failed)`],
    ['Files', formatFiles(totals)],
    ['Model, mode', `${head.model}, ${head.mode}`],
  ]
  const tone: Record<string, string> = {
    Outcome: end?.subtype === 'success' ? 'good' : 'bad',
    Verified: end?.verified === true ? 'good' : end?.verified === false ? 'bad' : '',
  }
  const commands = (end?.verification?.commands ?? []).map(
    ({ command, exit_code }) =>
      html`<li class="${exit_code === 0 ? 'good' : 'bad'}"><code>${command}</code> exit ${exit_code ?? '–'}</li>`,
  )
  const list = facts.map(
    ([name, value]) =>
      html`<div>
        <dt>${name}</dt>
        <dd class="${tone[name] ?? ''}">${value}</dd>
      </div>`,
  )
  const proof =
    commands.length > 0
      ? html`<h2 class="small">Proof</h2>
          <ul class="proof">
            ${commands}
          </ul>`
      : undefined
  return html`<dl class="facts">${list}</dl>
    ${proof}`
}

const formatRunFacts = ({ head: { started_at, version, cwd } }: TracedRun): string =>
  [started_at.replace('T', ' ').replace(/\.\d+Z$/, ' UTC'), cwd, version === '' ? '' : `vtcode ${version}`]
    .filter((part) => part !== '')
    .join(' · ')

const formatFiles = ({ files }: RunTotals): string =>
  files.length === 0
    ? 'none'
    : files.slice(0, 20).map(formatChange).join(', ') + (files.length > 20 ? ` and ${files.length - 20} more` : '')
