import { encodeName, type Context } from '../../../core/index.js'
import { comparePaths, createSlotError } from '../../lib/base/index.js'
import { createGlobFilter } from '../../lib/globs/index.js'
import { createLineReader, type Consumer } from '../../lib/process/index.js'
import {
  filterExisting,
  findNamedFiles,
  MAX_SEARCHED_BYTES,
  runRipgrep,
  formatComplaints,
  separateBinaryFiles,
  toBinaryFlags,
  withWalk,
  type RipgrepEnd,
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
  const named = await findNamedFiles(context, directory, discovery)
  const chosen = createGlobFilter(path, discovery)
  const found = createNameReader(path === '.' ? '' : `${path}/`)
  const patterns = names.flatMap((name) => ['-e', name])
  const asked = await withWalk(context.workspace, directory, discovery, (flags) =>
    runRipgrep(
      directory,
      [
        ...flags,
        ...toBinaryFlags(discovery),
        '--text',
        '--stats',
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
        ...named.roots.map((root) => `./${root}`),
      ],
      { signal: context.signal, seconds: TIMEOUT_SECONDS },
      found.take,
    ),
  )
  requireAnswer(asked, path, found)
  const there = await filterExisting(
    context,
    [...found.files.keys()].filter((file) => named.only?.has(file) !== false && chosen(file, false)),
  )
  const counted = there.map((file) => ({ file, count: found.files.get(file)!.size }))
  const { files: texts } = await separateBinaryFiles(context, counted, false)
  const files = texts.map(({ file }) => ({ file, lines: found.files.get(file)! }))
  files.sort((a, b) => b.lines.size - a.lines.size || comparePaths(a.file, b.file))
  return { files, incomplete: asked.timed_out, complaints: await formatComplaints(context, path, asked.complaints) }
}

interface FoundNames {
  take: Consumer
  /** First line of each name in each file. */
  files: Map<string, Map<string, number>>
  /** Returns whether the engine printed its totals, which come last. */
  isWhole(): boolean
}

/** Reads lines of `name NUL line-number : text`. */
function createNameReader(prefix: string): FoundNames {
  const files = new Map<string, Map<string, number>>()
  let whole = false
  const { take } = createLineReader((line) => {
    if (/^\d+ files searched$/.test(line.toString('latin1', 0, 40))) whole = true
    const nul = line.indexOf(0)
    const colon = line.indexOf(58, nul)
    if (nul < 0 || colon < 0) return
    const file = prefix + encodeName(line.subarray(line[0] === 46 && line[1] === 47 ? 2 : 0, nul))
    const held = files.get(file) ?? new Map<string, number>()
    const name = line.toString('utf8', colon + 1)
    if (!held.has(name)) held.set(name, Number(line.toString('latin1', nul + 1, colon)))
    files.set(file, held)
  })
  return { take, files, isWhole: () => whole }
}

/** Throws VT_SEARCH_ENGINE_MISSING for an engine that failed, VT_SEARCH_TIMEOUT for one that found nothing in time. */
function requireAnswer(
  asked: RipgrepEnd | undefined,
  path: string,
  { files, isWhole }: FoundNames,
): asserts asked is RipgrepEnd {
  const hasFailed = !asked || asked.heavy || (!isWhole() && !asked.timed_out)
  if (hasFailed || (asked.exit_code === 2 && files.size === 0))
    throw createSlotError('VT_SEARCH_ENGINE_MISSING', 'ripgrep is not installed here, or failed.')
  if (asked.timed_out && files.size === 0)
    throw createSlotError('VT_SEARCH_TIMEOUT', `Nothing was found in '${path}' within ${TIMEOUT_SECONDS} s.`, {
      retryable: true,
    })
}
