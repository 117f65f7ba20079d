import { moneyText, endText } from './outline.js'
import { safe } from './page_parts.js'
import { toArguments, isFailed, type TracedRun, type TracedCall } from '../runs/index.js'

const around = { before: 3, after: 6 }

/** All calls of a run that its model asked for, in order. */
const callsOfRun = ({ turns }: TracedRun): TracedCall[] =>
  turns.flatMap(({ entries }) => entries.flatMap((entry) => (entry.kind === 'step' ? entry.calls : [])))
const saidBy = (call: TracedCall | undefined): string =>
  call === undefined ? '' : `${call.tool} ${JSON.stringify(toArguments(call))}`

/** The first call in which two runs differ, from 0; -1 where their calls are the same. */
export function firstDifference(one: TracedRun, other: TracedRun): number {
  const [a, b] = [callsOfRun(one), callsOfRun(other)]
  for (let at = 0; at < Math.max(a.length, b.length); at++) if (saidBy(a[at]) !== saidBy(b[at])) return at
  return -1
}

/** Two runs side by side, at their first difference. */
export function compareRows(one: TracedRun, other: TracedRun): string {
  const first = firstDifference(one, other)
  const [a, b] = [callsOfRun(one), callsOfRun(other)]
  const from = Math.max(0, first - around.before)
  const count = first === -1 ? 0 : Math.min(Math.max(a.length, b.length), first + around.after) - from
  const cell = (call: TracedCall | undefined): string =>
    call === undefined ? '–' : `${isFailed(call) ? '✗' : '✓'} ${safe(saidBy(call).slice(0, 300))}`
  const row = (at: number): string => {
    const [mark, said] = at === first ? [' class="first" id="difference"', ' first difference'] : ['', '']
    return `<tr${mark}><td>${at + 1}${said}</td><td>${cell(a[at])}</td><td>${cell(b[at])}</td></tr>`
  }
  const rows = Array.from({ length: count }, (_, at) => row(from + at))
  const fact = (name: string, of: (run: TracedRun) => string): string =>
    `<tr><td>${name}</td><td>${safe(of(one))}</td><td>${safe(of(other))}</td></tr>`
  const facts = [
    fact('outcome', endText),
    fact('cost', ({ totals }) => moneyText(totals.cost_usd)),
    fact('steps, calls', ({ totals }) => `${totals.steps}, ${totals.calls}`),
    fact('tokens', ({ totals: { usage } }) => `${usage.input_tokens} in, ${usage.output_tokens} out`),
  ]
  const none = first === -1 ? '<p>Their calls are the same.</p>' : ''
  const head = ['call', safe(one.head.session_id), safe(other.head.session_id)]
    .map((name) => `<th scope="col">${name}</th>`)
    .join('')
  return `<section aria-labelledby="compared"><h2 id="compared">Two runs</h2>${none}<table><thead><tr>${head}</tr></thead><tbody>${facts.join('')}${rows.join('')}</tbody></table></section>`
}
