import { html, type Html } from '../../lib/base/index.js'
import { formatMoney, formatEnd } from './outline.js'
import { toArguments, isFailed, type TracedRun, type TracedCall } from '../runs/index.js'

const around = { before: 3, after: 6 }

/** Lists the calls that the model of a run requested, in order. */
const listCalls = ({ turns }: TracedRun): TracedCall[] =>
  turns.flatMap(({ entries }) => entries.flatMap((entry) => (entry.kind === 'step' ? entry.calls : [])))
const formatCall = (call: TracedCall | undefined): string =>
  call === undefined ? '' : `${call.tool} ${JSON.stringify(toArguments(call))}`

/** Returns the index of the first call in which two runs differ; -1 for equal calls. */
export function findFirstDifference(one: TracedRun, other: TracedRun): number {
  const [a, b] = [listCalls(one), listCalls(other)]
  for (let at = 0; at < Math.max(a.length, b.length); at++) if (formatCall(a[at]) !== formatCall(b[at])) return at
  return -1
}

/** Renders two runs side by side from their first difference. */
export function renderComparison(one: TracedRun, other: TracedRun): Html {
  const first = findFirstDifference(one, other)
  const [a, b] = [listCalls(one), listCalls(other)]
  const from = Math.max(0, first - around.before)
  const count = first === -1 ? 0 : Math.min(Math.max(a.length, b.length), first + around.after) - from
  const cell = (call: TracedCall | undefined): string =>
    call === undefined ? '–' : `${isFailed(call) ? '✗' : '✓'} ${formatCall(call).slice(0, 300)}`
  const row = (at: number): Html => {
    const cells = html`<td>${cell(a[at])}</td>
      <td>${cell(b[at])}</td>`
    return at === first
      ? html`<tr class="first" id="difference">
          <td>${at + 1} first difference</td>
          ${cells}
        </tr>`
      : html`<tr>
          <td>${at + 1}</td>
          ${cells}
        </tr>`
  }
  const rows = Array.from({ length: count }, (_, at) => row(from + at))
  const fact = (name: string, of: (run: TracedRun) => string): Html =>
    html`<tr>
      <td>${name}</td>
      <td>${of(one)}</td>
      <td>${of(other)}</td>
    </tr>`
  const facts = [
    fact('outcome', formatEnd),
    fact('cost', ({ totals }) => formatMoney(totals.cost_usd)),
    fact('steps, calls', ({ totals }) => `${totals.steps}, ${totals.calls}`),
    fact('tokens', ({ totals: { usage } }) => `${usage.input_tokens} in, ${usage.output_tokens} out`),
  ]
  const none = first === -1 ? html`<p>Their calls are the same.</p>` : undefined
  const head = ['call', one.head.session_id, other.head.session_id].map((name) => html`<th scope="col">${name}</th>`)
  return html`<section aria-labelledby="compared">
    <h2 id="compared">Two runs</h2>
    ${none}
    <table>
      <thead>
        <tr>
          ${head}
        </tr>
      </thead>
      <tbody>
        ${facts}${rows}
      </tbody>
    </table>
  </section>`
}
