import type { Context } from '../../../core/index.js'
import { languageByName, type Language } from '../../lib/syntax/index.js'
import { FoundMatches } from './found_matches.js'
import { Search } from './search.js'
import { embedded, type StructuralSubject, type StructuralSubjects } from './subjects.js'
import type { LazyMatch, StructuralCall, StructuralInput } from './types.js'

/** Matches before a page up to which they are kept; for more, a second search reads the files of the page. */
const MAX_KEPT = 10_000

export interface FoundPage {
  /** The search that found and counted all matches. */
  search: Search
  /** Matches in order, the last ones up to the end of the page. */
  matches: LazyMatch[]
  /** Number of matches before them. */
  skipped: number
}

/** Finds the matches up to the end of the page, and counts all. */
export async function findPage(
  context: Context,
  call: StructuralCall,
  config: string | undefined,
  { files, holding }: StructuralSubjects,
): Promise<FoundPage> {
  const { input } = call
  const end = input.skip + input.max_results
  const all = groupByLanguage(files, input)
  const run = async (search: Search, some: readonly StructuralSubject[]): Promise<Search> => {
    const groups = groupByLanguage(some, input)
    await Promise.all(
      [...all].map(([id, { language }]) => search.searchLanguage(language, groups.get(id)?.files ?? [])),
    )
    return search
  }
  const isFar = input.skip > MAX_KEPT
  const search = await run(new Search(context, call, config, new FoundMatches(isFar ? 0 : end)), holding)
  if (!isFar) return { search, matches: search.found.listFirst(), skipped: 0 }
  const window = new Set<string>()
  let [skipped, before] = [0, 0]
  for (const { file, count } of search.found.listFiles()) {
    if (before + count <= input.skip) skipped += count
    else if (before < end) window.add(file)
    before += count
  }
  const found = new FoundMatches(end - skipped)
  const near = await run(
    new Search(context, call, config, found, search.readings),
    holding.filter(({ path }) => window.has(path)),
  )
  return { search, matches: near.found.listFirst(), skipped }
}

function groupByLanguage(
  files: readonly StructuralSubject[],
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
    const { lang } = input
    const language = languageByName(lang)?.isPage ? embedded : { id: lang, title: lang, aliases: [], extensions: [] }
    groups.set(language.id, { language, files: [] })
  }
  return groups
}
