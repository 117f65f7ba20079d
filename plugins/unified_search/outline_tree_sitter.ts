import type { Handler, Notice } from '../../core/index.js'
import { notice, createSlotError, formatNames, WorkerError } from '../lib/base/index.js'
import { openIfReadable, tooHardToParse } from '../lib/search/index.js'
import {
  createOutlineAnswer,
  outlinedByAstGrep,
  languageByName,
  languages,
  describeSkipped,
  findOutlineSubjects,
  createShaper,
  isTooLargeToOutline,
  resolveLanguage,
  type OutlinedFile,
  type OutlineInput,
} from '../lib/syntax/index.js'
import { GrammarProblem, parseSymbols, SERVED } from './outline_tree_sitter/parse_symbols.js'

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
      else files.push({ path, lang: language.title, ...(await parseSymbols(handle, language.id, context)) })
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
