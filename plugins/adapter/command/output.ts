import { stripVTControlCharacters } from 'node:util'
import { isObject } from '../../../core/shapes/index.js'
import { toText } from '../../../core/text/index.js'
import { ok, VtError, type Next, type Result } from '../../../core/index.js'
import { pointed } from '../../lib/values/index.js'
import type { CommandSettings } from './settings.js'

/** What a program left behind. */
export interface CommandRun {
  exit_code: number | undefined
  duration_ms: number
  stdout: string
  stderr: string
  /** Where the whole of a stream lies that was too long. */
  spooled: string | undefined
}

/** The result a run stands for. Throws VT_COMMAND_EXIT, VT_COMMAND_OUTPUT, or the code that the manifest maps. */
export function commandResult(settings: CommandSettings, run: CommandRun): Result {
  const { exit } = settings
  const code = run.exit_code ?? -1
  if (!exit.ok.includes(code) && !exit.empty.includes(code)) throw failed(settings, run)
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
  if (settings.parse === 'lines') return ok({ lines: linesOf(run.stdout), ...cut }, { text: run.stdout })
  if (settings.parse === 'jsonl')
    return ok({ items: linesOf(run.stdout).map((line) => pointed(json(line, run), settings.select)), ...cut })
  const document = run.stdout.trim() === '' && exit.empty.includes(code) ? {} : json(run.stdout, run)
  if (isObject(document) && typeof document.ok === 'boolean') return document as unknown as Result
  const chosen = pointed(document, settings.select)
  return ok(isObject(chosen) ? chosen : { value: chosen })
}

const linesOf = (text: string): string[] =>
  text
    .replace(/\n$/, '')
    .split(/\r?\n/)
    .filter((line, index, all) => line !== '' || all.length > 1)

function json(text: string, { exit_code }: CommandRun): unknown {
  try {
    return JSON.parse(text)
  } catch {
    const message = `The program did not print JSON: ${JSON.stringify(text.slice(0, 200))} (exit code ${exit_code}).`
    throw new VtError({
      code: 'VT_COMMAND_OUTPUT',
      message,
      hint: 'Correct `parse` of the manifest, or the program.',
      retryable: false,
      details: { exit_code },
    })
  }
}

function failed({ exit }: CommandSettings, run: CommandRun): VtError {
  const mapped = exit.map[toText(run.exit_code)]
  const stderr_tail = tailOf(run.stderr)
  const how = run.exit_code === undefined ? 'was ended by a signal' : `ended with exit code ${run.exit_code}`
  return new VtError({
    code: mapped?.code ?? 'VT_COMMAND_EXIT',
    message: mapped?.message ?? `The program ${how}.`,
    hint: mapped ? '' : 'details.stderr_tail shows what it said.',
    retryable: mapped?.retryable ?? false,
    details: { exit_code: run.exit_code ?? null, stderr_tail },
  })
}

/** At most 20 lines of 400 characters, without escape sequences. */
const tailOf = (stderr: string): string =>
  stripVTControlCharacters(stderr)
    .trimEnd()
    .split('\n')
    .slice(-20)
    .map((line) => [...line].slice(0, 400).join(''))
    .join('\n')
