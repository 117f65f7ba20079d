import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { omitUndefined, isObject } from '../../../core/shapes/index.js'
import { findProgram, listSearchFolders } from '../../../core/system/index.js'
import { toText } from '../../../core/text/index.js'
import type { Contribution, Explanation, JsonObject, Result } from '../../../core/index.js'
import {
  hasEagerCode,
  findAdapterKey,
  withTrialKernel,
  findImportErrors,
  resolveSlotName,
  type PluginTrial,
} from './trial_kernel.js'
import { createTempFolder } from '../../lib/base/index.js'

export type SelfTestContext = PluginTrial
export interface SelfTestOutcome {
  outcome: 'passed' | 'failed' | 'skipped' | 'not_run'
  reason?: string
}
type Example = {
  files?: JsonObject
  input?: JsonObject
  invalid?: boolean
  call?: { tool: string; input?: JsonObject }
  result?: Result
  skip_without?: string[]
  expect?: JsonObject
}

const passed: SelfTestOutcome = { outcome: 'passed' }
const notRun: SelfTestOutcome = { outcome: 'not_run' }
const createFailure = (reason: string): SelfTestOutcome => ({ outcome: 'failed', reason })
/** Expectations that need a call. */
const RESULT_KEYS = ['ok', 'code', 'output', 'text_includes', 'notices']

export interface ExampleCounts {
  passed: number
  failed: number
  skipped: number
  not_run: number
}
/** The results of the examples of a contribution; of the whole plugin where `id` is empty. */
export interface ExampleReport {
  id: string
  examples: ExampleCounts
  errors: string[]
}

export const createCounts = (): ExampleCounts => ({ passed: 0, failed: 0, skipped: 0, not_run: 0 })

/** Runs the examples of every contribution and, where code may run, imports every module. */
export async function runExamples(trial: SelfTestContext): Promise<ExampleReport[]> {
  const rows: ExampleReport[] = []
  for (const contribution of trial.inspection.contributions) {
    const row: ExampleReport = { id: contribution.id, examples: createCounts(), errors: [] }
    const { example: inputExample, examples = [] } = contribution.manifest
    for (const [index, example] of examples.entries()) {
      const { outcome, reason } = await runExample(contribution, example, trial)
      row.examples[outcome] += 1
      if (outcome === 'failed')
        row.errors.push(
          `example ${index + 1}${typeof example['title'] === 'string' ? ` (${example['title']})` : ''}: ${reason}`,
        )
    }
    // Error texts quote `example`, so it has to be a valid input.
    if (isObject(inputExample)) {
      const { outcome, reason } = await runExample(contribution, { input: inputExample }, trial)
      row.examples[outcome] += 1
      if (outcome === 'failed') row.errors.push(`\`example\`: ${reason}`)
    }
    rows.push(row)
  }
  for (const { files, message } of trial.run ? await findImportErrors(trial) : []) {
    const owner = trial.inspection.contributions.find(({ file }) => files.includes(file))
    rows.find(({ id }) => id === owner?.id)?.errors.push(message)
  }
  return rows
}

async function runExample(
  contribution: Contribution,
  declared: JsonObject,
  trial: SelfTestContext,
): Promise<SelfTestOutcome> {
  const example = declared as Example
  const folders = listSearchFolders(trial.io.env['PATH'], trial.path)
  if (example.skip_without?.some((name) => !findProgram(name, folders))) return { outcome: 'skipped' }
  const key = findAdapterKey(contribution)
  // The trial kernel has no adapter of other plugins.
  if (key !== undefined && !trial.inspection.contributions.some(({ manifest }) => manifest.key === key))
    return { outcome: 'skipped' }
  if (!trial.run && hasEagerCode(contribution)) return notRun
  try {
    if (contribution.kind === 'policy') return await testPolicy(contribution, example, trial)
    if (contribution.kind === 'compactor') return await testCompactor(contribution, example, trial)
    if (contribution.kind === 'action') return await testAction(contribution, example, trial)
    return createFailure(`a ${contribution.kind} has no examples; actions, policies and compactors have`)
  } catch (error) {
    return createFailure((error as Error).message)
  }
}

function testAction(
  contribution: Contribution,
  { files = {}, input = {}, invalid = false, expect = {} }: Example,
  trial: SelfTestContext,
): Promise<SelfTestOutcome> {
  const [tool, action] = (resolveSlotName(contribution) ?? '').split('/') as [string, string?]
  const sent = { ...omitUndefined({ action }), ...input }
  return withTrialKernel(trial, files, {}, async (kernel) => {
    const explained = await kernel.explain(tool, sent)
    const isRefused = explained.verdict === 'refused'
    if (invalid) return isRefused ? passed : createFailure('the input is accepted, but should be refused')
    // A call that is refused before the plugin runs is safe to make.
    if (isRefused && expect['ok'] !== false) return createFailure(`the input is refused: ${explained.reason ?? ''}`)
    const difference = findRenderDifference(explained, expect)
    if (difference !== undefined) return createFailure(difference)
    if (!RESULT_KEYS.some((key) => key in expect)) return passed
    return trial.run || isRefused ? compareResult(await kernel.call(tool, sent), expect) : notRun
  })
}

/** Returns the first difference in the command, request or call that an explanation renders. */
function findRenderDifference({ call, would = {} }: Explanation, expect: JsonObject): string | undefined {
  for (const key of ['argv', 'stdin', 'request']) {
    if (!(key in expect)) continue
    const exact =
      key === 'argv' &&
      Array.isArray(would[key]) &&
      (would[key] as unknown[]).length !== (expect[key] as unknown[]).length
    const difference = exact ? `argv is ${JSON.stringify(would[key])}` : findDifference(would[key], expect[key], key)
    if (difference !== undefined) return difference
  }
  if ('env' in expect) return findDifference(would['env'], expect['env'], 'env')
  const target = expect['target'] as { tool: string; input?: JsonObject } | undefined
  if (!target) return undefined
  const [tool, action] = (call?.slot ?? '').split('/') as [string, string?]
  return findDifference({ tool, input: { ...omitUndefined({ action }), ...call?.input } }, target, 'target')
}

function compareResult(result: Result, { ok, code, output, text_includes, notices }: JsonObject): SelfTestOutcome {
  const answer = result.ok ? JSON.stringify(result.output) : `${result.error.code}: ${result.error.message}`
  if (ok !== undefined && result.ok !== ok) return createFailure(`the answer is ${answer.slice(0, 400)}`)
  if (code !== undefined && (result.ok || result.error.code !== code))
    return createFailure(`the answer is ${answer.slice(0, 400)} instead of ${toText(code)}`)
  if (output !== undefined) {
    const difference = findDifference(result.ok ? result.output : undefined, output, 'output')
    if (difference !== undefined) return createFailure(difference)
  }
  if (text_includes !== undefined && !includesText(result, toText(text_includes)))
    return createFailure(`the text does not include ${JSON.stringify(text_includes)}`)
  const codes = (result.notices ?? []).map((notice) => notice.code)
  const missing = ((notices ?? []) as string[]).filter((name) => !codes.includes(name))
  return missing.length > 0 ? createFailure(`there is no notice ${missing.join(', ')}`) : passed
}

const includesText = (result: Result, text: string): boolean => result.ok && (result.text ?? '').includes(text)

function testPolicy(
  { id, name }: Contribution,
  { files = {}, call, expect = {} }: Example,
  trial: SelfTestContext,
): Promise<SelfTestOutcome> {
  if (!call) return Promise.resolve(createFailure('an example of a policy needs `call`'))
  return withTrialKernel(trial, files, {}, async (kernel) => {
    const { verdict, chain, reason } = await kernel.explain(call.tool, call.input ?? {})
    if (verdict === 'refused') return createFailure(`the call is refused before any policy is asked: ${reason ?? ''}`)
    const entry = chain.find(({ policy }) => policy === id || policy.endsWith(`:${name}`))
    const actual = entry?.verdict ?? 'none'
    return actual === expect['verdict']
      ? passed
      : createFailure(
          `the verdict is ${actual}${entry?.reason ? ` (${entry.reason})` : ''} instead of ` +
            `${toText(expect['verdict'])}`,
        )
  })
}

/** Tests a compactor by a call whose slot an override serves with the given result. */
async function testCompactor(
  { manifest }: Contribution,
  { files = {}, call, result, expect = {} }: Example,
  trial: SelfTestContext,
): Promise<SelfTestOutcome> {
  if (!result) return createFailure('an example of a compactor needs `result`')
  const target = call ?? {
    tool: manifest.slots?.find((slot) => !slot.includes('*')) ?? 'unified_search/list',
    input: {},
  }
  const [tool, givenAction] = target.tool.split('/') as [string, string?]
  const action = givenAction ?? (target.input?.['action'] as string | undefined)
  const slot = action === undefined ? tool : `${tool}/${action}`
  const folder = createTempFolder('given')
  try {
    writeFileSync(
      join(folder, 'given.yaml'),
      JSON.stringify({ name: 'given', action: slot, stage: 'override', module: './given.js' }),
    )
    writeFileSync(join(folder, 'given.js'), `export default () => (${JSON.stringify(result)})\n`)
    const config = { manifests: [{ from: folder, isolate: 'inline' as const }], use: { [slot]: 'given' } }
    return await withTrialKernel(trial, files, config, async (kernel) => {
      const input = { ...omitUndefined({ action }), ...target.input }
      const difference = findDifference(await kernel.call(tool, input), expect['result'], 'result')
      return difference === undefined ? passed : createFailure(difference)
    })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Describes the first difference. Compares only the expected keys of objects and the expected items of lists. */
function findDifference(actual: unknown, expected: unknown, place: string): string | undefined {
  if (Array.isArray(expected)) {
    if (!Array.isArray(actual)) return `${place} is ${JSON.stringify(actual)}, no list`
    return findFirst(expected.map((item, index) => findDifference(actual[index], item, `${place}[${index}]`)))
  }
  if (typeof expected === 'object' && expected !== null) {
    if (typeof actual !== 'object' || actual === null) return `${place} is ${JSON.stringify(actual)}, no object`
    return findFirst(
      Object.entries(expected).map(([key, item]) =>
        findDifference((actual as JsonObject)[key], item, `${place}.${key}`),
      ),
    )
  }
  return Object.is(actual, expected)
    ? undefined
    : `${place} is ${toText(JSON.stringify(actual)).slice(0, 400)} instead of ${JSON.stringify(expected)}`
}
const findFirst = (differences: (string | undefined)[]): string | undefined =>
  differences.find((one) => one !== undefined)
