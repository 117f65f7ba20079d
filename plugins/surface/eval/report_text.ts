import { visibleLine } from '../../../core/index.js'
import type { SuiteRun } from './run_suite.js'
import { computeModelFigures, computeTaskFigures, type Figures } from './statistics.js'

/** Creates the JSON report of a run. */
export const createReport = (run: SuiteRun) => ({
  version: 1,
  suite: run.suite,
  models: computeModelFigures(run.results),
  tasks: computeTaskFigures(run.results),
  refused: run.refused,
  samples: run.results,
})
export type EvalReport = ReturnType<typeof createReport>

export const formatShare = (share: number): string => `${(share * 100).toFixed(1)} %`
export const formatUsd = (usd: number | null): string => (usd === null ? 'unknown' : `$${usd.toFixed(4)}`)
export const formatRange = ([low, high]: [number, number]): string => `${formatShare(low)} – ${formatShare(high)}`

/** Returns the numbers of samples that reports show: 1, the powers of two below the last one, and the last one. */
export const listShownCounts = (most: number): number[] =>
  Array.from({ length: most }, (_, index) => index + 1).filter((k) => k === most || (k & (k - 1)) === 0)

const toCell = (text: string): string => visibleLine(text).replace(/[\\|]/g, '\\$&')
const toRow = (cells: readonly (string | number)[]): string =>
  `| ${cells.map((one) => toCell(String(one))).join(' | ')} |`
const toTable = (head: readonly string[], rows: readonly (readonly (string | number)[])[]): string[] => [
  toRow(head),
  `|${head.map(() => '---').join('|')}|`,
  ...rows.map(toRow),
]
const HEAD = [
  'passed',
  'rate',
  '95 %',
  'cost',
  'tokens in',
  'tokens out',
  'calls',
  'failed calls',
  'answers',
  'seconds',
]
const toCells = (one: Figures): (string | number)[] => [
  `${one.passed}/${one.samples}`,
  formatShare(one.rate),
  formatRange(one.interval),
  formatUsd(one.cost_usd),
  one.input_tokens,
  one.output_tokens,
  one.calls,
  one.failed_calls,
  one.requests,
  (one.agent_ms / 1000).toFixed(1),
]

/** Formats a report as Markdown. */
export function formatMarkdown({ suite, models, tasks, refused, samples }: EvalReport): string {
  const most = Math.max(0, ...models.map(({ pass_at }) => Object.keys(pass_at).length))
  const counts = listShownCounts(most)
  const faults = samples.filter(({ outcome }) => outcome === 'error')
  const lines = [
    `# Evaluation of ${visibleLine(suite)}`,
    '',
    ...toTable(
      ['model', ...HEAD],
      models.map((one) => [one.model, ...toCells(one)]),
    ),
    '',
    ...toTable(
      ['model', ...counts.flatMap((k) => [`pass@${k}`, `pass^${k}`])],
      models.map(({ model, pass_at, pass_all }) => [
        model,
        ...counts.flatMap((k) => [pass_at[k], pass_all[k]].map((one) => (one === undefined ? '' : formatShare(one)))),
      ]),
    ),
    '',
    '## Tasks',
    '',
    ...toTable(
      ['task', 'model', ...HEAD],
      tasks.map((one) => [one.task, one.model, ...toCells(one)]),
    ),
    ...(refused.length > 0
      ? [
          '',
          '## Not run',
          '',
          ...toTable(
            ['task', 'reason'],
            refused.map((one) => [one.name, one.refused]),
          ),
        ]
      : []),
    ...(faults.length > 0
      ? [
          '',
          '## Without a result',
          '',
          ...toTable(
            ['task', 'model', 'sample', 'reason'],
            faults.map((one) => [one.task, one.model, one.sample, one.error ?? '']),
          ),
        ]
      : []),
  ]
  return `${lines.join('\n')}\n`
}
