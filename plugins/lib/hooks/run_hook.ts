import { isAbsolute, join } from 'node:path'
import { VtError, type JsonObject } from '../../../core/shapes/index.js'
import { findProgram, listSearchFolders } from '../../../core/system/index.js'
import { toText } from '../../../core/text/index.js'
import { requireUnchanged } from '../../../core/trust/index.js'
import { formatTypedValue } from '../base/index.js'
import { runShort } from '../process/index.js'
import { resolveHook, type ResolvedHook } from './resolve_hook.js'
import { findHookJson } from './hook_json.js'
import { findMissingScript } from './missing_script.js'
import { ensureTranscript, toTranscriptPath } from './transcript.js'
import { toGeminiEvent, type HookEnvironment, type HookEntry, type HookEvent, type HookGroup } from './entries.js'

/** Answer of a hook. `block` is exit code 2; `failed` is an error, with `exited` if it is only an exit code. */
export type HookOutput =
  | { kind: 'answered'; json: JsonObject; text: string }
  | { kind: 'block'; reason: string; json: JsonObject }
  | { kind: 'failed'; reason: string; exited?: true }

const permissionModes = { plan: 'plan', ask: 'default', auto: 'acceptEdits', 'full-auto': 'dontAsk' }
const LIMITS = { answer: 1024 * 1024, text: 10_000 }

/** Returns the event as the JSON object that every hook gets. */
export function createHookInput(
  event: HookEvent,
  { root, session, mode }: HookEnvironment,
  extra: JsonObject,
): JsonObject {
  return {
    session_id: session,
    cwd: root,
    hook_event_name: event,
    transcript_path: join(root, toTranscriptPath(session)),
    permission_mode: permissionModes[mode],
    ...extra,
  }
}

/** Runs one hook for an event and reads its answer. Contract: rejects only on abort. */
export async function runHook(
  entry: HookEntry,
  group: HookGroup,
  payload: JsonObject,
  environment: HookEnvironment,
): Promise<HookOutput> {
  const event = payload['hook_event_name'] as HookEvent
  const input = group.dialect === 'gemini' ? { ...payload, hook_event_name: toGeminiEvent(event) } : payload
  const seconds = resolveTimeout(entry, group.dialect, event)
  const createFailure = (reason: string, how: { exited?: true } = {}): HookOutput => ({
    kind: 'failed',
    reason: `The hook \`${describeHook(entry)}\` ${reason}.`,
    ...how,
  })
  const type = entry.type ?? 'command'
  if (entry.withheld !== undefined) return { kind: 'failed', reason: entry.withheld }
  try {
    if (type === 'command') {
      await ensureTranscript(environment.root, environment.home, environment.session)
      requireConsent(group, environment.root)
    }
    if (type === 'command' && entry.command)
      return await command(await resolveHook(entry, group, environment), input, environment, seconds, createFailure)
    if (type === 'http' && entry.url) {
      const { postEvent } = await import('./post_event.js')
      const { url, headers } = await resolveHook(entry, group, environment)
      const answer = await postEvent({ ...entry, url, headers }, JSON.stringify(input), environment, {
        seconds,
        max_bytes: LIMITS.answer,
      })
      return answer.fault === undefined ? readAnswer(0, answer.text, '', createFailure) : createFailure(answer.fault)
    }
    return createFailure(`has the unsupported type ${JSON.stringify(type)}; use "command" or "http"`)
  } catch (error) {
    if (environment.signal.aborted) throw error
    const way = error instanceof VtError ? ` ${error.problem.hint}` : ''
    return createFailure(`failed: ${(error as Error).message}${way}`.replace(/\.$/, ''))
  }
}

/** Returns the limit of a hook in seconds. Gemini counts `timeout` in milliseconds, the other programs in seconds. */
function resolveTimeout({ timeout_secs, timeout }: HookEntry, dialect: HookGroup['dialect'], event: HookEvent): number {
  const usual = event === 'SessionEnd' ? 2 : 60
  const own = timeout === undefined ? usual : dialect === 'gemini' ? timeout / 1000 : timeout
  return Math.min(600, Math.max(0.001, timeout_secs ?? own))
}

function requireConsent({ by, layer = 'user' }: HookGroup, root: string): void {
  if (by) requireUnchanged(root, by, undefined)
  else requireUnchanged(root, { id: 'hooks', layer }, 'hooks')
}

type CreateFailure = (reason: string, how?: { exited?: true }) => HookOutput

async function command(
  { command: runCommand, args: declared, env, cwd, base }: ResolvedHook,
  input: JsonObject,
  { root, env: parentEnv, signal }: HookEnvironment,
  seconds: number,
  failed: CreateFailure,
): Promise<HookOutput> {
  const [name, args] = declared ? [runCommand, declared] : ['sh', ['-c', runCommand]]
  const file = isAbsolute(name)
    ? name
    : name.includes('/')
      ? join(base, name)
      : findProgram(name, listSearchFolders(parentEnv['PATH'], root))
  if (file === undefined) return failed('cannot be found; check its path')
  const own = {
    PROJECT_DIR: root,
    SESSION_ID: toText(input['session_id']),
    HOOK_EVENT: toText(input['hook_event_name']),
    TRANSCRIPT_PATH: toText(input['transcript_path']),
  }
  const named = Object.fromEntries(
    Object.entries(own).flatMap(([name, value]) => [
      [`VTCODE_${name}`, value],
      [`CLAUDE_${name}`, value],
    ]),
  )
  const program = {
    file,
    args,
    cwd,
    env: { ...env, ...named },
    parentEnv,
    input: Buffer.from(`${JSON.stringify(input)}\n`),
  }
  const missing = findMissingScript(declared ? [file, ...declared] : runCommand, cwd)
  if (missing !== undefined) return failed(`names a file that is missing: ${missing}`)
  const ended = await runShort(program, { signal, seconds, most: LIMITS.answer, shouldDetach: isAsyncAnswer })
  if (!ended) return failed('cannot be started')
  if (ended.detached) return { kind: 'answered', json: {}, text: '' }
  if (ended.timed_out) return failed(`did not answer within ${seconds} s`)
  if (ended.stopped) return failed('printed more than 1 MiB')
  return readAnswer(ended.exit_code, ended.stdout.toString().trim(), ended.stderr.toString().trim(), failed)
}

/** Checks for `{"async": true}` in the first line: the program then runs on and gives no answer. */
function isAsyncAnswer(stdout: Buffer): boolean {
  const line = /^\s*(\{[^\n]{0,1000})\n/.exec(stdout.subarray(0, 2000).toString())?.[1]
  try {
    return line !== undefined && (JSON.parse(line) as JsonObject)['async'] === true
  } catch {
    return false
  }
}

/**
 * Reads the answer: exit 0 with JSON or text, exit 2 to block with the reason in the JSON or on stderr. Any other
 * result is a failure.
 */
function readAnswer(code: number | undefined, stdout: string, stderr: string, failed: CreateFailure): HookOutput {
  const found = findHookJson(stdout)
  if (found === 'invalid' && code !== 2)
    return failed('prints invalid JSON, or text around an answer that does not refuse')
  const json = typeof found === 'object' ? found : {}
  if (code === 2)
    return {
      kind: 'block',
      reason: cutHookText(toText(json['reason'] ?? (stderr || 'A lifecycle hook blocked this call.'))),
      json,
    }
  if (code === undefined) return failed('was ended by a signal')
  if (code !== 0) return failed(`ended with exit code ${code}`, { exited: true })
  return { kind: 'answered', json, text: found === undefined ? cutHookText(stdout) : '' }
}

/** Returns the part of an answer that is specific to its event. */
export const readSpecificOutput = (json: JsonObject): JsonObject =>
  typeof json['hookSpecificOutput'] === 'object' && json['hookSpecificOutput'] !== null
    ? (json['hookSpecificOutput'] as JsonObject)
    : {}
/** Limits texts of a hook, which may be long. */
export const cutHookText = (text: string): string =>
  text.length > LIMITS.text ? `${text.slice(0, LIMITS.text - 1)}…` : text
export const describeHook = ({ command = '', args = [], url = '' }: HookEntry): string =>
  ([command, ...args].map(formatTypedValue).join(' ') || url).slice(0, 120)
