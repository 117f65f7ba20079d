import { createHash, type Hash } from 'node:crypto'
import { omitUndefined, type JsonObject, type Result } from '../../../core/shapes/index.js'
import { sha256 } from '../../../core/system/index.js'
import { toText } from '../../../core/text/index.js'
import type { Workspace } from '../../../core/workspace/index.js'
import { AgentError, toModelText, type FileHash, type ProofRun, type VerificationResult } from '../base/index.js'
import { makeOwnCall, stripTimes } from '../loop/index.js'
import type { Conversation } from '../session/index.js'
import { listNamedCommands, type FinishState } from './state.js'

/** A command that ran, with the end of its output and the spool file of the whole. */
export type Proved = ProofRun & { says: string; path?: string }
/** The result of the commands. `failed`: the failed command; `refused`: commands that policies did not allow. */
export interface Verified {
  result: VerificationResult
  ran: Proved[]
  failed?: Proved
  refused: { command: string; hint: string }[]
}

/** Throws VT_CONFIG_INVALID for a command that does not fit into a tracker or certificate. */
export function checkCommands(commands: readonly string[]): void {
  const odd = commands.find((command) => command.trim() === '' || command.length > longestCommand)
  if (odd === undefined) return
  const problem = odd.trim() === '' ? 'is empty' : `has ${odd.length} characters`
  throw new AgentError(
    'VT_CONFIG_INVALID',
    `A command that proves the work ${problem}; 1 to ${longestCommand} are needed.`,
    { hint: 'Put a longer one into a script, and name that.' },
  )
}
const longestCommand = 1000

/**
 * Lists the commands that prove the work, each once. Changed files without any command need the usual test command of
 * the project.
 */
export async function listCommands(
  state: FinishState,
  configured: readonly string[],
  workspace: Workspace,
): Promise<string[]> {
  const commands = [...new Set([...listNamedCommands(state), ...configured])]
  if (commands.length > 0 || !state.files_changed) return commands
  const usual = await findUsualCommand(workspace)
  return usual === undefined ? [] : [usual]
}

/** The test command of a project by its files. */
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

async function findUsualCommand(workspace: Workspace): Promise<string | undefined> {
  const names = (await workspace.listNames('.').catch(() => [])).map(({ name }) => name)
  const first = (table: readonly (readonly [RegExp, string])[]): string | undefined =>
    table.find(([file]) => names.some((name) => file.test(name)))?.[1]
  return names.includes('package.json') && (await hasTests(workspace))
    ? (first(packageManagers) ?? 'npm test')
    : first(usualCommands)
}

async function hasTests(workspace: Workspace): Promise<boolean> {
  try {
    const { scripts } = JSON.parse(await workspace.readText('package.json', { max_bytes: 1024 * 1024 })) as {
      scripts?: { test?: unknown }
    }
    // The default script of `npm init` always fails.
    return typeof scripts?.test === 'string' && !scripts.test.includes('no test specified')
  } catch {
    return false
  }
}

/** The slot that runs the commands. */
export const RUNNER_SLOT = 'unified_exec/run'

/** Runs the commands in order, under the policies, until one fails. `agreed` are commands that the person named. */
export async function runProofs(
  thread: Conversation,
  commands: readonly string[],
  agreed: readonly string[],
  signal: AbortSignal,
): Promise<Verified> {
  const refused: Verified['refused'] = []
  const ran: Proved[] = []
  await thread.harness('verification_started', {
    message: commands.join('; ').slice(0, 1000),
    data: { commands: [...commands] },
  })
  for (const command of commands) {
    const one = await runCommand(thread, command, agreed.includes(command), signal)
    if ('hint' in one) {
      refused.push(one)
      continue
    }
    ran.push(one)
    const { exit_code, duration_ms, path } = one
    const passed = exit_code === 0 && !one.timed_out
    await thread.harness(passed ? 'verification_passed' : 'verification_failed', {
      message: command,
      duration_ms,
      ...omitUndefined({ path }),
      data: { command, exit_code },
    })
    if (!passed) return { result: 'failed', ran, failed: one, refused }
  }
  return { result: refused.length > 0 ? 'not_run' : 'passed', ran, refused }
}

async function runCommand(
  thread: Conversation,
  command: string,
  agreed: boolean,
  signal: AbortSignal,
): Promise<Proved | Verified['refused'][number]> {
  const input = { command, timeout_secs: thread.settings.harness.verification.timeout_secs }
  const { result, answer, duration_ms } = await makeOwnCall(
    thread,
    RUNNER_SLOT,
    input,
    signal,
    agreed ? async ({ call }) => call.input['command'] === command : undefined,
  )
  if (!result.ok && result.error.code.startsWith('VT_POLICY_')) return { command, hint: result.error.hint }
  const { spool_path: path } = answer
  return {
    ...(await createProof(command, result, duration_ms, thread.workspace)),
    says: formatOutput(readEnding(result).printed, path),
    ...omitUndefined({ path }),
  }
}

/** Creates the record of a command that ran. */
export async function createProof(
  command: string,
  result: Result,
  duration_ms: number,
  workspace: Workspace,
): Promise<ProofRun> {
  const { exit_code, timed_out, printed } = readEnding(result)
  return { command, exit_code, timed_out, duration_ms, digest: await computeDigest(result, printed, workspace) }
}

/** Hashes the output without the names of spool files, which differ each time. */
async function computeDigest(result: Result, printed: string, workspace: Workspace): Promise<string> {
  const {
    truncated,
    stdout = '',
    stderr = '',
    spool_path,
    stderr_spool_path,
    spool_truncated,
    stdout_bytes,
    stderr_bytes,
  } = (result.ok ? result.output : {}) as JsonObject
  if (truncated !== true || typeof spool_path !== 'string') return sha256(stripTimes(printed))
  const both = typeof stderr_spool_path === 'string'
  const ofOut = both || toText(stdout).includes(spool_path)
  const hash = createHash('sha256')
  for (const [text, path] of [
    [stdout, ofOut ? spool_path : undefined],
    [stderr, both ? stderr_spool_path : ofOut ? undefined : spool_path],
  ] as const) {
    if (path === undefined) hash.update(`${stripTimes(toText(text))}\n`)
    // If the spool file was deleted, the two ends of the output remain.
    else
      await hashFile(workspace, toText(path), hash).catch(() =>
        hash.update(stripTimes(toText(text).replaceAll(toText(path), ''))),
      )
  }
  // If no file has the whole output, at least its size counts.
  if (spool_truncated === true) hash.update(`${toText(stdout_bytes)} ${toText(stderr_bytes)}`)
  return hash.digest('hex')
}

const PIECE_BYTES = 1024 * 1024

/** Hashes a file line by line, so that no time is cut in two. */
async function hashFile(workspace: Workspace, path: string, hash: Hash): Promise<void> {
  await using handle = await workspace.openFile(path)
  let rest = ''
  for (let offset = 0; ; offset += PIECE_BYTES) {
    const bytes = await handle.read(offset, PIECE_BYTES)
    const text = rest + bytes.toString('latin1')
    const end = bytes.length < PIECE_BYTES || text.length > 4 * PIECE_BYTES ? text.length : text.lastIndexOf('\n') + 1
    hash.update(stripTimes(text.slice(0, end)), 'latin1')
    rest = text.slice(end)
    if (bytes.length < PIECE_BYTES) return
  }
}

/** Hashes the files; `null` for a missing or unreadable one. */
export async function hashFiles(workspace: Workspace, paths: readonly string[]): Promise<FileHash[]> {
  const hashes: FileHash[] = []
  // Sequential: many large files at once would fill the memory.
  for (const path of [...paths].sort())
    hashes.push({ path, sha256: await workspace.read(path).then(sha256, () => null) })
  return hashes
}

/** Lists the files whose hash differs now. */
export function listChangedFiles(files: readonly FileHash[], now: readonly FileHash[]): FileHash[] {
  const hashes = new Map(now.map(({ path, sha256 }) => [path, sha256]))
  return files.filter(({ path, sha256 }) => (hashes.get(path) ?? null) !== sha256)
}

function readEnding(result: Result): Pick<ProofRun, 'exit_code' | 'timed_out'> & { printed: string } {
  if (!result.ok) return { exit_code: null, timed_out: false, printed: toModelText(result).text }
  const { exit_code, timed_out, stdout, stderr } = result.output as JsonObject
  return {
    exit_code: typeof exit_code === 'number' ? exit_code : null,
    timed_out: timed_out === true,
    printed: [stdout, stderr]
      .filter((text) => typeof text === 'string')
      .join('\n')
      .trim(),
  }
}

const shown = { lines: 40, characters: 4096 }

/** Formats the end of the output and names the spool file of the whole. */
function formatOutput(printed: string, spool_path: string | undefined): string {
  const text = printed.split('\n').slice(-shown.lines).join('\n').slice(-shown.characters)
  return [
    text || '(It printed nothing.)',
    ...(spool_path === undefined ? [] : [`The whole output is in ${spool_path}.`]),
  ].join('\n')
}
