import type { Language } from '../../lib/syntax/index.js'
import type { Expand, StructuralInput } from './types.js'

const plain = new Set([undefined, 'cst', 'smart', 'ast', 'relaxed'])

/** Whether a run also reports how it reads the pattern: `run` with a language and without hidden nodes. */
export const explains = (input: StructuralInput, language: Language, config?: string): boolean =>
  input.pattern !== undefined &&
  !asRule(input) &&
  named(input, language, config) &&
  input.selector === undefined &&
  plain.has(input.strictness) &&
  (input.debug_query === undefined || viewOf(input) === 'pattern')

/** `run` where flags can say it, else a rule. */
export function argumentsFor(input: StructuralInput, language: Language, config?: string): string[] {
  const context = input.context_lines > 0 ? ['--context', String(input.context_lines)] : []
  const output = ['--json=stream', '--color=never', ...context]
  if (asRule(input)) {
    return ['scan', '--inline-rules', JSON.stringify(ruleOf(input, language)), ...output]
  }
  const flag = (name: string, value: string | undefined) => (value === undefined ? [] : [`--${name}=${value}`])
  return [
    'run',
    ...output,
    ...flag('config', config),
    ...(named(input, language, config) ? flag('lang', language.id) : []),
    ...flag('pattern', input.pattern),
    ...flag('kind', input.kind),
    ...flag('selector', input.selector),
    ...flag('strictness', input.strictness),
    ...(input.workflow === 'rewrite' ? flag('rewrite', input.rewrite) : []),
    ...flag('debug-query', explains(input, language, config) ? 'pattern' : viewOf(input)),
  ]
}

/** Whether only a rule can say it: `run` takes no pattern together with a kind, and no growing fix. */
export const asRule = ({ pattern, kind, fix_config }: StructuralInput): boolean =>
  (pattern !== undefined && kind !== undefined) || fix_config !== undefined

/** By default the program reads what a file embeds too, such as scripts in HTML. */
const named = ({ lang }: StructuralInput, { id }: Language, config?: string): boolean =>
  lang !== undefined || (id !== 'html' && id !== 'embedded' && config === undefined)

const viewOf = ({ debug_query }: StructuralInput): string | undefined =>
  debug_query === true ? 'pattern' : debug_query

const errors = 'errors'

/** Two rules for one run: matches, and what does not parse; `undefined` where `run` needs more than a rule. */
export function argumentsForBoth(input: StructuralInput, language: Language): string[] | undefined {
  const { pattern, workflow, debug_query, context_lines } = input
  if (
    pattern === undefined ||
    workflow !== 'query' ||
    asRule(input) ||
    debug_query !== undefined ||
    context_lines > 0 ||
    !named(input, language)
  )
    return undefined
  const rules = [
    { id: 'query', rule: patternRule(input) },
    { id: errors, rule: { kind: 'ERROR' } },
  ]
  return [
    'scan',
    '--inline-rules',
    rules.map((rule) => JSON.stringify({ ...rule, language: language.title })).join('\n---\n'),
    '--json=stream',
    '--color=never',
  ]
}

/** Whether a line reports what does not parse. Quotation marks in a quoted text are escaped. */
export const isError = (line: Buffer): boolean => line.includes(`"ruleId":"${errors}"`)

/** The places that do not parse. */
export const errorArguments = ({ id }: Language): string[] => [
  'run',
  '--json=stream',
  '--color=never',
  `--lang=${id}`,
  '--kind=ERROR',
]

function ruleOf(input: StructuralInput, language: Language): object {
  const fix = input.fix_config
  return {
    id: 'query',
    language: language.title,
    rule: { ...patternRule(input), ...(input.kind !== undefined && { kind: input.kind }) },
    ...(input.workflow === 'rewrite' && {
      fix: fix
        ? {
            template: fix.template,
            ...(fix.expand_start && { expandStart: expansion(fix.expand_start) }),
            ...(fix.expand_end && { expandEnd: expansion(fix.expand_end) }),
          }
        : input.rewrite,
    }),
  }
}

/** The pattern as part of a rule. */
export function patternRule({ pattern, selector, strictness }: StructuralInput): object {
  if (pattern === undefined) return {}
  if (selector === undefined && strictness === undefined) return { pattern }
  return { pattern: { context: pattern, ...(selector && { selector }), ...(strictness && { strictness }) } }
}

const expansion = ({ stop_by, ...rule }: Expand): object => ({
  ...rule,
  ...(stop_by !== undefined && { stopBy: stop_by }),
})
