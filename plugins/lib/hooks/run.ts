import { isAbsolute, join } from 'node:path'
import { VtError, type JsonObject } from '../../../core/shapes/index.js'
import { findProgram, searchPath } from '../../../core/system/index.js'
import { toText } from '../../../core/text/index.js'
import { requireStanding } from '../../../core/trust/index.js'
import { formatTypedValue } from '../base/index.js'
import { runShort } from '../process/index.js'
import { resolveHook, type ResolvedHook } from './brought.js'
import { haveTranscript, transcriptOf } from './transcript.js'
import { toGeminiEvent, type HookEnvironment, type HookEntry, type HookEvent, type HookGroup } from './entries.js'

/** What a hook said. `block` is its exit code 2; what went wrong is `failed`, `exited` when it is only an exit code. */
export type HookOutput =
  | { kind: 'said'; json: JsonObject; text: string }
  | { kind: 'block'; reason: string; json: JsonObject }
  | { kind: 'failed'; reason: string; exited?: true }

const permissionModes = { plan: 'plan', ask: 'default', auto: 'acceptEdits', 'full-auto': 'dontAsk' }
const largest = { answer: 1024 * 1024, text: 10_000 }

/** The event as every hook gets it: one JSON object. */
export function hookInput(event: HookEvent, { root, session, mode }: HookEnvironment, extra: JsonObject): JsonObject {
  return {
    session_id: session,
    cwd: root,
    hook_event_name: event,
    transcript_path: join(root, transcriptOf(session)),
    permission_mode: permissionModes[mode],
    ...extra,
  }
}

/** Tells one hook of an event and reads what it says. Contract: rejects only when it was aborted. */
export async function runHook(
  entry: HookEntry,
  group: HookGroup,
  payload: JsonObject,
  environment: HookEnvironment,
): Promise<HookOutput> {
  const event = payload['hook_event_name'] as HookEvent
  const input = group.dialect === 'gemini' ? { ...payload, hook_event_name: toGeminiEvent(event) } : payload
  const seconds = secondsOf(entry, event)
  const failed = (reason: string, how: { exited?: true } = {}): HookOutput => ({
    kind: 'failed',
    reason: `The hook \`${shownHook(entry)}\` ${reason}.`,
    ...how,
  })
  const type = entry.type ?? 'command'
  if (entry.withheld !== undefined) return { kind: 'failed', reason: entry.withheld }
  try {
    if (type === 'command') {
      await haveTranscript(environment.root, environment.home, environment.session)
      requireAgreed(group, environment.root)
    }
    if (type === 'command' && entry.command)
      return await command(await resolveHook(entry, group, environment), input, environment, seconds, failed)
    if (type === 'http' && entry.url) {
      const { postEvent } = await import('./http.js')
      const { url, headers } = await resolveHook(entry, group, environment)
      const answer = await postEvent({ ...entry, url, headers }, JSON.stringify(input), environment, {
        seconds,
        max_bytes: largest.answer,
      })
      return answer.wrong === undefined ? readAnswer(0, answer.text, '', failed) : failed(answer.wrong)
    }
    return failed(`is of the type ${JSON.stringify(type)}, which is not served`)
  } catch (error) {
    if (environment.signal.aborted) throw error
    const way = error instanceof VtError ? ` ${error.problem.hint}` : ''
    return failed(`failed: ${(error as Error).message}${way}`.replace(/\.$/, ''))
  }
}

function secondsOf({ timeout_secs, timeout }: HookEntry, event: HookEvent): number {
  const usual = event === 'SessionEnd' ? 2 : 60
  return Math.min(600, Math.max(1, timeout_secs ?? timeout ?? usual))
}

function requireAgreed({ by, layer = 'user' }: HookGroup, root: string): void {
  if (by) requireStanding(root, by, undefined)
  else requireStanding(root, { id: 'hooks', layer }, 'hooks')
}

type Failed = (reason: string, how?: { exited?: true }) => HookOutput

async function command(
  { command, args: declared, env, cwd, base }: ResolvedHook,
  input: JsonObject,
  { root, signal }: HookEnvironment,
  seconds: number,
  failed: Failed,
): Promise<HookOutput> {
  const [name, args] = declared ? [command, declared] : ['sh', ['-c', command]]
  const file = isAbsolute(name)
    ? name
    : name.includes('/')
      ? join(base, name)
      : findProgram(name, searchPath(process.env.PATH, root))
  if (file === undefined) return failed('is not found')
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
  const program = { file, args, cwd, env: { ...env, ...named }, input: Buffer.from(`${JSON.stringify(input)}\n`) }
  const ended = await runShort(program, { signal, seconds, most: largest.answer, goesOn: saysAsync })
  if (!ended) return failed('cannot be started')
  if (ended.goes_on) return { kind: 'said', json: {}, text: '' }
  if (ended.timed_out) return failed(`did not answer within ${seconds} s`)
  if (ended.stopped) return failed('printed more than 1 MiB')
  return readAnswer(ended.exit_code, ended.stdout.toString().trim(), ended.stderr.toString().trim(), failed)
}

/** `{"async": true}` as its first line: the program runs on and does not answer the event. */
function saysAsync(stdout: Buffer): boolean {
  const line = /^\s*(\{[^\n]{0,1000})\n/.exec(stdout.subarray(0, 2000).toString())?.[1]
  try {
    return line !== undefined && (JSON.parse(line) as JsonObject)['async'] === true
  } catch {
    return false
  }
}

/** Exit 0 with JSON or text, exit 2 to block with the reason in the JSON or on stderr; all else is a failure. */
function readAnswer(code: number | undefined, stdout: string, stderr: string, failed: Failed): HookOutput {
  let json: JsonObject = {}
  if (stdout.startsWith('{')) {
    try {
      json = JSON.parse(stdout) as JsonObject
    } catch {
      if (code !== 2) return failed('prints invalid JSON')
    }
  }
  if (code === 2)
    return {
      kind: 'block',
      reason: cutHookText(toText(json['reason'] ?? (stderr || 'A lifecycle hook blocks this.'))),
      json,
    }
  if (code === undefined) return failed('was ended by a signal')
  if (code !== 0) return failed(`ended with the exit code ${code}`, { exited: true })
  return { kind: 'said', json, text: stdout.startsWith('{') ? '' : cutHookText(stdout) }
}

/** What a hook says about the event itself. */
export const specific = (json: JsonObject): JsonObject =>
  typeof json['hookSpecificOutput'] === 'object' && json['hookSpecificOutput'] !== null
    ? (json['hookSpecificOutput'] as JsonObject)
    : {}
/** Texts of a hook are cut, not believed to be short. */
export const cutHookText = (text: string): string =>
  text.length > largest.text ? `${text.slice(0, largest.text - 1)}…` : text
export const shownHook = ({ command = '', args = [], url = '' }: HookEntry): string =>
  ([command, ...args].map(formatTypedValue).join(' ') || url).slice(0, 120)
