import { VtError, type Context, type Handler, type JsonObject, type Notice } from '../../core/index.js'
import { sortByPath, notice, some } from '../lib/base/index.js'
import {
  createOutlineAnswer,
  outlinedByAstGrep,
  findAstGrep,
  ensureAstGrep,
  InstallProblem,
  findOutlineSubjects,
  createRoomCheck,
  createShaper,
  resolveLanguage,
  type OutlinedFile,
  type OutlineInput,
  type OutlineSubject,
} from '../lib/syntax/index.js'
import { draw, drawable } from './outline/draw.js'

/**
 * The symbols of files by ast-grep. Languages it has no rules for are asked of this slot once more, with `lang`: there this
 * handler declines and the next in line answers. Declines too when the program is missing.
 */
const outline: Handler<OutlineInput> = async (call, context) => {
  const { input } = call
  const wanted = resolveLanguage(input)
  if (wanted && !outlinedByAstGrep.has(wanted.id)) return undefined
  const found = await findOutlineSubjects(context, input)
  if (!(await isThere(context, found.files))) return undefined
  // Wrong words are refused before anything is drawn.
  const shaper = await createShaper(input, found.single)
  const chosen = found.files.slice(0, input.max_results)
  const own = chosen.filter(drawable)
  const [drawn, others] = await Promise.all([
    draw(context, own, found.single, createRoomCheck(shaper)),
    elsewhere(
      context,
      input,
      chosen.filter((file) => !drawable(file)),
      found.single,
    ),
  ])
  if (!drawn) return undefined
  if (drawn.left.length > 0) await elsewhere(context, input, drawn.left, found.single, others)
  const unknown = found.single && found.files.length === 0 ? [`${input.path} (unknown)`] : []
  const notices = [...drawn.notices, ...others.notices, ...unsupported([...others.missing, ...unknown])]
  const backend = others.files.length === 0 ? 'ast-grep' : drawn.files.length === 0 ? 'tree-sitter' : 'mixed'
  const files = sortByPath([...drawn.files, ...others.files], ({ path }) => path)
  const beyond = [...drawn.beyond, ...found.files.slice(input.max_results)].map(({ path }) => path)
  return createOutlineAnswer(
    { files, beyond, backend, notices, single: found.single, listing: found.listing },
    call,
    shaper,
  )
}
export default outline

/** Whether ast-grep is there, or can be brought for files that it serves. */
async function isThere(context: Context, files: OutlineSubject[]): Promise<boolean> {
  if (findAstGrep(context.workspace)) return true
  if (!files.some(({ language }) => outlinedByAstGrep.has(language.id))) return false
  return ensureAstGrep(context).then(
    () => true,
    (error: unknown) => {
      if (error instanceof InstallProblem) return false
      throw error
    },
  )
}

const unsupported = (languages: string[]): Notice[] =>
  languages.length === 0
    ? []
    : [notice('VT_OUTLINE_UNSUPPORTED', `No outline for: ${some(languages)}. Use grep there.`)]

interface Elsewhere {
  files: OutlinedFile[]
  /** Languages that nobody serves. */
  missing: string[]
  notices: Notice[]
}

/** The outlines of other languages, each asked of this slot by name, added to those that are there. Throws what is wrong with a file that was named. */
async function elsewhere(
  context: Context,
  input: OutlineInput,
  files: OutlineSubject[],
  single: boolean,
  found: Elsewhere = { files: [], missing: [], notices: [] },
): Promise<Elsewhere> {
  const wanted = new Set(files.map(({ path }) => path))
  for (const id of new Set(files.map(({ language }) => language.id))) {
    const { title } = files.find(({ language }) => language.id === id)!.language
    const result = await context.call('unified_search', {
      action: 'outline',
      path: input.path,
      lang: id,
      items: input.items,
      view: 'full',
      follow: input.follow,
      max_results: input.max_results,
      response_format: 'detailed',
    })
    if (result.ok) {
      found.files.push(
        ...((result.output as JsonObject)['files'] as OutlinedFile[]).filter(({ path }) => wanted.has(path)),
      )
      // What befell the walk is known already.
      found.notices.push(...(result.notices ?? []).filter(({ code }) => code === 'VT_SEARCH_SKIPPED'))
    } else if (result.error.code === 'VT_SEARCH_ENGINE_MISSING') found.missing.push(title)
    else if (single) throw new VtError(result.error)
    else found.notices.push(notice('VT_SEARCH_PARTIAL', `${title}: ${result.error.message}`))
  }
  return found
}
