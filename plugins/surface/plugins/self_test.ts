import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { definedOnly, isObject } from '../../../core/shapes/index.js'
import { findProgram, searchPath } from '../../../core/system/index.js'
import { toText } from '../../../core/text/index.js'
import type { Contribution, Explanation, JsonObject, Result } from '../../../core/index.js'
import { executes, foreignKey, onBench, probe, slotMeant, type Setting } from './bench.js'
import { createTempFolder } from '../../lib/base/index.js'

export type SelfTestContext = Setting
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
const failed = (reason: string): SelfTestOutcome => ({ outcome: 'failed', reason })
/** What only a call shows. */
const results = ['ok', 'code', 'output', 'text_includes', 'notices']

export interface ExampleCounts {
  passed: number
  failed: number
  skipped: number
  not_run: number
}
/** What came of the examples of a contribution; of the plugin as a whole where `id` is empty. */
export interface Tried {
  id: string
  examples: ExampleCounts
  errors: string[]
}

export const noCounts = (): ExampleCounts => ({ passed: 0, failed: 0, skipped: 0, not_run: 0 })

/** Tries the examples of every contribution, and, where code may run, imports every module. */
export async function tryAll(setting: SelfTestContext): Promise<Tried[]> {
  const rows: Tried[] = []
  for (const contribution of setting.inspection.contributions) {
    const row: Tried = { id: contribution.id, examples: noCounts(), errors: [] }
    const { example: quoted, examples = [] } = contribution.manifest
    for (const [index, example] of examples.entries()) {
      const { outcome, reason } = await runExample(contribution, example, setting)
      row.examples[outcome] += 1
      if (outcome === 'failed')
        row.errors.push(
          `example ${index + 1}${typeof example['title'] === 'string' ? ` (${example['title']})` : ''}: ${reason}`,
        )
    }
    // Texts of errors quote it, so it has to be an input that is taken.
    if (isObject(quoted)) {
      const { outcome, reason } = await runExample(contribution, { input: quoted }, setting)
      row.examples[outcome] += 1
      if (outcome === 'failed') row.errors.push(`\`example\`: ${reason}`)
    }
    rows.push(row)
  }
  for (const { files, message } of setting.run ? await probe(setting) : []) {
    const owner = setting.inspection.contributions.find(({ file }) => files.includes(file))
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
  const folders = searchPath(trial.io.env['PATH'], trial.path)
  if (example.skip_without?.some((name) => !findProgram(name, folders))) return { outcome: 'skipped' }
  const key = foreignKey(contribution)
  // The example has the plugin alone, without the adapter that it counts on.
  if (key !== undefined && !trial.inspection.contributions.some(({ manifest }) => manifest.key === key))
    return { outcome: 'skipped' }
  if (!trial.run && executes(contribution)) return notRun
  try {
    if (contribution.kind === 'policy') return await judged(contribution, example, trial)
    if (contribution.kind === 'compactor') return await shrunk(contribution, example, trial)
    if (contribution.kind === 'action') return await acted(contribution, example, trial)
    return failed(`examples of a ${contribution.kind} are not known; those of actions, policies and compactors are`)
  } catch (error) {
    return failed((error as Error).message)
  }
}

function acted(
  contribution: Contribution,
  { files = {}, input = {}, invalid = false, expect = {} }: Example,
  trial: SelfTestContext,
): Promise<SelfTestOutcome> {
  const [tool, action] = (slotMeant(contribution) ?? '').split('/') as [string, string?]
  const sent = { ...definedOnly({ action }), ...input }
  return onBench(trial, files, {}, async (kernel) => {
    const explained = await kernel.explain(tool, sent)
    const refused = explained.verdict === 'refused'
    if (invalid) return refused ? passed : failed('the input was to be refused and is taken')
    // What is refused before it reaches the plugin can be called without running anything of it.
    if (refused && expect['ok'] !== false) return failed(`the input is refused: ${explained.reason ?? ''}`)
    const difference = rendered(explained, expect)
    if (difference !== undefined) return failed(difference)
    if (!results.some((key) => key in expect)) return passed
    return trial.run || refused ? compared(await kernel.call(tool, sent), expect) : notRun
  })
}

/** What differs in what would be started, sent or called. */
function rendered({ call, would = {} }: Explanation, expect: JsonObject): string | undefined {
  for (const key of ['argv', 'stdin', 'request']) {
    if (!(key in expect)) continue
    const exact =
      key === 'argv' &&
      Array.isArray(would[key]) &&
      (would[key] as unknown[]).length !== (expect[key] as unknown[]).length
    const difference = exact ? `argv is ${JSON.stringify(would[key])}` : differs(would[key], expect[key], key)
    if (difference !== undefined) return difference
  }
  if ('env' in expect) return differs(would['env'], expect['env'], 'env')
  const target = expect['target'] as { tool: string; input?: JsonObject } | undefined
  if (!target) return undefined
  const [tool, action] = (call?.slot ?? '').split('/') as [string, string?]
  return differs({ tool, input: { ...definedOnly({ action }), ...call?.input } }, target, 'target')
}

function compared(result: Result, { ok, code, output, text_includes, notices }: JsonObject): SelfTestOutcome {
  const shown = result.ok ? JSON.stringify(result.output) : `${result.error.code}: ${result.error.message}`
  if (ok !== undefined && result.ok !== ok) return failed(`the answer is ${shown.slice(0, 400)}`)
  if (code !== undefined && (result.ok || result.error.code !== code))
    return failed(`the answer is ${shown.slice(0, 400)} instead of ${toText(code)}`)
  if (output !== undefined) {
    const difference = differs(result.ok ? result.output : undefined, output, 'output')
    if (difference !== undefined) return failed(difference)
  }
  if (text_includes !== undefined && !includesText(result, toText(text_includes)))
    return failed(`the text does not include ${JSON.stringify(text_includes)}`)
  const codes = (result.notices ?? []).map((notice) => notice.code)
  const missing = ((notices ?? []) as string[]).filter((name) => !codes.includes(name))
  return missing.length > 0 ? failed(`there is no notice ${missing.join(', ')}`) : passed
}

const includesText = (result: Result, text: string): boolean => result.ok && (result.text ?? '').includes(text)

function judged(
  { id, name }: Contribution,
  { files = {}, call, expect = {} }: Example,
  trial: SelfTestContext,
): Promise<SelfTestOutcome> {
  if (!call) return Promise.resolve(failed('an example of a policy needs `call`'))
  return onBench(trial, files, {}, async (kernel) => {
    const { verdict, chain, reason } = await kernel.explain(call.tool, call.input ?? {})
    if (verdict === 'refused') return failed(`the call is refused before any policy is asked: ${reason ?? ''}`)
    const word = chain.find(({ policy }) => policy === id || policy.endsWith(`:${name}`))
    const actual = word?.verdict ?? 'none'
    return actual === expect['verdict']
      ? passed
      : failed(
          `the verdict is ${actual}${word?.reason ? ` (${word.reason})` : ''} instead of ${toText(expect['verdict'])}`,
        )
  })
}

/** The answer is given by a stand-in for the slot, so that the compactor meets it on the ordinary way. */
async function shrunk(
  { manifest }: Contribution,
  { files = {}, call, result, expect = {} }: Example,
  trial: SelfTestContext,
): Promise<SelfTestOutcome> {
  if (!result) return failed('an example of a compactor needs `result`')
  const target = call ?? {
    tool: manifest.slots?.find((slot) => !slot.includes('*')) ?? 'unified_search/list',
    input: {},
  }
  const [tool, named] = target.tool.split('/') as [string, string?]
  const action = named ?? (target.input?.['action'] as string | undefined)
  const slot = action === undefined ? tool : `${tool}/${action}`
  const folder = createTempFolder('given')
  try {
    writeFileSync(
      join(folder, 'given.yaml'),
      JSON.stringify({ name: 'given', action: slot, stage: 'override', module: './given.js' }),
    )
    writeFileSync(join(folder, 'given.js'), `export default () => (${JSON.stringify(result)})\n`)
    const config = { manifests: [{ from: folder, isolate: 'inline' as const }], use: { [slot]: 'given' } }
    return await onBench(trial, files, config, async (kernel) => {
      const input = { ...definedOnly({ action }), ...target.input }
      const difference = differs(await kernel.call(tool, input), expect['result'], 'result')
      return difference === undefined ? passed : failed(difference)
    })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Objects by the keys that are listed, lists by their beginning. Says where the first difference is. */
function differs(actual: unknown, expected: unknown, place: string): string | undefined {
  if (Array.isArray(expected)) {
    if (!Array.isArray(actual)) return `${place} is ${JSON.stringify(actual)}, no list`
    return first(expected.map((item, index) => differs(actual[index], item, `${place}[${index}]`)))
  }
  if (typeof expected === 'object' && expected !== null) {
    if (typeof actual !== 'object' || actual === null) return `${place} is ${JSON.stringify(actual)}, no object`
    return first(
      Object.entries(expected).map(([key, item]) => differs((actual as JsonObject)[key], item, `${place}.${key}`)),
    )
  }
  return Object.is(actual, expected)
    ? undefined
    : `${place} is ${toText(JSON.stringify(actual)).slice(0, 400)} instead of ${JSON.stringify(expected)}`
}
const first = (differences: (string | undefined)[]): string | undefined => differences.find((one) => one !== undefined)
