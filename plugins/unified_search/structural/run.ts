import { ok, type Context, type Result } from '../../../core/index.js'
import { takeFitting, MAX_OUTPUT_BYTES } from '../../lib/base/index.js'
import { renderMatches, renderRewrites } from '../../lib/grep/index.js'
import { findRequiredText } from '../../lib/patterns/index.js'
import { readCurrentMatch } from './current_match.js'
import { shouldUseRule } from './arguments.js'
import { readDialects } from './dialects.js'
import { findPage } from './page.js'
import { checkMetavariables, checkReplacement } from './refusals.js'
import { toMatch } from './shape.js'
import { findSubjects } from './subjects.js'
import { findTextTrace } from './trace.js'
import type { StructuralCall, StructuralInput } from './types.js'

/** Bytes of an answer reserved for data other than matches. */
const RESERVED_BYTES = { files: 262_144, issues: 131_072 }

/**
 * Workflows `query` and `rewrite`: searches files of one or many languages for a pattern, sorted and paged; writes
 * nothing.
 */
export async function runPattern(call: StructuralCall, context: Context): Promise<Result> {
  const { input, given } = call
  checkMetavariables(call)
  checkReplacement(call)
  const dialects = await readDialects(context)
  const found = await findSubjects(
    context,
    input,
    dialects,
    findRequiredText(input.pattern, input.strictness, input.selector),
  )
  const { notices } = found
  const { search, matches, skipped } = await findPage(context, call, dialects.config, found)
  const { total } = search.found
  notices.push(...(await search.reportOutcome()))
  if (total === 0) notices.push(...(await findTextTrace(context, input, found.holding)))
  const window = matches.slice(input.skip - skipped).map((match) => match.read())
  const wide =
    shouldUseRule(input) && input.context_lines > 0
      ? await Promise.all(
          window.map(async (match) => (await readCurrentMatch(context, match, input.context_lines)) ?? match),
        )
      : window
  const page = wide.map(toMatch)
  const shown = takeFitting(page, MAX_OUTPUT_BYTES - RESERVED_BYTES.files - RESERVED_BYTES.issues)
  const end = input.skip + shown.length
  const truncated = end < total
  const debug = toDebug(search.side.debug, input)
  const around = { context_lines: input.context_lines, debug }
  const common = {
    workflow: input.workflow,
    ...(debug && { debug }),
    truncated,
    backend: 'ast-grep',
    path: input.path,
    ...(truncated && { next: { tool: 'unified_search', input: { action: 'structural', ...given, skip: end } } }),
  }
  const counts = search.found.listFiles()
  const files = counts.length
  const extra = notices.length > 0 ? { notices } : {}
  if (input.workflow === 'rewrite') {
    const output = { ...common, rewrites: shown, total_rewrites: total }
    const text = renderRewrites(shown, { total, files, next: truncated ? end : undefined }, around)
    return ok(output, { text, ...extra })
  }
  const output = {
    ...common,
    matches: shown,
    total_matches: total,
    files_searched: found.files.length,
    files_with_matches: files,
    files: takeFitting(counts, RESERVED_BYTES.files),
    parse_issues: takeFitting(search.listIssues(), RESERVED_BYTES.issues),
    ...(input.pattern !== undefined && { pattern: input.pattern }),
    ...(input.kind !== undefined && { kind: input.kind }),
  }
  return ok(output, {
    text: renderMatches(
      shown,
      { total, files, searched: found.files.length, path: input.path, next: truncated ? end : undefined },
      around,
    ),
    ...extra,
  })
}

function toDebug(text: string | undefined, { debug_query: format }: StructuralInput) {
  if (text === undefined || format === undefined) return undefined
  return { format: format === true ? 'pattern' : format, text }
}
