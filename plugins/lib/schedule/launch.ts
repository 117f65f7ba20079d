import { closeSync, openSync, readFileSync, statSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { omitUndefined } from '../../../core/shapes/index.js'
import { programFile, writeStateSync } from '../../../core/system/index.js'
import { readIdentity } from '../../../core/trust/index.js'
import { runProgram } from '../process/index.js'
import type { RunClaim } from './claims.js'
import type { RunEnd } from './ledger.js'
import type { ScheduledTask } from './types.js'

/** Folder `.vtcode` of the user, and further variables for runs. */
export interface RunEnvironment {
  home: string
  env: Record<string, string>
}

const MAX_STDERR_BYTES = 1024 * 1024

/** Runs `vtcode exec` in the workspace. A success needs exit code 0 and the last event. */
export async function launchRun(
  task: ScheduledTask,
  { dir }: Pick<RunClaim, 'dir'>,
  signal: AbortSignal,
  { home, env }: RunEnvironment,
): Promise<RunEnd> {
  const answer = join(dir, 'last-message.txt')
  if (task.action.kind === 'reminder') {
    writeStateSync(answer, `${task.action.message}\n`)
    return { status: 'success' }
  }
  const objection = findWorkspaceFault(task)
  if (objection !== undefined) return { status: 'failed', reason: objection }
  const { prompt, verify = [], max_budget_usd } = task.action
  const flags = [
    ...['--json', '--events', join(dir, 'events.jsonl'), '--last-message-file', answer],
    ...(task.model === undefined ? [] : ['--model', task.model]),
    ...(max_budget_usd === undefined ? [] : ['--max-budget-usd', `${max_budget_usd}`]),
    ...verify.flatMap((command) => ['--verify', command]),
  ]
  const args = [
    programFile('core/bin.cjs'),
    '--workspace',
    task.workspace,
    '--mode',
    task.mode,
    'exec',
    ...flags,
    '--',
    prompt,
  ]
  const stderr = openSync(join(dir, 'stderr.txt'), 'w', 0o600)
  let remaining = MAX_STDERR_BYTES
  const keep = (chunk: Buffer): void => {
    remaining -= writeSync(stderr, chunk, 0, Math.min(chunk.length, remaining))
  }
  try {
    const ended = await runProgram(
      { file: process.execPath, args, cwd: task.workspace, env: { ...env, VTCODE_HOME: home } },
      { signal, seconds: task.timeout_secs },
      () => {},
      keep,
    )
    if (!ended) return { status: 'failed', reason: 'The program did not start.' }
    if (ended.timed_out) return { status: 'timed_out', reason: `The run took more than ${task.timeout_secs} s.` }
    return readOutcome(ended.exit_code, join(dir, 'events.jsonl'))
  } catch (error) {
    return { status: 'failed', reason: (error as Error).message }
  } finally {
    closeSync(stderr)
  }
}

/** Returns an error if a run cannot use the workspace of its schedule. */
function findWorkspaceFault({ workspace, workspace_id }: ScheduledTask): string | undefined {
  const hint = 'Run `vtcode schedule resume <id> --here` in the new folder.'
  const stats = statSync(workspace, { throwIfNoEntry: false })
  if (!stats?.isDirectory()) return `VT_SCHED_WORKSPACE: Folder '${workspace}' not found. ${hint}`
  const user = process.getuid?.()
  if (user !== undefined && stats.uid !== user)
    return `VT_SCHED_WORKSPACE: Folder '${workspace}' belongs to another user. ${hint}`
  return readIdentity(workspace) === workspace_id
    ? undefined
    : `VT_SCHED_WORKSPACE: Folder '${workspace}' was replaced after the schedule was created. ${hint}`
}

/** Combines exit code and log. A success needs both; a log without the end of a run is incomplete. */
export function readOutcome(exit_code: number | undefined, log: string): RunEnd {
  const subtype = readLastSubtype(log)
  const known = { ...omitUndefined({ exit_code, subtype }) }
  if (exit_code === 0 && subtype === 'success') return { status: 'success', ...known }
  const early =
    exit_code === 0
      ? 'The event log is incomplete.'
      : `The program ended with ${exit_code ?? 'a signal'} before the run was complete. Read stderr.txt.`
  if (subtype === undefined) return { status: 'failed', reason: early, ...known }
  return { status: 'failed', reason: `The run ended with ${subtype}.`, ...known }
}

function readLastSubtype(log: string): string | undefined {
  try {
    const text = readFileSync(log, 'utf8')
    if (!text.endsWith('\n')) return undefined
    const { event } = JSON.parse(text.slice(text.lastIndexOf('\n', text.length - 2) + 1)) as {
      event?: { type?: string; subtype?: string }
    }
    return event?.type === 'thread.completed' ? event.subtype : undefined
  } catch {
    return undefined
  }
}
