import type { Language } from '../../lib/syntax/index.js'
import type { Expand, StructuralInput } from './types.js'

/** Returns the arguments of `run`, or of `scan` with a rule where flags are not enough. */
export function toProgramArguments(input: StructuralInput, language: Language, config?: string): string[] {
  const context = input.context_lines > 0 ? ['--context', String(input.context_lines)] : []
  const output = ['--json=stream', '--color=never', ...context]
  if (shouldUseRule(input)) {
    return ['scan', '--inline-rules', JSON.stringify(toRule(input, language)), ...output]
  }
  const flag = (name: string, value: string | undefined) => (value === undefined ? [] : [`--${name}=${value}`])
  return [
    'run',
    ...output,
    ...flag('config', config),
    ...(isLanguageNamed(input, language, config) ? flag('lang', language.id) : []),
    ...flag('pattern', input.pattern),
    ...flag('kind', input.kind),
    ...flag('selector', input.selector),
    ...flag('strictness', input.strictness),
    ...(input.workflow === 'rewrite' ? flag('rewrite', input.rewrite) : []),
    ...flag('debug-query', input.debug_query === true ? 'pattern' : input.debug_query),
  ]
}

/** Returns whether a rule is needed: `run` takes no pattern together with a kind, and no expanding fix. */
export const shouldUseRule = ({ pattern, kind, fix_config }: StructuralInput): boolean =>
  (pattern !== undefined && kind !== undefined) || fix_config !== undefined

/** Returns whether to pass `--lang`. Without it the program also searches embedded code, such as scripts in HTML. */
const isLanguageNamed = ({ lang }: StructuralInput, { id }: Language, config?: string): boolean =>
  id !== 'embedded' && (lang !== undefined || (id !== 'html' && config === undefined))

const ERROR_RULE = 'errors'

/**
 * Returns the arguments of one run with two rules, for matches and for syntax errors; `undefined` where a rule is not
 * enough.
 */
export function toCombinedArguments(input: StructuralInput, language: Language): string[] | undefined {
  const { pattern, workflow, debug_query, context_lines } = input
  if (
    pattern === undefined ||
    workflow !== 'query' ||
    shouldUseRule(input) ||
    debug_query !== undefined ||
    context_lines > 0 ||
    !isLanguageNamed(input, language)
  )
    return undefined
  const rules = [
    { id: 'query', rule: toPatternRule(input) },
    { id: ERROR_RULE, rule: { kind: 'ERROR' } },
  ]
  return [
    'scan',
    '--inline-rules',
    rules.map((rule) => JSON.stringify({ ...rule, language: language.title })).join('\n---\n'),
    '--json=stream',
    '--color=never',
  ]
}

/** Returns whether a line reports a syntax error. Quotation marks in a quoted text are escaped. */
export const isError = (line: Buffer): boolean => line.includes(`"ruleId":"${ERROR_RULE}"`)

/** Returns the arguments of a run that reports syntax errors. */
export const toErrorArguments = ({ id }: Language): string[] => [
  'run',
  '--json=stream',
  '--color=never',
  `--lang=${id}`,
  '--kind=ERROR',
]

function toRule(input: StructuralInput, language: Language): object {
  const fix = input.fix_config
  return {
    id: 'query',
    language: language.title,
    rule: { ...toPatternRule(input), ...(input.kind !== undefined && { kind: input.kind }) },
    ...(input.workflow === 'rewrite' && {
      fix: fix
        ? {
            template: fix.template,
            ...(fix.expand_start && { expandStart: toExpansion(fix.expand_start) }),
            ...(fix.expand_end && { expandEnd: toExpansion(fix.expand_end) }),
          }
        : input.rewrite,
    }),
  }
}

/** Returns the pattern as part of a rule. */
export function toPatternRule({ pattern, selector, strictness }: StructuralInput): object {
  if (pattern === undefined) return {}
  if (selector === undefined && strictness === undefined) return { pattern }
  return { pattern: { context: pattern, ...(selector && { selector }), ...(strictness && { strictness }) } }
}

const toExpansion = ({ stop_by, ...rule }: Expand): object => ({
  ...rule,
  ...(stop_by !== undefined && { stopBy: stop_by }),
})
