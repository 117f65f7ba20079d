import { ok, type Context, type Handler, type JsonObject } from '../../core/index.js'
import { pluralize, cut, takeFitting, createSlotError, listSearchNotices } from '../lib/base/index.js'
import type { OutlinedFile } from '../lib/syntax/index.js'
import { rankFiles, type Similar } from './similarity/rank.js'

interface SimilarityInput {
  reference_file: string
  content_type: 'structure' | 'imports' | 'functions' | 'all'
  path: string
  max_results: number
  globs?: string | string[]
  include_hidden: boolean
}
export interface SimilarityOutput {
  /** The first line with each shared name, file by file. */
  matches: { file: string; line_number: number; text: string }[]
  files: { path: string; score: number; shared: string[] }[]
  total_files: number
  /** The names of the reference file that were looked for. */
  names: number
  truncated: boolean
}

const mostNames = 200
const mostFiles = 200
/** Of a larger file no lines are shown. */
const largest = 16_777_216

/** Files that use the names of a reference file, those with the most in common first. */
const similarity: Handler<SimilarityInput, SimilarityOutput> = async ({ input }, context) => {
  const names = await namesOf(input, context)
  const found = await rankFiles(context, names, { ...input, globs: [input.globs ?? []].flat() })
  const similar = found.files.filter(({ file }) => file !== input.reference_file)
  const shown = similar.slice(0, mostFiles)
  const matches: SimilarityOutput['matches'] = []
  for (const one of shown) {
    if (matches.length > input.max_results) break
    matches.push(...(await linesOf(one, context)))
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
  }
  const notices = listSearchNotices(found)
  return ok(output, { text: render(output, input.reference_file), ...(notices.length > 0 && { notices }) })
}
export default similarity

interface Named {
  kind: string
  name: string
}
const structures = new Set(['class', 'interface', 'struct', 'enum'])
const functions = new Set(['function', 'method'])

/** The names of the reference file, the longest of too many. Throws VT_SEARCH_NO_REFERENCE and what its outline throws. */
async function namesOf({ reference_file, content_type }: SimilarityInput, context: Context): Promise<string[]> {
  const drawn = await context.call('unified_search', {
    action: 'outline',
    path: reference_file,
    items: 'all',
    view: 'full',
    response_format: 'detailed',
  })
  if (!drawn.ok) throw createSlotError(drawn.error.code, drawn.error.message, drawn.error)
  const items = ((drawn.output as JsonObject)['files'] as OutlinedFile[]).flatMap((file) => file.items)
  const declared: Named[] = items.filter(({ isImport }) => !isImport).flatMap((item) => [item, ...item.members])
  const wanted = {
    imports: () => items.filter(({ isImport }) => isImport),
    functions: () => declared.filter(({ kind }) => functions.has(kind)),
    structure: () => declared.filter(({ kind }) => structures.has(kind)),
    all: () => [...wanted.imports(), ...wanted.functions(), ...wanted.structure()],
  }
  const names = new Set(
    wanted[content_type]()
      .map(({ name }: Named) => name.replace(/^['"`]|['"`]$/g, ''))
      .filter((name) => name.length > 1),
  )
  if (names.size === 0)
    throw createSlotError(
      'VT_SEARCH_NO_REFERENCE',
      `'${reference_file}' has no names of type '${content_type}' to look for.`,
    )
  return [...names].sort((a, b) => b.length - a.length).slice(0, mostNames)
}

/** The first line with each shared name, read from the file itself. */
async function linesOf({ file, lines }: Similar, context: Context): Promise<SimilarityOutput['matches']> {
  const text = await context.workspace.readText(file, { max_bytes: largest }).catch(() => '')
  const all = text.split('\n')
  const wanted = new Map([...lines].map(([name, line]) => [line, name]))
  return [...wanted]
    .sort(([a], [b]) => a - b)
    .filter(([line, name]) => all[line - 1]?.includes(name))
    .map(([line]) => ({ file, line_number: line, text: cut(all[line - 1]!.replace(/\r$/, ''), 500).text }))
}

function render({ files, total_files, names, truncated }: SimilarityOutput, reference: string): string {
  if (total_files === 0) return `No file shares a name with ${reference} (${pluralize(names, 'name')} looked for)`
  const lines = files
    .slice(0, 50)
    .map(
      ({ path, score, shared }) =>
        `${path} (${score}): ${shared.slice(0, 8).join(', ')}${shared.length > 8 ? ` and ${shared.length - 8} more` : ''}`,
    )
  return [
    ...lines,
    `${pluralize(total_files, 'file')} of ${pluralize(names, 'name')}${truncated ? ', not all shown' : ''}`,
  ].join('\n')
}
