import { ok, type Context, type Result } from '../../../core/index.js'
import { takeFitting, MAX_OUTPUT_BYTES } from '../../lib/base/index.js'
import type { Language } from '../../lib/syntax/index.js'
import { standing } from './around.js'
import { asRule } from './binary.js'
import { dialectsOf } from './dialects.js'
import { requiredText } from './literal.js'
import { checkMetavariables, checkReplacement } from './refuse.js'
import { Search } from './search.js'
import { matchOf, renderMatches, renderRewrites } from './shape.js'
import { embedded, structuralSubjects, type StructuralSubject } from './subjects.js'
import type { Reported, StructuralCall, StructuralInput } from './types.js'

/** Bytes of an answer that are kept for what is not a match. */
const room = { files: 262_144, issues: 131_072 }

/** Workflows `query` and `rewrite`: one pattern over files of one or many languages, sorted, paged; nothing is written. */
export async function runPattern(call: StructuralCall, context: Context, { notices }: Reported): Promise<Result> {
  const { input, given } = call
  checkMetavariables(call)
  checkReplacement(call)
  const dialects = await dialectsOf(context)
  const found = await structuralSubjects(
    context,
    input,
    dialects,
    requiredText(input.pattern, input.strictness, input.selector),
  )
  notices.push(...found.notices)
  const search = new Search(context, call, dialects.config)
  const all = groupByLanguage(found.files, input)
  const holding = groupByLanguage(found.holding, input)
  await Promise.all([...all].map(([id, { language }]) => search.language(language, holding.get(id)?.files ?? [])))
  await search.judge([...all.keys()].filter((id) => id !== embedded.id).length, notices)

  const { total } = search.found
  const window = search.found
    .first()
    .slice(input.skip)
    .map((match) => match.whole())
  const wide =
    asRule(input) && input.context_lines > 0
      ? await Promise.all(window.map(async (match) => (await standing(context, match, input.context_lines)) ?? match))
      : window
  const page = wide.map(matchOf)
  const shown = takeFitting(page, MAX_OUTPUT_BYTES - room.files - room.issues)
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
  const counts = search.found.files()
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
    files: takeFitting(counts, room.files),
    parse_issues: takeFitting(search.issues(), room.issues),
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
  // A named language is asked even without a file, because the pattern may be wrong for it.
  if (input.lang !== undefined && groups.size === 0) {
    groups.set(input.lang, { language: { id: input.lang, title: input.lang, aliases: [], extensions: [] }, files: [] })
  }
  return groups
}
