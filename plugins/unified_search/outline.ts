import { VtError, type Context, type Handler, type Notice } from '../../core/index.js'
import { sortByPath, notice, formatNames } from '../lib/base/index.js'
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
import { draw, isDrawable } from './outline/draw.js'

/**
 * Outlines the symbols of files by ast-grep. For a language without rules, calls this slot again with `lang`: this
 * handler then declines and the next one answers. Declines too when the program is missing.
 */
const outline: Handler<OutlineInput> = async (call, context) => {
  const { input } = call
  const wanted = resolveLanguage(input)
  if (wanted && !outlinedByAstGrep.has(wanted.id)) return undefined
  const found = await findOutlineSubjects(context, input)
  if (!(await isAvailable(context, found.files))) return undefined
  // Invalid input is refused before any file is outlined.
  const shaper = await createShaper(input, found.single)
  const chosen = found.files.slice(0, input.max_results)
  const own = chosen.filter(isDrawable)
  const [drawn, others] = await Promise.all([
    draw(context, own, found.single, createRoomCheck(shaper)),
    outlineOthers(
      context,
      input,
      chosen.filter((file) => !isDrawable(file)),
      found.single,
    ),
  ])
  if (!drawn) return undefined
  if (drawn.left.length > 0) await outlineOthers(context, input, drawn.left, found.single, others)
  const unknown = found.single && found.files.length === 0 ? [`${input.path} (unknown)`] : []
  const notices = [...drawn.notices, ...others.notices, ...describeUnsupported([...others.missing, ...unknown])]
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

/** Returns whether ast-grep is installed, or can be installed for files that it outlines. */
async function isAvailable(context: Context, files: OutlineSubject[]): Promise<boolean> {
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

const describeUnsupported = (languages: string[]): Notice[] =>
  languages.length === 0
    ? []
    : [notice('VT_OUTLINE_UNSUPPORTED', `No outline for: ${formatNames(languages)}. Use grep there.`)]

interface OtherOutlines {
  files: OutlinedFile[]
  /** Languages that no engine outlines. */
  missing: string[]
  notices: Notice[]
}

/** Adds the outlines of other languages, each by a call of this slot with `lang`. Throws the error of a named file. */
async function outlineOthers(
  context: Context,
  input: OutlineInput,
  files: OutlineSubject[],
  single: boolean,
  found: OtherOutlines = { files: [], missing: [], notices: [] },
): Promise<OtherOutlines> {
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
      const { files: outlined } = result.output as { files?: unknown }
      // A handler of others may answer with a digest, which has no files.
      if (!Array.isArray(outlined))
        found.notices.push(notice('VT_SEARCH_PARTIAL', `${title}: the plugin answered without \`files\`.`))
      found.files.push(
        ...((Array.isArray(outlined) ? outlined : []) as Omit<OutlinedFile, 'isBroken'>[])
          .filter(({ path }) => wanted.has(path))
          .map((file) => ({ ...file, isBroken: false })),
      )
      // Notices about the walk are already reported.
      const own = ['VT_SEARCH_SKIPPED', 'VT_SEARCH_PARSE']
      found.notices.push(...(result.notices ?? []).filter(({ code }) => own.includes(code)))
    } else if (result.error.code === 'VT_SEARCH_ENGINE_MISSING') found.missing.push(title)
    else if (single) throw new VtError(result.error)
    else found.notices.push(notice('VT_SEARCH_PARTIAL', `${title}: ${result.error.message}`))
  }
  return found
}
