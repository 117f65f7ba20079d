import { ok, visibleLine, type Context, type Handler, type JsonObject, type Next } from '../../core/index.js'
import { pluralize, cut, takeFitting, createSlotError, listSearchNotices } from '../lib/base/index.js'
import { explainNothing, readGlobs, replaceNul } from '../lib/grep/index.js'
import type { OutlinedFile } from '../lib/syntax/index.js'
import { rankFiles, type SimilarFile } from './similarity/rank.js'

interface SimilarityInput {
  reference_file: string
  content_type: 'structure' | 'imports' | 'functions' | 'all'
  path: string
  max_results: number
  globs?: string | string[]
  include_hidden: boolean
  include_ignored: boolean
}
export interface SimilarityOutput {
  /** First line with each shared name, file by file. */
  matches: { file: string; line_number: number; text: string }[]
  files: { path: string; score: number; shared: string[] }[]
  total_files: number
  /** Number of searched names of the reference file. */
  names: number
  truncated: boolean
  next?: Next
}

const MAX_NAMES = 200
const MAX_FILES = 200
/** Lines of a larger file are not shown. */
const MAX_FILE_BYTES = 16_777_216

/** Finds files that use the names of a reference file, those with the most names first. */
const similarity: Handler<SimilarityInput, SimilarityOutput> = async ({ input, given }, context) => {
  const names = await readNames(input, context)
  const { path, include_hidden, include_ignored } = input
  const query = { path, include_hidden, include_ignored, globs: await readGlobs(context, path, input.globs) }
  const found = await rankFiles(context, names, query)
  const similar = found.files.filter(({ file }) => file !== input.reference_file)
  const nothing = similar.length === 0 ? await explainNothing(context, query, input.globs) : undefined
  const shown = similar.slice(0, MAX_FILES)
  const matches: SimilarityOutput['matches'] = []
  for (const one of shown) {
    if (matches.length > input.max_results) break
    matches.push(...(await readLines(one, context)))
  }
  const output: SimilarityOutput = {
    matches: takeFitting(matches.slice(0, input.max_results)),
    files: shown.map(({ file, lines }) => ({
      path: file,
      score: Math.round((lines.size / names.length) * 1000) / 1000,
      shared: [...lines.keys()].sort(),
    })),
    total_files: similar.length,
    names: names.length,
    truncated: matches.length > input.max_results || shown.length < similar.length,
    ...(nothing?.fields && {
      next: { tool: 'grep_search', input: { action: 'similarity', ...given, ...nothing.fields } },
    }),
  }
  const notices = [...listSearchNotices(found), ...(nothing?.notices ?? [])]
  return ok(output, { text: render(output, input.reference_file), ...(notices.length > 0 && { notices }) })
}
export default similarity

interface NamedItem {
  kind: string
  name: string
}
const STRUCTURE_KINDS = new Set(['class', 'interface', 'struct', 'enum'])
const FUNCTION_KINDS = new Set(['function', 'method'])

/**
 * Reads the names of the reference file, at most the 200 longest. Throws VT_SEARCH_NO_REFERENCE and the errors of its
 * outline.
 */
async function readNames({ reference_file, content_type }: SimilarityInput, context: Context): Promise<string[]> {
  const drawn = await context.call('unified_search', {
    action: 'outline',
    path: reference_file,
    items: 'all',
    view: 'full',
    response_format: 'detailed',
  })
  if (!drawn.ok) throw createSlotError(drawn.error.code, drawn.error.message, drawn.error)
  const items = ((drawn.output as JsonObject)['files'] as OutlinedFile[]).flatMap((file) => file.items)
  const declared: NamedItem[] = items.filter(({ isImport }) => !isImport).flatMap((item) => [item, ...item.members])
  const wanted = {
    imports: () => items.filter(({ isImport }) => isImport),
    functions: () => declared.filter(({ kind }) => FUNCTION_KINDS.has(kind)),
    structure: () => declared.filter(({ kind }) => STRUCTURE_KINDS.has(kind)),
    all: () => [...wanted.imports(), ...wanted.functions(), ...wanted.structure()],
  }
  const names = new Set(
    wanted[content_type]()
      .map(({ name }: NamedItem) => name.replace(/^['"`]|['"`]$/g, ''))
      .filter((name) => name.length > 1),
  )
  if (names.size === 0)
    throw createSlotError(
      'VT_SEARCH_NO_REFERENCE',
      `'${reference_file}' has no names of type '${content_type}' to look for.`,
    )
  return [...names].sort((a, b) => b.length - a.length).slice(0, MAX_NAMES)
}

/** Reads the first line with each shared name from the file. */
async function readLines({ file, lines }: SimilarFile, context: Context): Promise<SimilarityOutput['matches']> {
  const text = await context.workspace.readText(file, { max_bytes: MAX_FILE_BYTES }).catch(() => '')
  const all = text.split('\n')
  const wanted = new Map([...lines].map(([name, line]) => [line, name]))
  return [...wanted]
    .sort(([a], [b]) => a - b)
    .filter(([line, name]) => all[line - 1]?.includes(name))
    .map(([line]) => ({ file, line_number: line, text: replaceNul(cut(all[line - 1]!.replace(/\r$/, ''), 500).text) }))
}

const MAX_LISTED_FILES = 50

function render({ matches, files, total_files, names, truncated }: SimilarityOutput, reference: string): string {
  if (total_files === 0)
    return `No file shares a name with ${visibleLine(reference)} (${pluralize(names, 'name')} searched)`
  const lines = files
    .slice(0, MAX_LISTED_FILES)
    .flatMap(({ path, score, shared }) => [
      `${visibleLine(path)} (${score}): ${shared.slice(0, 8).join(', ')}` +
        (shared.length > 8 ? ` and ${shared.length - 8} more` : ''),
      ...matches.filter(({ file }) => file === path).map(({ line_number, text }) => `  ${line_number}:${text.trim()}`),
    ])
  const all = `${pluralize(total_files, 'file')} of ${pluralize(names, 'name')}`
  const isCut = truncated || files.length > MAX_LISTED_FILES
  return [...lines, `${all}${isCut ? ', not all shown' : ''}`].join('\n')
}
