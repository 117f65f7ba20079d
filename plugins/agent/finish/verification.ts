import { sha256, type JsonObject, type Result } from '../../../core/base/index.js'
import type { Workspace } from '../../../core/workspace/index.js'
import { textOfResult, type FileHash, type ProofRun, type VerificationResult } from '../base/index.js'
import { timeless } from '../loop/index.js'
import type { Conversation } from '../session/index.js'
import { ownCall } from './own_call.js'
import { namedCommands, type FinishState } from './state.js'

/** A command that ran, with the end of what it printed. */
export type Proved = ProofRun & { says: string }
/** What came of the commands; `failed`: the one that did, and `refused`: why others did not run. */
export interface Verified {
  result: VerificationResult
  ran: Proved[]
  failed?: Proved
  refused: { command: string; hint: string }[]
}

/** The commands that prove the work, in order, each once; where nobody named any and files changed, the usual one of the project. */
export async function commandsOf(state: FinishState, configured: readonly string[], workspace: Workspace): Promise<string[]> {
  const named = [...new Set([...namedCommands(state), ...configured])]
  if (named.length > 0 || !state.files_changed) return named
  const usual = await usualCommand(workspace)
  return usual === undefined ? [] : [usual]
}

/** The tests of a project, by the files that say what it is. */
const usualCommands: readonly (readonly [file: RegExp, command: string])[] = [
  [/^Cargo\.toml$/, 'cargo check'],
  [/^(?:pyproject\.toml|pytest\.ini|setup\.py)$/, 'pytest'],
  [/^go\.mod$/, 'go test ./...'],
  [/^pom\.xml$/, 'mvn test'],
  [/^build\.gradle$/, 'gradle test'],
  [/^Gemfile$/, 'rake test'],
  [/\.(?:sln|csproj)$/, 'dotnet test'],
]
const packageManagers: readonly (readonly [lockfile: RegExp, command: string])[] = [
  [/^pnpm-lock\.yaml$/, 'pnpm test'],
  [/^yarn\.lock$/, 'yarn test'],
  [/^bun\.lockb?$/, 'bun test'],
]

async function usualCommand(workspace: Workspace): Promise<string | undefined> {
  const names = (await workspace.names('.').catch(() => [])).map(({ name }) => name)
  const first = (table: readonly (readonly [RegExp, string])[]): string | undefined => table.find(([file]) => names.some((name) => file.test(name)))?.[1]
  return names.includes('package.json') && (await hasTests(workspace)) ? (first(packageManagers) ?? 'npm test') : first(usualCommands)
}

async function hasTests(workspace: Workspace): Promise<boolean> {
  try {
    const { scripts } = JSON.parse(await workspace.text('package.json', { max_bytes: 1024 * 1024 })) as { scripts?: { test?: unknown } }
    // What `npm init` writes fails by itself.
    return typeof scripts?.test === 'string' && !scripts.test.includes('no test specified')
  } catch {
    return false
  }
}

/** What runs the commands. */
export const runner = 'unified_exec/run'

/** Runs the commands one after the other, under the policies, each to its end; the first that fails is the last. `agreed` are those that the person who started the run named. */
export async function runProofs(thread: Conversation, commands: readonly string[], agreed: readonly string[], signal: AbortSignal): Promise<Verified> {
  const refused: Verified['refused'] = []
  const ran: Proved[] = []
  await thread.harness('verification_started', { message: commands.join('; ').slice(0, 1000), data: { commands: [...commands] } })
  for (const command of commands) {
    const one = await runCommand(thread, command, agreed.includes(command), signal)
    if ('hint' in one) {
      refused.push(one)
      continue
    }
    ran.push(one)
    const { exit_code, duration_ms } = one
    const passed = exit_code === 0 && !one.timed_out
    await thread.harness(passed ? 'verification_passed' : 'verification_failed', { message: command, duration_ms, data: { command, exit_code } })
    if (!passed) return { result: 'failed', ran, failed: one, refused }
  }
  return { result: refused.length > 0 ? 'not_run' : 'passed', ran, refused }
}

async function runCommand(thread: Conversation, command: string, agreed: boolean, signal: AbortSignal): Promise<Proved | Verified['refused'][number]> {
  const input = { command, timeout_secs: thread.settings.harness.verification.timeout_secs }
  const { result, answer, duration_ms } = await ownCall(thread, runner, input, signal, agreed ? async ({ call }) => call.input['command'] === command : undefined)
  if (!result.ok && result.error.code.startsWith('VT_POLICY_')) return { command, hint: result.error.hint }
  return { ...proofOf(command, result, duration_ms), says: saysOf(endedAs(result).printed, answer.spool_path) }
}

/** What is kept of a command that ran. */
export function proofOf(command: string, result: Result, duration_ms: number): ProofRun {
  const { exit_code, timed_out, printed } = endedAs(result)
  return { command, exit_code, timed_out, duration_ms, digest: sha256(timeless(printed)) }
}

/** The files as they are now. */
export const hashesOf = (workspace: Workspace, paths: readonly string[]): Promise<FileHash[]> =>
  Promise.all([...paths].sort().map(async (path) => ({ path, sha256: await workspace.read(path).then(sha256, () => null) })))

function endedAs(result: Result): Pick<ProofRun, 'exit_code' | 'timed_out'> & { printed: string } {
  if (!result.ok) return { exit_code: null, timed_out: false, printed: textOfResult(result).text }
  const { exit_code, timed_out, stdout, stderr } = result.output as JsonObject
  return { exit_code: typeof exit_code === 'number' ? exit_code : null, timed_out: timed_out === true, printed: [stdout, stderr].filter((text) => typeof text === 'string').join('\n').trim() }
}

const shown = { lines: 40, characters: 4096 }

/** The end of what a command printed, and where the whole of it is. */
function saysOf(printed: string, spool_path: string | undefined): string {
  const text = printed.split('\n').slice(-shown.lines).join('\n').slice(-shown.characters)
  return [text || '(It printed nothing.)', ...(spool_path === undefined ? [] : [`The whole output is in ${spool_path}.`])].join('\n')
}
