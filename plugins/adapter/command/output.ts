import { stripVTControlCharacters } from 'node:util'
import { isObject } from '../../../core/shapes/index.js'
import { redactText, toText } from '../../../core/text/index.js'
import { ok, VtError, type Next, type Result } from '../../../core/index.js'
import { resolvePointer } from '../../lib/values/index.js'
import type { CommandSettings } from './settings.js'

/** The outcome of one run of a program. */
export interface CommandRun {
  exit_code: number | undefined
  duration_ms: number
  stdout: string
  stderr: string
  /** The spool file of a stream that exceeded the limit. */
  spooled: string | undefined
}

/** Converts a run to a result. Throws VT_COMMAND_EXIT, VT_COMMAND_OUTPUT, or the code that the manifest maps. */
export function toCommandResult(settings: CommandSettings, run: CommandRun): Result {
  const { exit } = settings
  const code = run.exit_code ?? -1
  if (!exit.ok.includes(code) && !exit.empty.includes(code)) throw createExitError(settings, run)
  const next: Next | undefined = run.spooled
    ? { tool: 'unified_file', input: { action: 'read', path: run.spooled } }
    : undefined
  const cut = next && { truncated: true, next }
  if (settings.parse === 'text') {
    const { stdout, stderr, duration_ms } = run
    return ok(
      { stdout, stderr, exit_code: code, duration_ms, ...cut },
      { text: [stdout, stderr].filter(Boolean).join('\n') },
    )
  }
  if (settings.parse === 'lines') return ok({ lines: splitLines(run.stdout), ...cut }, { text: run.stdout })
  if (settings.parse === 'jsonl')
    return ok({
      items: splitLines(run.stdout).map((line) => resolvePointer(parseJson(line, run), settings.select)),
      ...cut,
    })
  const document = run.stdout.trim() === '' && exit.empty.includes(code) ? {} : parseJson(run.stdout, run)
  if (isObject(document) && typeof document.ok === 'boolean') return document as unknown as Result
  const chosen = resolvePointer(document, settings.select)
  return ok(isObject(chosen) ? chosen : { value: chosen })
}

const splitLines = (text: string): string[] =>
  text
    .replace(/\n$/, '')
    .split(/\r?\n/)
    .filter((line, _index, all) => line !== '' || all.length > 1)

function parseJson(text: string, { exit_code }: CommandRun): unknown {
  try {
    return JSON.parse(text)
  } catch {
    const shown = JSON.stringify(redactText(text).slice(0, 200))
    const message = `The program did not print JSON: ${shown} (exit code ${exit_code}).`
    throw new VtError({
      code: 'VT_COMMAND_OUTPUT',
      message,
      hint: 'Correct `parse` of the manifest, or fix the program.',
      retryable: false,
      details: { exit_code },
    })
  }
}

function createExitError({ exit }: CommandSettings, run: CommandRun): VtError {
  const mapped = exit.map[toText(run.exit_code)]
  const stderr_tail = trimStderr(run.stderr)
  const how = run.exit_code === undefined ? 'was ended by a signal' : `ended with exit code ${run.exit_code}`
  return new VtError({
    code: mapped?.code ?? 'VT_COMMAND_EXIT',
    message: mapped?.message ?? `The program ${how}.`,
    hint: mapped ? '' : 'Read details.stderr_tail, the end of its standard error.',
    retryable: mapped?.retryable ?? false,
    details: { exit_code: run.exit_code ?? null, stderr_tail },
  })
}

/** Returns at most the last 20 lines of 400 characters, without escape sequences and secrets. */
const trimStderr = (stderr: string): string =>
  redactText(stripVTControlCharacters(stderr))
    .trimEnd()
    .split('\n')
    .slice(-20)
    .map((line) => [...line].slice(0, 400).join(''))
    .join('\n')
