import { ok, type Context, type Result } from '../../../core/index.js'
import { takeFitting, MAX_OUTPUT_BYTES } from '../../lib/base/index.js'
import type { Language } from '../../lib/syntax/index.js'
import { readCurrentMatch } from './current_match.js'
import { shouldUseRule } from './arguments.js'
import { readDialects } from './dialects.js'
import { findRequiredText } from './required_text.js'
import { checkMetavariables, checkReplacement } from './refusals.js'
import { Search } from './search.js'
import { toMatch, renderMatches, renderRewrites } from './shape.js'
import { embedded, findSubjects, type StructuralSubject } from './subjects.js'
import type { Reported, StructuralCall, StructuralInput } from './types.js'

/** Bytes of an answer reserved for data other than matches. */
const RESERVED_BYTES = { files: 262_144, issues: 131_072 }

/**
 * Workflows `query` and `rewrite`: searches files of one or many languages for a pattern, sorted and paged; writes
 * nothing.
 */
export async function runPattern(call: StructuralCall, context: Context, { notices }: Reported): Promise<Result> {
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
  notices.push(...found.notices)
  const search = new Search(context, call, dialects.config)
  const all = groupByLanguage(found.files, input)
  const holding = groupByLanguage(found.holding, input)
  await Promise.all([...all].map(([id, { language }]) => search.searchLanguage(language, holding.get(id)?.files ?? [])))
  await search.reportOutcome([...all.keys()].filter((id) => id !== embedded.id).length, notices)

  const { total } = search.found
  const window = search.found
    .listFirst()
    .slice(input.skip)
    .map((match) => match.read())
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
  const common = {
    workflow: input.workflow,
    ...(search.debug !== undefined && {
      debug: { format: input.debug_query === true ? 'pattern' : input.debug_query, text: search.debug },
    }),
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
    return ok(output, { text: renderRewrites(shown, { total, files, next: truncated ? end : undefined }), ...extra })
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
    text: renderMatches(shown, {
      total,
      files,
      searched: found.files.length,
      path: input.path,
      next: truncated ? end : undefined,
    }),
    ...extra,
  })
}

function groupByLanguage(
  files: StructuralSubject[],
  input: StructuralInput,
): Map<string, { language: Language; files: StructuralSubject[] }> {
  const groups = new Map<string, { language: Language; files: StructuralSubject[] }>()
  for (const file of files) {
    const group = groups.get(file.language.id) ?? { language: file.language, files: [] }
    group.files.push(file)
    groups.set(file.language.id, group)
  }
  // A named language is checked even without files, because the pattern may be invalid.
  if (input.lang !== undefined && groups.size === 0) {
    groups.set(input.lang, { language: { id: input.lang, title: input.lang, aliases: [], extensions: [] }, files: [] })
  }
  return groups
}
