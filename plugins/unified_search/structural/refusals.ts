import { VtError, type Context, type Next } from '../../../core/index.js'
import { createSlotError, pluralize } from '../../lib/base/index.js'
import { patternLanguages, parseReasons, type AstGrepEnd, type Language } from '../../lib/syntax/index.js'
import { describePlace, findError, findUnbound, type PatternPlace } from '../../lib/patterns/index.js'
import type { StructuralCall } from './types.js'

/** Converts the refusal of a pattern, kind or language by ast-grep; `undefined` if there was none. */
export function toRefusal({ exit_code, stderr }: AstGrepEnd, title: string, call: StructuralCall): VtError | undefined {
  if (exit_code !== 2 && exit_code !== 8) return undefined
  const extra = { details: { stderr: parseReasons(stderr) } }
  const kind = /Kind `(.*?)` is invalid/.exec(stderr)?.[1]
  if (kind !== undefined) return createSlotError('VT_SEARCH_KIND', `'${kind}' is not a node kind of ${title}.`, extra)
  if (/is not supported!/.test(stderr)) {
    return createSlotError(
      'VT_SEARCH_LANG',
      `Unsupported language '${call.input.lang ?? title}'; ` +
        `supported: ${patternLanguages.map(({ id }) => id).join(' ')}.`,
      extra,
    )
  }
  const regex = /regex parse error:\s+(.*)\s[\s^]*error: (.*)/.exec(stderr)
  if (regex)
    return createSlotError(
      'VT_SEARCH_PATTERN',
      `'${regex[1]}' of fix_config is not a regular expression: ${regex[2]!.replace(/\.$/, '')}.`,
      { ...extra, hint: 'Correct the regular expression of the expansion.' },
    )
  const causes = [...stderr.matchAll(/╰▻ (.*)/g)].map(([, cause]) => cause!)
  if (causes.some((cause) => cause.startsWith('Fixer expansion'))) {
    const hint = 'Use a named node such as call_expression as kind; use regex for punctuation.'
    return createSlotError(
      'VT_SEARCH_PATTERN',
      `An expansion of fix_config is not valid: ${causes.at(-1)!.replace(/\.? *$/, '')}.`,
      { ...extra, hint },
    )
  }
  const why = causes.at(-1)?.replace(/\. Please.*$/, '') ?? 'it does not parse'
  return createPatternRefusal(
    'VT_SEARCH_PATTERN',
    `${quotePattern(call)} is not valid ${title} code for one node: ${why}.`,
    call,
    extra,
  )
}

/** A whole pattern that begins with the given one, and how often it matches. */
export interface WholePattern {
  pattern: string
  total: number
}

/**
 * Creates the refusal of a pattern that is only a part of code, with the debug output if requested. The next call has
 * the whole pattern where it matches.
 */
export function createFragmentRefusal(
  title: string,
  call: StructuralCall,
  debug: string | undefined,
  whole: WholePattern | undefined,
): VtError {
  const instead =
    whole === undefined
      ? ''
      : whole.total > 0
        ? ` '${whole.pattern}' matches ${pluralize(whole.total, 'time')}.`
        : ` A whole piece is '${whole.pattern}'.`
  const { action: _, ...given } = call.given
  return createPatternRefusal(
    'VT_SEARCH_FRAGMENT',
    `${quotePattern(call)} is only a fragment of ${title} code and matched nothing.${instead}`,
    call,
    {
      ...(debug !== undefined && { details: { debug } }),
      ...(whole &&
        whole.total > 0 && {
          next: { tool: 'unified_search', input: { action: 'structural', ...given, pattern: whole.pattern } },
        }),
    },
  )
}

/** Creates the refusal of words without any sign of code, which match nothing. */
export const createProseRefusal = (call: StructuralCall): VtError =>
  createPatternRefusal('VT_SEARCH_PATTERN', `${quotePattern(call)} consists of words only and matches no code.`, call)

/** Adds the position of the error to the refusal of a pattern. */
const addPlace = ({ problem }: VtError, place: PatternPlace): VtError =>
  new VtError({
    ...problem,
    message: `${problem.message} ${describePlace(place)}`,
    details: { ...problem.details, error_range: { start: { ...place.start }, end: { ...place.end } } },
  })

const PATTERN_CODES = new Set(['VT_SEARCH_PATTERN', 'VT_SEARCH_FRAGMENT'])

/** Finds the error of a refused pattern and adds its position; returns any other error unchanged. */
export async function locateError(
  error: VtError,
  pattern: string | undefined,
  language: Language,
  context: Context,
): Promise<VtError> {
  if (pattern === undefined || !PATTERN_CODES.has(error.code)) return error
  const place = await findError(pattern, language, context)
  return place ? addPlace(error, place) : error
}

/** Refuses lower-case metavariables where `$` begins no name of the language itself. */
export function checkMetavariables(call: StructuralCall): void {
  const [name] = /\$+[a-z]\w*/.exec(call.input.pattern ?? '') ?? []
  if (name === undefined || ['bash', 'sh', 'php', 'zsh'].includes(call.input.lang ?? '')) return
  throw createPatternRefusal(
    'VT_SEARCH_PATTERN',
    `'${name}' is not a metavariable: use upper case, '${name.toUpperCase()}'.`,
    call,
  )
}

/** Refuses a replacement with a metavariable that the pattern does not capture. */
export function checkReplacement(call: StructuralCall): void {
  const { workflow, pattern = '', rewrite, fix_config } = call.input
  const [name] = workflow === 'rewrite' ? findUnbound(pattern, fix_config?.template ?? rewrite ?? '') : []
  if (name !== undefined)
    throw createSlotError('VT_SEARCH_PATTERN', `'$${name}' of the replacement is not captured by the pattern.`, {
      hint: 'Use the metavariables of the pattern.',
    })
}

function createPatternRefusal(
  code: string,
  message: string,
  call: StructuralCall,
  extra: { details?: Record<string, unknown>; next?: Next } = {},
): VtError {
  const next = extra.next ?? toGrepCall(call)
  const hint =
    'Write the pattern as valid code of the language, with $NAME for one node and $$$NAME for several. ' +
    'For prose, names and regular expressions use {slot:unified_search/grep}.'
  return createSlotError(code, message, { ...extra, hint, ...(next && { next }) })
}

/** Returns a text search for the pattern up to its first metavariable, which was probably meant. */
function toGrepCall({ input, given }: StructuralCall): Next | undefined {
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

const quotePattern = ({ input }: StructuralCall): string => `'${(input.pattern ?? input.kind ?? '').slice(0, 100)}'`

export const engineMissing = (reason?: string): VtError =>
  createSlotError(
    'VT_SEARCH_ENGINE_MISSING',
    reason === undefined
      ? 'The program ast-grep cannot be started.'
      : `The program ast-grep is not installed here: ${reason}.`,
  )
