import type { JsonObject, Notice } from '../../../core/shapes/index.js'
import type { Context } from '../../../core/contract/index.js'
import type { Handle } from '../../../core/workspace/index.js'
import { formatNames, notice, pluralize } from '../base/index.js'
import { readExtension } from '../search/index.js'
import { walkEntries, type FoundEntry, type WalkOptions } from '../walk/index.js'

/** Numbers of entries that a search of a directory reached, and of those that it left out. */
export interface LeftOut {
  /** Entries that the search reached. */
  reached: number
  hidden: number
  ignored: number
  /** Files without text. */
  binary: number
  /** Names of folders that only a path or a glob includes. */
  excluded: string[]
  /** The figures are lower bounds. */
  incomplete: boolean
}

/** A search without a result may take this much longer to say why. */
const COUNT_SECONDS = 2

/** Counts the wanted entries below a directory: those that a search reaches, and those that it leaves out. */
export async function countLeftOut(
  context: Context,
  directory: Handle,
  discovery: WalkOptions,
  isWanted: (entry: FoundEntry) => boolean,
  binaryExtensions: string[] = [],
): Promise<LeftOut> {
  const { entries, excluded, incomplete } = await walkEntries(context, directory, discovery, {
    scope: 'marked',
    seconds: COUNT_SECONDS,
  })
  const left: LeftOut = {
    reached: 0,
    hidden: 0,
    ignored: 0,
    binary: 0,
    excluded: [...excluded].sort(),
    incomplete,
  }
  const binary = new Set(binaryExtensions)
  for (const entry of entries) {
    if (!isWanted(entry)) continue
    if (binary.has(readExtension(entry.path))) left.binary++
    else left[entry.left_out ?? 'reached']++
  }
  return left
}

/** Returns the fields of the call that includes what was left out; `undefined` if no field does. */
export function includeLeftOut({ hidden, ignored }: LeftOut): JsonObject | undefined {
  if (hidden + ignored === 0) return undefined
  return { ...(hidden > 0 && { include_hidden: true }), ...(ignored > 0 && { include_ignored: true }) }
}

/** Returns the notice of what was left out. `noun`: what is counted. */
export function listLeftOut(left: LeftOut, noun: [one: string, many: string]): Notice[] {
  const { hidden, ignored, binary, excluded, incomplete } = left
  const counts = [
    ...(hidden > 0 ? [pluralize(hidden, `hidden ${noun[0]}`, `hidden ${noun[1]}`)] : []),
    ...(ignored > 0 ? [pluralize(ignored, `ignored ${noun[0]}`, `ignored ${noun[1]}`)] : []),
    ...(binary > 0 ? [pluralize(binary, 'file without text', 'files without text')] : []),
  ]
  if (counts.length + excluded.length === 0 && !incomplete) return []
  const fields = Object.keys(includeLeftOut(left) ?? {})
  const parts = [
    ...(counts.length > 0 ? [`Left out: ${incomplete ? 'at least ' : ''}${counts.join(', ')}.`] : []),
    ...(fields.length > 0 ? [`Give ${fields.join(' and ')} to include them.`] : []),
    ...(binary > 0 ? ['Name a file without text in path or globs.'] : []),
    ...(excluded.length > 0 ? [`Left out unless path or globs name them: ${formatNames(excluded)}.`] : []),
    ...(incomplete ? ['The files were not counted to the end.'] : []),
  ]
  return [notice('VT_SEARCH_LEFT_OUT', parts.join(' '))]
}

/** Returns the notice of a search that reached no file, though none was left out. */
export function listNoFiles(
  { reached, hidden, ignored, binary, incomplete }: LeftOut,
  path: string,
  { globs = [], file_extensions = [] }: WalkOptions,
): Notice[] {
  if (reached + hidden + ignored + binary > 0 || incomplete) return []
  const place = path === '.' ? 'The workspace' : `'${path}'`
  const chosen = [
    ...(globs.length > 0 ? [`the globs ${formatNames(globs)}`] : []),
    ...(file_extensions.length > 0 ? [`the extensions ${formatNames(file_extensions)}`] : []),
  ]
  if (chosen.length === 0) return [notice('VT_SEARCH_NO_FILES', `${place} has no files, so nothing was searched.`)]
  const advice = globs.length === 0 ? '' : ` Globs are relative to path${path === '.' ? '' : ` '${path}'`}.`
  const brackets = globs.some((glob) => /[[{]/.test(glob))
    ? " '[ab]' is one character and '{a,b}' are alternatives; a backslash makes a bracket part of a name."
    : ''
  return [notice('VT_SEARCH_NO_FILES', `${place} has no file of ${chosen.join(' and ')}.${advice}${brackets}`)]
}
