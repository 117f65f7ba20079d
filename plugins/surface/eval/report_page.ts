import { html, Html } from '../../lib/base/index.js'
import { formatUsd, formatRange, formatShare, listShownCounts, type EvalReport } from './report_text.js'
import type { Figures } from './statistics.js'

const policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
/** The colors have a contrast of at least 4.5 in both schemes. */
const style = `
:root{color-scheme:light dark;--bg:#fff;--ink:#1c2024;--dim:#5b626b;--line:#d9dde2;--soft:#f5f6f8;--model:#6d4fc4;
--tool:#1d7a4d;--link:#1c5fb8}
@media(prefers-color-scheme:dark){:root{--bg:#15181c;--ink:#e6e8eb;--dim:#a3abb5;--line:#343a42;--soft:#1d2126;
--model:#a48cf0;--tool:#5cc48e;--link:#8ab8f5}}
*{box-sizing:border-box}body{margin:0 auto;max-width:76rem;padding:1rem 1.25rem 6rem;background:var(--bg);
color:var(--ink);font:15px/1.5 system-ui,sans-serif}
h1{font-size:1.35rem;overflow-wrap:anywhere}h2{font-size:1.05rem}.good{color:var(--tool)}.dim{color:var(--dim)}
table{border-collapse:collapse}th,td{border:1px solid var(--line);padding:.3rem .5rem;text-align:left}
th{background:var(--soft)}
main{margin-top:1rem}figure{margin:1.2rem 0}figcaption{font-weight:600;margin-bottom:.3rem}
svg{display:block;width:100%;height:auto;max-width:60rem}
svg text{font:12px system-ui,sans-serif;fill:var(--ink)}svg .dim{fill:var(--dim)}
.axis{stroke:var(--line)}.bar{fill:var(--model)}.second{fill:var(--tool)}.range{stroke:var(--ink);stroke-width:2}
.dot{fill:var(--link)}table{font-size:.88rem}.scroll{overflow-x:auto}`
const WIDTH = 720
const LABEL_WIDTH = 270
const ROW_HEIGHT = 26
const MAX_LABEL_CHARS = 40

const cutLabel = (text: string, most = MAX_LABEL_CHARS): string =>
  text.length > most ? `${text.slice(0, most - 1)}…` : text

interface Bar {
  label: string
  value: number
  shown: string
  range?: [number, number]
  second?: boolean
}

/** Renders a report as one HTML page that loads nothing and has no script; `other`: a second run to compare with. */
export function renderEvalPage(report: EvalReport, other?: EvalReport): string {
  const title = `Evaluation of ${report.suite}`
  const page = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta http-equiv="Content-Security-Policy" content="${new Html(policy)}" />
        <meta name="viewport" content="width=device-width,initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${title}</title>
        <style>
          ${new Html(style)}
        </style>
      </head>
      <body>
        <header><h1>${title}</h1></header>
        <main>
          ${renderRates(report, other)} ${renderCosts(report)}
          ${renderTaskBars(report, 'tokens', (one) => one.input_tokens + one.output_tokens)}
          ${renderTaskBars(report, 'seconds', (one) => one.agent_ms / 1000)} ${renderModels(report)}
          ${renderTasks(report, other)} ${renderRefused(report)}
        </main>
      </body>
    </html> `
  return page.text
}

/** Renders horizontal bars; `most`: the value of a bar of full length. */
function renderBars(caption: string, bars: readonly Bar[], most: number): Html {
  const scale = (value: number) => (most > 0 ? (value / most) * (WIDTH - LABEL_WIDTH - 110) : 0)
  const height = bars.length * ROW_HEIGHT + 8
  return html`<figure>
    <figcaption>${caption}</figcaption>
    <svg viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${caption}">
      ${bars.map(({ label, value, shown, range, second }, index) => {
        const top = index * ROW_HEIGHT + 4
        const middle = top + ROW_HEIGHT / 2 - 3
        const end = LABEL_WIDTH + scale(Math.max(value, range?.[1] ?? 0)) + 8
        return html`<text x="${LABEL_WIDTH - 8}" y="${middle + 4}" text-anchor="end">
            ${cutLabel(label)} <title>${label}</title>
          </text>
          <rect
            class="${second ? 'second' : 'bar'}"
            x="${LABEL_WIDTH}"
            y="${top}"
            width="${scale(value).toFixed(1)}"
            height="${ROW_HEIGHT - 6}"
          />
          ${
            range &&
            html`<line
              class="range"
              x1="${(LABEL_WIDTH + scale(range[0])).toFixed(1)}"
              x2="${(LABEL_WIDTH + scale(range[1])).toFixed(1)}"
              y1="${middle}"
              y2="${middle}"
            />`
          }
          <text x="${end.toFixed(1)}" y="${middle + 4}">${shown}</text>`
      })}
      <line class="axis" x1="${LABEL_WIDTH}" x2="${LABEL_WIDTH}" y1="0" y2="${height}" />
    </svg>
  </figure>`
}

function renderRates(report: EvalReport, other: EvalReport | undefined): Html {
  const toBars = ({ models }: EvalReport, second: boolean): Bar[] =>
    models.map(({ model, rate, interval }) => ({
      label: other ? `${cutLabel(model, 24)}, ${second ? 'second' : 'first'} run` : model,
      value: rate,
      shown: `${formatShare(rate)} (${formatRange(interval)})`,
      range: interval,
      second,
    }))
  const bars = [...toBars(report, false), ...(other ? toBars(other, true) : [])]
  return renderBars('Pass rate with its 95 % interval', bars, 1.6)
}

function renderTaskBars({ tasks, models }: EvalReport, unit: string, read: (one: Figures) => number): Html {
  const bars = tasks.map((one) => ({
    label: models.length > 1 ? `${cutLabel(one.task, 20)} ${cutLabel(one.model, 18)}` : one.task,
    value: read(one) / one.samples,
    shown: (read(one) / one.samples).toFixed(unit === 'seconds' ? 1 : 0),
  }))
  return renderBars(`Mean ${unit} of a sample`, bars, Math.max(0, ...bars.map(({ value }) => value)))
}

/** Renders cost against success, one dot a model. */
function renderCosts({ models }: EvalReport): Html {
  const priced = models.flatMap((one) => (one.cost_usd === null ? [] : [{ ...one, each: one.cost_usd / one.samples }]))
  const most = Math.max(...priced.map(({ each }) => each), 0)
  const [left, width, height] = [60, WIDTH - 260, 220]
  const toX = (each: number) => left + (most > 0 ? (each / most) * width : 0)
  const toY = (rate: number) => 20 + (1 - rate) * (height - 60)
  return html`<figure>
    <figcaption>Cost against success</figcaption>
    <svg viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="Cost of a sample against the pass rate">
      <line class="axis" x1="${left}" x2="${left}" y1="20" y2="${height - 40}" />
      <line class="axis" x1="${left}" x2="${left + width}" y1="${height - 40}" y2="${height - 40}" />
      <text class="dim" x="${left - 8}" y="24" text-anchor="end">100 %</text>
      <text class="dim" x="${left - 8}" y="${height - 36}" text-anchor="end">0 %</text>
      <text class="dim" x="${left}" y="${height - 20}">$0</text>
      <text class="dim" x="${left + width}" y="${height - 20}" text-anchor="end">${formatUsd(most)} a sample</text>
      ${priced.map(
        ({ model, rate, each }) =>
          html`<circle class="dot" cx="${toX(each).toFixed(1)}" cy="${toY(rate).toFixed(1)}" r="5" />
            <text x="${(toX(each) + 9).toFixed(1)}" y="${(toY(rate) + 4).toFixed(1)}">${cutLabel(model)}</text>`,
      )}
    </svg>
    ${priced.length < models.length ? html`<p class="dim">Models without a price are left out.</p>` : undefined}
  </figure>`
}

function renderModels({ models }: EvalReport): Html {
  const counts = listShownCounts(Math.max(0, ...models.map(({ pass_at }) => Object.keys(pass_at).length)))
  return html`<h2>Models</h2>
    <div class="scroll">
      <table>
        <tr>
          <th>model</th>
          <th>passed</th>
          ${counts.map(
            (k) =>
              html`<th>pass@${k}</th>
                <th>pass^${k}</th>`,
          )}
          <th>cost</th>
          <th>tokens in</th>
          <th>tokens out</th>
          <th>calls</th>
          <th>failed calls</th>
          <th>answers</th>
          <th>errors</th>
        </tr>
        ${models.map(
          (one) =>
            html`<tr>
              <td>${one.model}</td>
              <td>${one.passed}/${one.samples}</td>
              ${counts.map(
                (k) =>
                  html`<td>${formatShare(one.pass_at[k] ?? 0)}</td>
                    <td>${formatShare(one.pass_all[k] ?? 0)}</td>`,
              )}
              <td>${formatUsd(one.cost_usd)}</td>
              <td>${one.input_tokens}</td>
              <td>${one.output_tokens}</td>
              <td>${one.calls}</td>
              <td>${one.failed_calls}</td>
              <td>${one.requests}</td>
              <td>${one.errors}</td>
            </tr>`,
        )}
      </table>
    </div>`
}

function renderTasks({ tasks }: EvalReport, other: EvalReport | undefined): Html {
  const find = (task: string, model: string) => other?.tasks.find((one) => one.task === task && one.model === model)
  return html`<h2>Tasks</h2>
    <div class="scroll">
      <table>
        <tr>
          <th>task</th>
          <th>model</th>
          <th>passed</th>
          ${other && html`<th>second run</th>`}
          <th>cost</th>
          <th>seconds</th>
        </tr>
        ${tasks.map((one) => {
          const second = find(one.task, one.model)
          return html`<tr>
            <td>${one.task}</td>
            <td>${one.model}</td>
            <td class="${one.passed === one.samples ? 'good' : ''}">${one.passed}/${one.samples}</td>
            ${other && html`<td>${second ? `${second.passed}/${second.samples}` : '–'}</td>`}
            <td>${formatUsd(one.cost_usd)}</td>
            <td>${(one.agent_ms / 1000).toFixed(1)}</td>
          </tr>`
        })}
      </table>
    </div>`
}

function renderRefused({ refused }: EvalReport): Html | undefined {
  return refused.length === 0
    ? undefined
    : html`<h2>Not run</h2>
        <ul>
          ${refused.map(({ name, refused: why }) => html`<li>${name}: ${why}</li>`)}
        </ul>`
}
