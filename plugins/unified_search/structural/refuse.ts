import { VtError, type Next } from '../../../core/index.js'
import { createSlotError } from '../../lib/base/index.js'
import { patternLanguages, parseReasons, type AstGrepEnd } from '../../lib/syntax/index.js'
import type { PatternPlace } from './pattern_errors.js'
import { unbound } from './template.js'
import type { StructuralCall } from './types.js'

/** What ast-grep's refusal of a pattern, kind or language means to the caller; `undefined` if it did not refuse. */
export function refused({ exit_code, stderr }: AstGrepEnd, title: string, call: StructuralCall): VtError | undefined {
  if (exit_code !== 2 && exit_code !== 8) return undefined
  const extra = { details: { stderr: parseReasons(stderr) } }
  const kind = /Kind `(.*?)` is invalid/.exec(stderr)?.[1]
  if (kind !== undefined) return createSlotError('VT_SEARCH_KIND', `'${kind}' is no node kind of ${title}.`, extra)
  if (/is not supported!/.test(stderr)) {
    return createSlotError(
      'VT_SEARCH_LANG',
      `The language '${call.input.lang ?? title}' is not served; served: ${patternLanguages.map(({ id }) => id).join(' ')}.`,
      extra,
    )
  }
  const regex = /regex parse error:\s+(.*)\s[\s^]*error: (.*)/.exec(stderr)
  if (regex)
    return createSlotError(
      'VT_SEARCH_PATTERN',
      `'${regex[1]}' of fix_config is no regular expression: ${regex[2]!.replace(/\.$/, '')}.`,
      { ...extra, hint: 'Correct the regular expression of the expansion.' },
    )
  const causes = [...stderr.matchAll(/╰▻ (.*)/g)].map(([, cause]) => cause!)
  if (causes.some((cause) => cause.startsWith('Fixer expansion'))) {
    const hint = 'kind is a named node such as call_expression; for punctuation use regex.'
    return createSlotError(
      'VT_SEARCH_PATTERN',
      `An expansion of fix_config is not valid: ${causes.at(-1)!.replace(/\.? *$/, '')}.`,
      { ...extra, hint },
    )
  }
  const why = causes.at(-1)?.replace(/\. Please.*$/, '') ?? 'it does not parse'
  return patternRefusal(
    'VT_SEARCH_PATTERN',
    `${quoted(call)} is no valid ${title} code of one node: ${why}.`,
    call,
    extra,
  )
}

/** A pattern that parses only with errors in it; whoever asked how it is read is told so all the same. */
export const fragment = (title: string, call: StructuralCall, debug: string | undefined): VtError =>
  patternRefusal(
    'VT_SEARCH_FRAGMENT',
    `${quoted(call)} is only a fragment of ${title} code and matched nothing.`,
    call,
    debug === undefined ? {} : { details: { debug } },
  )

/** The refusal of a pattern with the place of the error in it. */
export const placed = ({ problem }: VtError, place: PatternPlace): VtError =>
  new VtError({
    ...problem,
    message: `${problem.message} ${saidOf(place)}`,
    details: { ...problem.details, error_range: { start: { ...place.start }, end: { ...place.end } } },
  })

export function saidOf({ start, end }: PatternPlace): string {
  const at = ({ line, column }: PatternPlace['start'], by: number) => `line ${line + 1}, column ${column + by}`
  const missing = start.line === end.line && start.column === end.column
  return missing
    ? `Something is missing at ${at(start, 1)}.`
    : `It does not parse from ${at(start, 1)} to ${at(end, 0)}.`
}

/** Refuses lower-case metavariables where `$` begins no name of the language itself. */
export function checkMetavariables(call: StructuralCall): void {
  const [name] = /\$+[a-z]\w*/.exec(call.input.pattern ?? '') ?? []
  if (name === undefined || ['bash', 'sh', 'php', 'zsh'].includes(call.input.lang ?? '')) return
  throw patternRefusal(
    'VT_SEARCH_PATTERN',
    `'${name}' is no metavariable: they are upper-case, '${name.toUpperCase()}'.`,
    call,
  )
}

/** Refuses a replacement with a metavariable that the pattern does not capture. */
export function checkReplacement(call: StructuralCall): void {
  const { workflow, pattern = '', rewrite, fix_config } = call.input
  const [name] = workflow === 'rewrite' ? unbound(pattern, fix_config?.template ?? rewrite ?? '') : []
  if (name !== undefined)
    throw createSlotError('VT_SEARCH_PATTERN', `'$${name}' of the replacement is not captured by the pattern.`, {
      hint: 'Use the metavariables of the pattern.',
    })
}

function patternRefusal(
  code: string,
  message: string,
  call: StructuralCall,
  extra: { details?: Record<string, unknown> } = {},
): VtError {
  const next = asGrep(call)
  const hint =
    'A pattern is valid code of the language, with $NAME for one node and $$$NAME for several. For prose, names and regular expressions use {slot:unified_search/grep}.'
  return createSlotError(code, message, { ...extra, hint, ...(next && { next }) })
}

/** The search for plain text that was probably meant: the pattern up to its first metavariable. */
function asGrep({ input, given }: StructuralCall): Next | undefined {
  const text = (input.pattern ?? '').split('$', 1)[0]!.trim()
  if (text === '') return undefined
  const { path, globs } = given
  return {
    tool: 'unified_search',
    input: {
      action: 'grep',
      pattern: text,
      literal: true,
      ...(path !== undefined && { path }),
      ...(globs !== undefined && { globs }),
    },
  }
}

const quoted = ({ input }: StructuralCall): string => `'${(input.pattern ?? input.kind ?? '').slice(0, 100)}'`

export const engineMissing = (reason?: string): VtError =>
  createSlotError(
    'VT_SEARCH_ENGINE_MISSING',
    reason === undefined
      ? 'The program ast-grep cannot be started.'
      : `The program ast-grep is not installed here: ${reason}.`,
  )
