import type { Io } from '../../../core/index.js'
import { sha256 } from '../../../core/system/index.js'
import type { OpenWorkspace } from '../../../core/workspace/index.js'
import { say, toOneLine } from '../../lib/terminal/index.js'
import { EvalError } from './error.js'
import { hasNoModel, runSample, SOLUTION, type Sample, type SampleContext } from './sample.js'
import { describeTask, type EvalTask, type RefusedTask } from './task.js'
import { writeTaskFile } from './tree.js'

/** A run of a suite: its tasks and what is known of its samples. */
export interface SuiteRun {
  suite: string
  models: string[]
  samples: number
  results: Sample[]
  refused: RefusedTask[]
}
export interface RunOptions {
  suite: string
  out: string
  models: readonly string[]
  samples: number
}

const toDigest = (value: unknown): string => sha256(JSON.stringify(value))
/** The file of a sample: the digest keeps names of models apart that differ in other characters only. */
const toSampleFile = ({ task, model, sample }: Pick<Sample, 'task' | 'model' | 'sample'>): string => {
  const names = [task, model].map((name) => name.replace(/[^\w.-]/g, '_').slice(0, 60))
  return `samples/${names.join('--')}-${toDigest([task, model]).slice(0, 8)}-${sample}.json`
}

/**
 * Runs all samples of a suite that the folder `out` does not have yet. Each sample is a file, so that a killed run
 * continues. Throws EvalError for a folder of another suite, or one that another run uses.
 */
export async function runSuite(
  context: SampleContext,
  tasks: readonly (EvalTask | RefusedTask)[],
  { suite, out, models, samples }: RunOptions,
): Promise<SuiteRun> {
  const { workspace, io } = context
  const usable = tasks.filter((task) => 'instruction' in task)
  const refused = tasks.filter((task) => 'refused' in task)
  const folder = workspace.normalize(out)
  const lock = await workspace.lock([`${folder}/run.json`], io.signal).catch(() => {
    throw new EvalError(`Another run uses '${out}'.`, 'Wait for it, or pass another folder with --out.')
  })
  try {
    await requireSameSuite(workspace, folder, { suite, tasks: usable })
    const results: Sample[] = []
    const all = usable.length * models.length * samples
    for (const task of usable)
      for (const model of models)
        for (let sample = 1; sample <= samples; sample++) {
          io.signal.throwIfAborted()
          const one = { task: task.name, model, sample }
          const path = `${folder}/${toSampleFile(one)}`
          const known = await readSample(workspace, path, one)
          const result = known ?? (await tryTask(context, task, one))
          if (!known && !hasNoModel(result)) await writeTaskFile(workspace, path, `${JSON.stringify(result)}\n`)
          results.push(result)
          report(io, result, { number: results.length, all, isKnown: known !== undefined })
        }
    return { suite, models: [...models], samples, results, refused }
  } finally {
    await lock[Symbol.asyncDispose]()
  }
}

function tryTask(context: SampleContext, task: EvalTask, one: Pick<Sample, 'model' | 'sample'>): Promise<Sample> {
  if (one.model === SOLUTION && !task.has_solution)
    throw new EvalError(`The task '${task.name}' has no solution/solve.sh.`, 'Pass --models, or leave the task out.')
  return runSample(context, task, one)
}

async function requireSameSuite(
  workspace: OpenWorkspace,
  folder: string,
  { suite, tasks }: { suite: string; tasks: readonly EvalTask[] },
): Promise<void> {
  const described = await Promise.all(tasks.map((task) => describeTask(workspace, task)))
  const digest = toDigest(described)
  const known = (await workspace.stat(`${folder}/run.json`))
    ? (JSON.parse(await workspace.readText(`${folder}/run.json`)) as { digest?: unknown })
    : undefined
  if (known && known.digest !== digest)
    throw new EvalError(
      `'${folder}' has results of another suite, or its tasks have changed.`,
      'Pass another folder with --out.',
    )
  if (!known) await writeTaskFile(workspace, `${folder}/run.json`, `${JSON.stringify({ version: 1, suite, digest })}\n`)
}

/** Reads a sample of an earlier run; `undefined` if there is none, or for a file of something else. */
async function readSample(
  workspace: OpenWorkspace,
  path: string,
  wanted: Pick<Sample, 'task' | 'model' | 'sample'>,
): Promise<Sample | undefined> {
  if (!(await workspace.stat(path))) return undefined
  try {
    const one = JSON.parse(await workspace.readText(path)) as Sample
    return one.task === wanted.task && one.model === wanted.model && one.sample === wanted.sample ? one : undefined
  } catch {
    return undefined
  }
}

function report(
  io: Io,
  { task, model, sample, outcome, error }: Sample,
  { number, all, isKnown }: { number: number; all: number; isKnown: boolean },
): void {
  const why = outcome === 'error' && error !== undefined ? `: ${error}` : ''
  const text = `${number}/${all} ${task} ${model} sample ${sample}: ${outcome}${why}${isKnown ? ' (kept)' : ''}`
  if (!io.quiet) say(io, 'info', toOneLine(text))
}
