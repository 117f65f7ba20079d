import { encodeName, type Context } from '../../../core/index.js'
import { comparePaths, createSlotError } from '../../lib/base/index.js'
import { createLineReader } from '../../lib/process/index.js'
import {
  filterExisting,
  MAX_SEARCHED_BYTES,
  runRipgrep,
  formatComplaints,
  withWalk,
  type WalkOptions,
} from '../../lib/search/index.js'

const TIMEOUT_SECONDS = 30

/** A file that holds some of the names, each with its first line. */
export interface SimilarFile {
  file: string
  lines: Map<string, number>
}
export interface RankedFiles {
  /** Sorted by number of names, then by path. */
  files: SimilarFile[]
  incomplete: boolean
  complaints: string[]
}

/**
 * Ranks the files of a directory by the number of names that they hold as whole words. Throws VT_PATH_*,
 * VT_SEARCH_ENGINE_MISSING.
 */
export async function rankFiles(
  context: Context,
  names: string[],
  { path, ...discovery }: WalkOptions & { path: string },
): Promise<RankedFiles> {
  await using directory = await context.workspace.openDirectory(path)
  const prefix = path === '.' ? '' : `${path}/`
  const found = new Map<string, Map<string, number>>()
  const stream = createLineReader((line) => {
    const nul = line.indexOf(0)
    const colon = line.indexOf(58, nul)
    if (nul < 0 || colon < 0) return
    const file = prefix + encodeName(line.subarray(line[0] === 46 && line[1] === 47 ? 2 : 0, nul))
    const held = found.get(file) ?? new Map<string, number>()
    const name = line.toString('utf8', colon + 1)
    if (!held.has(name)) held.set(name, Number(line.toString('latin1', nul + 1, colon)))
    found.set(file, held)
  })
  const patterns = names.flatMap((name) => ['-e', name])
  const asked = await withWalk(context.workspace, directory, discovery, (flags) =>
    runRipgrep(
      directory,
      [
        ...flags,
        '--only-matching',
        '--line-number',
        '--null',
        '--with-filename',
        '--no-heading',
        '--case-sensitive',
        '--fixed-strings',
        '--word-regexp',
        '--max-filesize',
        String(MAX_SEARCHED_BYTES),
        ...patterns,
        '--',
        './',
      ],
      { signal: context.signal, seconds: TIMEOUT_SECONDS },
      stream.take,
    ),
  )
  if (!asked) throw createSlotError('VT_SEARCH_ENGINE_MISSING', 'ripgrep is not installed here, or did not finish.')
  const there = new Set(await filterExisting(context, [...found.keys()]))
  const files = [...found].filter(([file]) => there.has(file)).map(([file, held]) => ({ file, lines: held }))
  files.sort((a, b) => b.lines.size - a.lines.size || comparePaths(a.file, b.file))
  return { files, incomplete: asked.timed_out, complaints: await formatComplaints(context, path, asked.complaints) }
}
