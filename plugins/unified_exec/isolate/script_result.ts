import { ok, type ContentBlock, type Notice, type Result } from '../../../core/index.js'
import { truncateLine } from '../../../core/text/index.js'
import { notice, pluralize } from '../../lib/base/index.js'
import type { ScriptEnd } from './isolates.js'
import { MAX_PRINTED_CHARS } from './prelude.js'
import type { ScriptCalls } from './script_calls.js'

export interface ScriptInput {
  code: string
  timeout_secs: number
  workdir: string
  input?: string
  max_output_tokens?: number
}
export interface ScriptRun {
  end: ScriptEnd
  why: 'ended' | 'timeout'
  calls: ScriptCalls
  stdout: string
  stderr: string
  duration_ms: number
}

const BYTES_PER_TOKEN = 4
const MAX_WORDS = 300

/** Returns the result of a script: its value, its output, its calls and why it failed. */
export function createResult(run: ScriptRun, input: ScriptInput): Result {
  const { end, why, calls, duration_ms } = run
  const budget = input.max_output_tokens === undefined ? Infinity : input.max_output_tokens * BYTES_PER_TOKEN
  const stdout = cutMiddle(run.stdout, budget)
  const failure = describeFailure(run, input)
  const stderr = cutMiddle(run.stderr, budget) + failure
  const succeeded = end.end === 'done'
  const result = succeeded && end.result !== undefined ? { result: JSON.parse(end.result) as unknown } : {}
  const output = {
    language: 'javascript',
    exit_code: why === 'timeout' ? null : succeeded ? 0 : 1,
    timed_out: why === 'timeout',
    duration_ms,
    stdout,
    stderr,
    truncated: stdout.length + stderr.length - failure.length < run.stdout.length + run.stderr.length,
    ...result,
    calls: calls.listed,
    call_count: calls.count,
    effects: [...calls.effects],
  }
  const content = pickContent(end, calls.content)
  const shown = 'result' in result ? `[result] ${toText(result.result)}\n` : ''
  const failed = calls.failed > 0 ? ` (${calls.failed} failed)` : ''
  const counted = calls.count > 0 ? `, ${pluralize(calls.count, 'call')}${failed}` : ''
  const state =
    why === 'timeout'
      ? `timed out after ${input.timeout_secs} s`
      : `exit ${output.exit_code} in ${(duration_ms / 1000).toFixed(1)} s`
  const text = `${endLine(stdout)}${stderr === '' ? '' : `[stderr]\n${endLine(stderr)}`}${shown}${state}${counted}`
  const notices = createNotices(run)
  return ok(output, {
    text,
    ...(content.length > 0 && { content }),
    ...(notices.length > 0 && { notices }),
  })
}

const toText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))
const endLine = (text: string): string => (text === '' || text.endsWith('\n') ? text : `${text}\n`)

/** Keeps the start and the end of a text within a number of UTF-16 units. */
function cutMiddle(text: string, units: number): string {
  if (text.length <= units) return text
  const half = Math.floor(units / 2)
  return `${text.slice(0, half)}\n… ${text.length - 2 * half} characters left out …\n${text.slice(-half)}`
}

/** Describes why a script failed, with the line of its code. */
function describeFailure({ end, why }: ScriptRun, { code }: ScriptInput): string {
  if (end.end === 'invalid')
    return `${end.text}\nThe code must be JavaScript or TypeScript. For Python, set language: python3.\n`
  if (end.end === 'broken') return `The engine stopped: ${truncateLine(end.text, MAX_WORDS)}\n`
  if (end.end === 'ended') return why === 'timeout' ? '' : 'The thread of the script ended.\n'
  if (end.end === 'unsettled') return 'An `await` never ended, because nothing was left to settle its promise.\n'
  if (end.end !== 'failed') return ''
  const line = code.split('\n')[end.line - 1]?.trim()
  const place = line ? `    at line ${end.line}: ${truncateLine(line, MAX_WORDS)}\n` : ''
  return `${endLine(end.text)}${place}`
}

/** Returns the images and links of the outputs that a script returned. */
function pickContent(end: ScriptEnd, content: readonly ContentBlock[]): ContentBlock[] {
  const shown = end.end === 'done' ? (end.shown ?? []) : []
  return [...new Set(shown)].flatMap((index) => content[index] ?? [])
}

function createNotices({ end, why, calls, stdout, stderr }: ScriptRun): Notice[] {
  const notices: Notice[] = []
  const words = (text: string): string => truncateLine(text, MAX_WORDS)
  if (end.end === 'done') {
    const { kinds = [], unshown } = end
    if (kinds.length > 0)
      notices.push(
        notice('VT_EXEC_RESULT', `result has values that JSON lacks: ${kinds.slice(0, 8).map(words).join(', ')}.`),
      )
    if (unshown !== undefined)
      notices.push(
        notice('VT_EXEC_RESULT', `result cannot be shown: ${words(unshown)}. Return or print the parts that matter.`),
      )
    else if (end.result === undefined && stdout === '' && stderr === '')
      notices.push(notice('VT_EXEC_RESULT', 'The script returned and printed nothing. End it with `return value`.'))
  }
  const unprinted = 'unprinted' in end ? (end.unprinted ?? 0) : 0
  if (unprinted > 0)
    notices.push(
      notice(
        'VT_EXEC_RESULT',
        `${unprinted} characters that were printed after the first ${MAX_PRINTED_CHARS} are lost.`,
      ),
    )
  const unawaited = 'unawaited' in end ? (end.unawaited ?? 0) : 0
  if (unawaited > 0)
    notices.push(
      notice('VT_EXEC_UNSETTLED', `The script ended before ${pluralize(unawaited, 'call')}: await each call.`),
    )
  if (why === 'timeout') {
    const begun = `${pluralize(calls.count, 'call')} of it had begun, and ${calls.count - calls.failed} succeeded.`
    notices.push(notice('VT_EXEC_UNSETTLED', `The script had not ended. ${begun}`))
  }
  return notices
}
