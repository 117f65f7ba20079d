import { problem, type JsonObject } from '../../../core/index.js'
import { notice } from '../../lib/base/index.js'
import { shouldUseRule } from './arguments.js'
import { WORKFLOWS, type Reported, type StructuralInput, type Workflow } from './types.js'

/** Workflows that take a field; `path` of `test` is checked separately. */
const FIELD_WORKFLOWS: Record<string, Workflow[]> = {
  pattern: ['query', 'rewrite'],
  kind: ['query', 'rewrite'],
  fix_config: ['rewrite'],
  lang: ['query', 'rewrite'],
  selector: ['query', 'rewrite'],
  strictness: ['query', 'rewrite'],
  debug_query: ['query', 'rewrite'],
  config_path: ['scan', 'test', 'inspect'],
  filter: ['scan', 'test'],
  skip_snapshot_tests: ['test'],
  paths: ['query', 'rewrite'],
  globs: ['query', 'scan', 'rewrite'],
  context_lines: ['query', 'scan', 'rewrite'],
  max_results: ['query', 'scan', 'rewrite'],
  skip: ['query', 'scan', 'rewrite'],
  include_hidden: ['query', 'rewrite'],
}

/** Requires the fields of a workflow, and no others. Throws VT_INPUT_*. */
export function checkFields(input: StructuralInput, given: Readonly<JsonObject>): Reported {
  const { workflow } = input
  for (const field of Object.keys(given)) {
    const takers = FIELD_WORKFLOWS[field]
    if (takers && !takers.includes(workflow)) throw notAllowed(field, takers, workflow)
  }
  if (workflow === 'test' && !['.', undefined].includes(given['path'] as string))
    throw notAllowed(
      'path',
      WORKFLOWS.filter((name) => name !== 'test'),
      workflow,
    )
  if (workflow === 'query' && input.pattern === undefined && input.kind === undefined)
    throw missing("'pattern' or 'kind'")
  if (workflow === 'rewrite') checkRewrite(input)
  const needsPattern = (['selector', 'strictness', 'debug_query'] as const).some((field) => input[field] !== undefined)
  if (needsPattern && input.pattern === undefined) throw missing("'pattern'")
  if (input.debug_query !== undefined) checkDebug(input)
  const ignored = input.rewrite !== undefined && workflow !== 'rewrite'
  return {
    notices: ignored
      ? [notice('VT_INPUT_IGNORED', `'rewrite' is for workflow "rewrite" and was ignored by "${workflow}".`)]
      : [],
  }
}

function checkRewrite({ pattern, rewrite, fix_config: fix }: StructuralInput): void {
  if (pattern === undefined) throw missing("'pattern'")
  if (rewrite === undefined && !fix) throw missing("'rewrite' or 'fix_config'")
  checkExpansions(fix)
  if (rewrite !== undefined && fix) throw problem('VT_INPUT_CONFLICT', { fields: "'rewrite' and 'fix_config'" })
}

function checkDebug(input: StructuralInput): void {
  if (input.lang === undefined) throw missing("'lang'")
  const other = input.fix_config ? 'fix_config' : 'kind'
  if (shouldUseRule(input)) throw problem('VT_INPUT_CONFLICT', { fields: `'debug_query' and '${other}'` })
}

/** Throws VT_INPUT_INVALID unless each expansion has exactly one rule. */
function checkExpansions(fix: StructuralInput['fix_config'] = { template: '' }): void {
  for (const side of ['expand_start', 'expand_end'] as const) {
    const rules = (['regex', 'kind', 'pattern'] as const).filter((way) => fix[side]?.[way] !== undefined)
    if (fix[side] && rules.length !== 1) {
      const given = rules.join(' and ') || 'none of them'
      const what = `'fix_config.${side}' has ${given}; needed: exactly one of regex, kind, pattern.`
      throw problem('VT_INPUT_INVALID', {
        problem: what,
        example: 'Example: {"template":"","expand_end":{"regex":","}}',
      })
    }
  }
}

const notAllowed = (field: string, takers: Workflow[], workflow: Workflow) =>
  problem('VT_INPUT_NOT_ALLOWED', { field, owner: `workflow ${takers.join(', ')}`, slot: `workflow ${workflow}` })

const missing = (fields: string) => problem('VT_INPUT_MISSING', { fields })
