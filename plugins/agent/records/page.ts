import { sha256 } from '../../../core/system/index.js'
import { compareRows } from './compare.js'
import { moneyText, endText, spanText } from './outline.js'
import { overview } from './page_overview.js'
import { changeText, PageIndex, pageTurn, safe, type PageLimits } from './page_parts.js'
import { pageScript } from './page_script.js'
import { pageStyle } from './page_style.js'
import type { TracedRun, RunTotals } from '../runs/index.js'

export interface PageOptions extends PageLimits {
  /** A second run that is laid beside the first. */
  compare?: TracedRun
  /** Only the turn of this number. */
  turn?: number
}

/**
 * A run as one HTML page, in pieces: it asks for nothing, is whole without its script, and all text in it is escaped. The script folds, searches and
 * moves, over an index that comes with the page, so that neither a key nor a letter has to look through the document.
 */
export function* tracePage(run: TracedRun, options: PageOptions = {}): Generator<string> {
  const { compare, turn } = options
  const index = new PageIndex()
  const title = `${run.head.session_id || 'A log'}: ${endText(run)}`
  yield `<!doctype html>\n<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-${sha256(pageScript, 'base64')}'; img-src data:">
<meta name="viewport" content="width=device-width,initial-scale=1"><meta name="color-scheme" content="light dark"><title>${safe(title)}</title>
<style>${pageStyle}</style></head><body>
<header><h1>${safe(title)}</h1><p class="dim">${safe(aboutRun(run))}</p>${summaryOf(run)}${turn === undefined ? overview(run) : ''}</header>${toolbar}<main id="main">`
  if (compare) yield compareRows(run, compare)
  const turns = run.turns.filter(({ number }) => turn === undefined || number === turn)
  // A short run is read at once; what a long one holds stays closed until somebody asks.
  const open = run.totals.calls + run.totals.steps <= 60
  for (const one of turns) yield* pageTurn(one, { run, index, open, limits: options })
  if (turns.length === 0) yield '<p>There are no turns.</p>'
  if (run.totals.end?.result !== undefined)
    yield `<section aria-labelledby="answer"><h2 id="answer">Final answer</h2><pre>${safe(run.totals.end.result)}</pre></section>`
  yield `</main><script type="application/json" id="index">${index.json()}</script><script>${pageScript}</script></body></html>\n`
}

const toolbar = `<nav aria-label="Search and jump" id="bar" hidden><label>Search <input id="find" type="search" autocomplete="off" aria-controls="found"></label>
<button type="button" data-go="e">First error <kbd>e</kbd></button><button type="button" data-go="c">Next change <kbd>c</kbd></button><button type="button" data-go="d">Next denial <kbd>d</kbd></button>
<span class="dim">Next and previous <kbd>j</kbd> <kbd>k</kbd>, search <kbd>/</kbd></span><output id="said"></output><ol id="found"></ol></nav>`

/** What happened, at a glance. */
function summaryOf({ head, totals }: TracedRun): string {
  const { usage, end } = totals
  const time = Math.max(0, (Date.parse(totals.ended_at) || 0) - (Date.parse(head.started_at) || 0))
  const facts: [string, string][] = [
    ['Outcome', end ? end.outcome_code.replaceAll('_', ' ') : 'the log has no end'],
    ['Verified', end?.verified === true ? 'yes' : end?.verified === false ? 'no' : 'nothing to verify'],
    ['Cost', moneyText(totals.cost_usd)],
    ['Tokens', `${usage.input_tokens} in (${usage.cached_input_tokens} cached), ${usage.output_tokens} out`],
    ['Time', spanText(time)],
    ['Turns, steps, calls', `${totals.turns}, ${totals.steps}, ${totals.calls} (${totals.failed_calls} failed)`],
    ['Files', filesText(totals)],
    ['Model, mode', `${head.model}, ${head.mode}`],
  ]
  const tone: Record<string, string> = {
    Outcome: end?.subtype === 'success' ? 'good' : 'bad',
    Verified: end?.verified === true ? 'good' : end?.verified === false ? 'bad' : '',
  }
  const commands = (end?.verification?.commands ?? []).map(
    ({ command, exit_code }) =>
      `<li class="${exit_code === 0 ? 'good' : 'bad'}"><code>${safe(command)}</code> exit ${exit_code ?? '–'}</li>`,
  )
  const list = facts
    .map(([name, value]) => `<div><dt>${name}</dt><dd class="${tone[name] ?? ''}">${safe(value)}</dd></div>`)
    .join('')
  return `<dl class="facts">${list}</dl>${commands.length > 0 ? `<h2 class="small">Proof</h2><ul class="proof">${commands.join('')}</ul>` : ''}`
}

const aboutRun = ({ head: { started_at, version, cwd } }: TracedRun): string =>
  [started_at.replace('T', ' ').replace(/\.\d+Z$/, ' UTC'), cwd, version === '' ? '' : `vtcode ${version}`]
    .filter((part) => part !== '')
    .join(' · ')

const filesText = ({ files }: RunTotals): string =>
  files.length === 0
    ? 'none'
    : files.slice(0, 20).map(changeText).join(', ') + (files.length > 20 ? ` and ${files.length - 20} more` : '')
