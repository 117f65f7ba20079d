import { programFile, type Context, type Handle, type Handler, type Notice } from '../../core/index.js'
import { notice, createSlotError, formatNames, createWorker, WorkerError } from '../lib/base/index.js'
import { openIfReadable, tooHardToParse } from '../lib/search/index.js'
import {
  createOutlineAnswer,
  outlinedByAstGrep,
  getCachedItems,
  languageByName,
  languages,
  describeSkipped,
  cacheItems,
  findOutlineSubjects,
  createShaper,
  isTooLargeToOutline,
  readOutlineVersion,
  resolveLanguage,
  type OutlineItem,
  type OutlinedFile,
  type OutlineInput,
} from '../lib/syntax/index.js'
import type { ParsedOutline, OutlineJob } from './outline_tree_sitter/worker.js'

/** Languages with a grammar and a query in the folder `outline_tree_sitter`. */
const SERVED = new Set(
  (
    'bash c cpp csharp css dart elixir go haskell hcl html java javascript json lua nix php python ruby rust scala ' +
    'solidity svelte toml tsx typescript vue yaml zig'
  ).split(' '),
)

/** Outlines languages without rules in ast-grep by tree-sitter grammars and queries of this project. */
const outline: Handler<OutlineInput> = async (call, context) => {
  const { input } = call
  const wanted = resolveLanguage(input)
  if (wanted && !SERVED.has(wanted.id)) throw missing(wanted.title)
  const found = await findOutlineSubjects(context, input)
  const [only] = found.files
  if (found.single && only && !SERVED.has(only.language.id)) throw missing(only.language.title)
  const shaper = await createShaper(input, found.single)
  const own = found.files.filter(({ language }) => SERVED.has(language.id))
  const others = new Set(found.files.filter((file) => !own.includes(file)).map(({ language }) => language.title))
  const files: OutlinedFile[] = []
  const large: string[] = []
  const unread: string[] = []
  await using opener = context.workspace.createFileOpener()
  for (const { path, language } of own.slice(0, input.max_results)) {
    const handle = await openIfReadable(opener, path, unread)
    if (!handle) continue
    try {
      if (isTooLargeToOutline(handle, found.single)) large.push(path)
      else files.push({ path, lang: language.title, items: await readSymbols(handle, language.id, context) })
    } catch (error) {
      if (error instanceof GrammarProblem) {
        // The grammars of all further languages still work.
        if (found.single || wanted) throw missing(language.title)
        others.add(language.title)
      } else if (error instanceof WorkerError) {
        if (found.single) throw tooHardToParse(path)
        large.push(path)
      } else throw error
    } finally {
      await handle.close()
    }
  }
  const instead = own.filter(({ language }) => outlinedByAstGrep.has(language.id)).map(({ language }) => language.title)
  const notices = [
    ...createNotices(
      'VT_SEARCH_FALLBACK',
      instead,
      (titles) => `ast-grep is not available or failed; tree-sitter outlined ${titles}.`,
    ),
    ...createNotices(
      'VT_OUTLINE_UNSUPPORTED',
      others,
      (titles) => `No outline for: ${titles}; no engine here reads them.`,
    ),
    ...describeSkipped(large, unread),
  ]
  const beyond = own.slice(input.max_results).map(({ path }) => path)
  return createOutlineAnswer(
    { files, beyond, backend: 'tree-sitter', notices, single: found.single, listing: found.listing },
    call,
    shaper,
  )
}
export default outline

function createNotices(code: string, languages: Iterable<string>, message: (titles: string) => string): Notice[] {
  const titles = [...new Set(languages)]
  return titles.length > 0 ? [notice(code, message(formatNames(titles)))] : []
}

const missing = (title: string) =>
  languageByName(title)
    ? createSlotError('VT_SEARCH_ENGINE_MISSING', `No engine here outlines ${title}.`)
    : createSlotError(
        'VT_SEARCH_ENGINE_MISSING',
        `Unknown language '${title}'; known: ${languages.map(({ id }) => id).join(' ')}.`,
        { hint: 'Give one of them as lang, or omit lang: the file extension decides.' },
      )

const parse = createWorker<OutlineJob, ParsedOutline>(
  programFile('plugins/unified_search/outline_tree_sitter/worker.js'),
  {
    growth_mb: 512,
  },
)

async function readSymbols(handle: Handle, language: string, { host, signal }: Context): Promise<OutlineItem[]> {
  const version = await readOutlineVersion(handle, `tree-sitter:${language}`)
  const known = getCachedItems(version)
  if (known) return known
  const drawn = await parse(
    { bytes: await handle.read(0, handle.stat.bytes), language },
    signal,
    host.timeouts.parse / 1000,
  )
  if ('no_grammar' in drawn) throw new GrammarProblem(drawn.no_grammar)
  cacheItems(version, drawn.items)
  return drawn.items
}

/** A grammar that cannot be loaded. */
class GrammarProblem extends Error {}
