import type { Sample } from './sample.js'

/** The figures of one task with one model, or of all tasks. */
export interface Figures {
  samples: number
  passed: number
  errors: number
  /** The probability that at least one of k samples passes, by k. */
  pass_at: Record<string, number>
  /** The probability that all of k samples pass, by k. */
  pass_all: Record<string, number>
  /** The share of passed samples, with its 95 % interval by Wilson. */
  rate: number
  interval: [number, number]
  cost_usd: number | null
  input_tokens: number
  output_tokens: number
  calls: number
  failed_calls: number
  requests: number
  agent_ms: number
}
export interface TaskFigures extends Figures {
  task: string
  model: string
}
export interface ModelFigures extends Figures {
  model: string
  tasks: number
}
const Z_95 = 1.959963984540054

/** Computes the chance that a choice of k of n samples has no failed one, where c passed: C(c, k) / C(n, k). */
function chooseAll(n: number, c: number, k: number): number {
  let chance = 1
  for (let index = 0; index < k; index++) chance *= Math.max(0, c - index) / (n - index)
  return chance
}

/** Estimates pass@k without bias from n samples of which c passed. */
export const computePassAny = (n: number, c: number, k: number): number => 1 - chooseAll(n, n - c, k)
/** Estimates pass^k, the chance that k samples pass. */
export const computePassAll = (n: number, c: number, k: number): number => chooseAll(n, c, k)

/** Computes the 95 % interval of a share by Wilson's score. */
export function computeInterval(n: number, c: number): [number, number] {
  if (n === 0) return [0, 1]
  const share = c / n
  const z2 = Z_95 ** 2
  const center = (share + z2 / (2 * n)) / (1 + z2 / n)
  const half = (Z_95 / (1 + z2 / n)) * Math.sqrt((share * (1 - share)) / n + z2 / (4 * n * n))
  return [Math.max(0, center - half), Math.min(1, center + half)]
}

const sum = (
  samples: readonly Sample[],
  key: 'input_tokens' | 'output_tokens' | 'calls' | 'failed_calls' | 'requests' | 'agent_ms',
) => samples.reduce((all, sample) => all + sample[key], 0)

function computeTotals(samples: readonly Sample[]): Omit<Figures, 'pass_at' | 'pass_all'> {
  const passed = samples.filter(({ outcome }) => outcome === 'passed').length
  return {
    samples: samples.length,
    passed,
    errors: samples.filter(({ outcome }) => outcome === 'error').length,
    rate: samples.length === 0 ? 0 : passed / samples.length,
    interval: computeInterval(samples.length, passed),
    cost_usd: samples.reduce<number | null>(
      (all, { cost_usd }) => (all === null || cost_usd === null ? null : all + cost_usd),
      0,
    ),
    input_tokens: sum(samples, 'input_tokens'),
    output_tokens: sum(samples, 'output_tokens'),
    calls: sum(samples, 'calls'),
    failed_calls: sum(samples, 'failed_calls'),
    requests: sum(samples, 'requests'),
    agent_ms: sum(samples, 'agent_ms'),
  }
}

/** Computes the figures of each task with each model. */
export function computeTaskFigures(samples: readonly Sample[]): TaskFigures[] {
  const groups = new Map<string, Sample[]>()
  for (const sample of samples) groups.set(toKey(sample), [...(groups.get(toKey(sample)) ?? []), sample])
  return [...groups.values()].map((group) => {
    const { task, model } = group[0]!
    const totals = computeTotals(group)
    const ks = Array.from({ length: group.length }, (_, index) => index + 1)
    const list = (compute: typeof computePassAny) =>
      Object.fromEntries(ks.map((k) => [k, compute(totals.samples, totals.passed, k)]))
    return { task, model, ...totals, pass_at: list(computePassAny), pass_all: list(computePassAll) }
  })
}
const toKey = ({ task, model }: Sample): string => JSON.stringify([task, model])

/** Computes the figures of each model: pass@k and pass^k are means over its tasks. */
export function computeModelFigures(samples: readonly Sample[]): ModelFigures[] {
  const tasks = computeTaskFigures(samples)
  return [...new Set(samples.map(({ model }) => model))].map((model) => {
    const own = tasks.filter((one) => one.model === model)
    const most = Math.min(...own.map((one) => one.samples))
    const mean = (key: 'pass_at' | 'pass_all') =>
      Object.fromEntries(
        Array.from({ length: most }, (_, index) => [
          index + 1,
          own.reduce((all, one) => all + one[key][index + 1]!, 0) / own.length,
        ]),
      )
    const totals = computeTotals(samples.filter((one) => one.model === model))
    return { model, tasks: own.length, ...totals, pass_at: mean('pass_at'), pass_all: mean('pass_all') }
  })
}
