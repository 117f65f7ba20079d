import { closeSync, openSync, readFileSync, statSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { definedOnly } from '../../../core/shapes/index.js'
import { programFile, writeStateSync } from '../../../core/system/index.js'
import { identityOf } from '../../../core/trust/index.js'
import { runProgram } from '../process/index.js'
import type { RunClaim } from './claims.js'
import type { RunEnd } from './ledger.js'
import type { ScheduledTask } from './types.js'

/** The folder `.vtcode` of the user, and further variables that runs see. */
export interface RunPlace {
  home: string
  env: Record<string, string>
}

const mostStderr = 1024 * 1024

/** Runs `vtcode exec` in the workspace. A success needs the exit code and the last event. */
export async function launchRun(
  task: ScheduledTask,
  { dir }: Pick<RunClaim, 'dir'>,
  signal: AbortSignal,
  { home, env }: RunPlace,
): Promise<RunEnd> {
  const answer = join(dir, 'last-message.txt')
  if (task.action.kind === 'reminder') {
    writeStateSync(answer, `${task.action.message}\n`)
    return { status: 'success' }
  }
  const objection = workspaceFault(task)
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
  let left = mostStderr
  const keep = (chunk: Buffer): void => {
    left -= writeSync(stderr, chunk, 0, Math.min(chunk.length, left))
  }
  try {
    const ended = await runProgram(
      { file: process.execPath, args, cwd: task.workspace, env: { ...env, VTCODE_HOME: home } },
      { signal, seconds: task.timeout_secs },
      () => {},
      keep,
    )
    if (!ended) return { status: 'failed', reason: 'The program cannot be started.' }
    if (ended.timed_out) return { status: 'timed_out', reason: `The run took more than ${task.timeout_secs} s.` }
    return runOutcome(ended.exit_code, join(dir, 'events.jsonl'))
  } catch (error) {
    return { status: 'failed', reason: (error as Error).message }
  } finally {
    closeSync(stderr)
  }
}

/** Why a run cannot be in the workspace that the schedule names. */
function workspaceFault({ workspace, workspace_id }: ScheduledTask): string | undefined {
  const hint = 'In the folder where it is to run: `vtcode schedule resume <id> --here`.'
  const stats = statSync(workspace, { throwIfNoEntry: false })
  if (!stats?.isDirectory()) return `VT_SCHED_WORKSPACE: There is no folder ${workspace}. ${hint}`
  const user = process.getuid?.()
  if (user !== undefined && stats.uid !== user)
    return `VT_SCHED_WORKSPACE: ${workspace} belongs to another user. ${hint}`
  return identityOf(workspace) === workspace_id
    ? undefined
    : `VT_SCHED_WORKSPACE: ${workspace} is another folder than it was when the schedule was created. ${hint}`
}

/** Joins exit code and log: a success is one of both, and a log without the end of a run is none. */
export function runOutcome(exit_code: number | undefined, log: string): RunEnd {
  const subtype = lastSubtype(log)
  const known = { ...definedOnly({ exit_code, subtype }) }
  if (exit_code === 0 && subtype === 'success') return { status: 'success', ...known }
  const early =
    exit_code === 0
      ? 'The log of its events has no end.'
      : `The program ended with ${exit_code ?? 'a signal'} before its run did; stderr.txt says why.`
  if (subtype === undefined) return { status: 'failed', reason: early, ...known }
  return { status: 'failed', reason: `The run ended with ${subtype}.`, ...known }
}

function lastSubtype(log: string): string | undefined {
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
