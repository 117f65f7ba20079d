import { realpathSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { openWorkspace, redactText, type Io, type Kernel } from '../../../core/index.js'
import type { OpenWorkspace } from '../../../core/workspace/index.js'
import { createTempFolder } from '../../lib/base/index.js'
import { runInSandbox, withKernel, type TaskScriptEnd } from './sandboxed_script.js'
import { localizeScript, type EvalTask } from './task.js'
import { copyFiles, writeTaskFile } from './tree.js'

/** The result of one sample: one try of a task by a model. */
export interface Sample {
  task: string
  model: string
  /** From 1. */
  sample: number
  /** `error`: the tests gave no reward, or the sample could not run. */
  outcome: 'passed' | 'failed' | 'error'
  reward: number | null
  /** The outcome code of the agent; `solution` where the task's own solution ran. */
  agent: string
  error?: string
  cost_usd: number | null
  input_tokens: number
  output_tokens: number
  calls: number
  failed_calls: number
  requests: number
  agent_ms: number
  verifier_ms: number
  /** The end of the output of the tests. */
  output: string
}
export interface SampleContext {
  kernel: Kernel
  /** The workspace with the suite. */
  workspace: OpenWorkspace
  io: Io
  slot: string
}
type Work = Omit<Sample, 'task' | 'model' | 'sample' | 'outcome' | 'reward' | 'verifier_ms' | 'output'>

/** Returns whether the model could not be asked: this says nothing about it, so that a later run tries again. */
export const hasNoModel = ({ agent, error }: Pick<Sample, 'agent' | 'error'>): boolean =>
  agent === 'failed' && /^VT_LLM_(?:AUTH|REQUEST|RATE_LIMIT|QUOTA|TIMEOUT|CUT):/.test(error ?? '')

/** The name of the model for the task's own solution. */
export const SOLUTION = 'solution'
const MAX_OUTPUT_CHARS = 2000
const noWork: Work = {
  agent: SOLUTION,
  cost_usd: 0,
  input_tokens: 0,
  output_tokens: 0,
  calls: 0,
  failed_calls: 0,
  requests: 0,
  agent_ms: 0,
}

/**
 * Runs one sample in a folder of its own, which is removed. The agent sees the work folder only; the tests are copied
 * after it has ended. Throws EvalError where no sandbox works, and AgentError for a model that cannot be asked.
 */
export async function runSample(
  context: SampleContext,
  task: EvalTask,
  { model, sample }: Pick<Sample, 'model' | 'sample'>,
): Promise<Sample> {
  const root = realpathSync(createTempFolder('eval'))
  const scratch = openWorkspace(root, context.kernel.inspection)
  try {
    const folder = join(root, 'work')
    await writeTaskFile(scratch, 'work/.vtcode/.gitignore', '*\n')
    for (const { from, to } of task.copies) await copyInto(context, task, [from, to], scratch)
    const work =
      model === SOLUTION
        ? await runSolution(context, task, root, scratch)
        : await withKernel(context.kernel, folder, (there) => runAgent(context, there, task, model))
    const { end, reward } = await verify(context, task, root, scratch)
    return {
      task: task.name,
      model,
      sample,
      ...work,
      outcome: reward === undefined || hasNoModel(work) ? 'error' : reward >= 1 ? 'passed' : 'failed',
      reward: reward ?? null,
      ...(reward === undefined && { error: 'The tests wrote no reward.' }),
      verifier_ms: end.duration_ms,
      output: redactText(end.output).slice(-MAX_OUTPUT_CHARS),
    }
  } finally {
    scratch.close()
    rmSync(root, { recursive: true, force: true })
  }
}

async function copyInto(
  { workspace }: SampleContext,
  task: EvalTask,
  [from, to]: readonly [string, string],
  scratch: OpenWorkspace,
): Promise<void> {
  const source = `${task.folder}/${from}`
  const target = to === '.' ? 'work' : `work/${to}`
  if ((await workspace.stat(source))?.kind === 'directory') await copyFiles([workspace, source], [scratch, target])
  else await writeTaskFile(scratch, target, await workspace.read(source))
}

async function runAgent(
  { kernel, io }: SampleContext,
  there: Kernel,
  { instruction, agent_secs }: EvalTask,
  model: string,
): Promise<Work> {
  const { createAgent } = await import('../../agent/index.js')
  const counts = { calls: 0, failed_calls: 0 }
  const began = performance.now()
  const late = new AbortController()
  const timer = setTimeout(() => late.abort(), agent_secs * 1000)
  const agent = await createAgent(there, {
    model,
    context: 'bench',
    env: io.env,
    surface: 'eval',
    quiet: true,
    onEvent: (event) => {
      if (event.type !== 'item.completed' || event.item.type !== 'tool_output') return
      counts.calls += 1
      if (event.item.is_error) counts.failed_calls += 1
    },
  })
  try {
    const signal = AbortSignal.any([io.signal, late.signal])
    const { outcome_code, usage, total_cost_usd, num_requests, error } = await agent.run(instruction, { signal })
    io.signal.throwIfAborted()
    return {
      ...counts,
      agent: outcome_code,
      ...(error && { error: `${error.code}: ${error.message}` }),
      cost_usd: total_cost_usd,
      input_tokens: usage.input_tokens,
      output_tokens: usage.output_tokens,
      requests: num_requests,
      agent_ms: Math.round(performance.now() - began),
    }
  } finally {
    clearTimeout(timer)
    await agent.close()
    await kernel.endSession(agent.session_id)
  }
}

/** Copies scripts to this machine: their folders of a container become folders below `root`. */
const copyScripts = (
  { workspace }: SampleContext,
  { folder, container_folder }: EvalTask,
  name: 'tests' | 'solution',
  root: string,
  scratch: OpenWorkspace,
): Promise<void> =>
  copyFiles([workspace, `${folder}/${name}`], [scratch, name], (path, bytes) =>
    path.endsWith('.sh')
      ? Buffer.from(
          localizeScript(bytes.toString(), {
            '/logs': join(root, 'logs'),
            '/tests': join(root, 'tests'),
            '/solution': join(root, 'solution'),
            [container_folder]: join(root, 'work'),
          }),
        )
      : bytes,
  )

async function runSolution(
  context: SampleContext,
  task: EvalTask,
  root: string,
  scratch: OpenWorkspace,
): Promise<Work> {
  await copyScripts(context, task, 'solution', root, scratch)
  const how = { workdir: 'work', seconds: task.agent_secs, signal: context.io.signal }
  const { duration_ms } = await withKernel(context.kernel, root, (there) =>
    runInSandbox(there, context.slot, { command: 'bash ../solution/solve.sh', ...how }),
  )
  await scratch.remove('solution', { recursive: true })
  return { ...noWork, agent_ms: duration_ms }
}

/** Runs the tests and reads their reward; `undefined` if they wrote none. */
async function verify(
  context: SampleContext,
  task: EvalTask,
  root: string,
  scratch: OpenWorkspace,
): Promise<{ end: TaskScriptEnd; reward: number | undefined }> {
  await copyScripts(context, task, 'tests', root, scratch)
  await writeTaskFile(scratch, 'logs/verifier/.keep', '')
  const how = { workdir: 'work', seconds: task.verifier_secs, signal: context.io.signal }
  const end = await withKernel(context.kernel, root, (there) =>
    runInSandbox(there, context.slot, { command: 'bash ../tests/test.sh', ...how }),
  )
  context.io.signal.throwIfAborted()
  return { end, reward: await readReward(scratch) }
}

const MAX_REWARD_BYTES = 64 * 1024

async function readReward(scratch: OpenWorkspace): Promise<number | undefined> {
  const read = async (name: string) =>
    (await scratch.stat(`logs/verifier/${name}`))?.kind === 'file'
      ? scratch.readText(`logs/verifier/${name}`, { max_bytes: MAX_REWARD_BYTES }).catch(() => '')
      : undefined
  const text = await read('reward.txt')
  if (text !== undefined) return toReward(text.trim() === '' ? Number.NaN : Number(text))
  try {
    const { reward } = JSON.parse((await read('reward.json')) ?? '{}') as { reward?: unknown }
    return typeof reward === 'number' ? toReward(reward) : undefined
  } catch {
    return undefined
  }
}

const toReward = (value: number): number | undefined => (Number.isFinite(value) ? value : undefined)
