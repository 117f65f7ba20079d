import { problem } from '../../../core/shapes/index.js'
import type { Context } from '../../../core/contract/index.js'
import type { Handle } from '../../../core/workspace/index.js'
import type { Consumer } from '../process/index.js'
import type { WalkOptions } from '../walk/index.js'
import { toBinaryFlags } from './binary_files.js'
import type { NameReader } from './counts.js'
import { PatternProblem } from './pattern_problem.js'
import { SEARCH_TIMEOUT_SECONDS, toRipgrepFlags, type Pattern } from './pattern.js'
import { MAX_SEARCHED_BYTES, requireValidGlobs, runRipgrep, withWalk, type RipgrepEnd } from './ripgrep.js'

export interface SearchQuery extends Pattern, WalkOptions {
  /** File or directory. */
  path: string
  /** A file must match every pattern; otherwise a line must match one of them. */
  every?: boolean
  /** Files whose matches count. */
  only?: (file: string) => boolean
  /** Number of matches, the first in path order, whose positions are useful. */
  where?: number
  /** The search of a directory may stop when it has found more than `where` matches. */
  may_stop?: boolean
}
/** State of one search. */
export interface SearchState {
  readonly context: Context
  readonly query: SearchQuery
  readonly target: Handle
  readonly readName: NameReader
  /** Returns whether the matches of a file count. */
  isCounted: (file: string) => boolean
  /** Files and folders to search besides the target, relative to it. */
  readonly roots: string[]
  /** Files too large to be opened. */
  readonly skipped: Set<string>
  /** The process that searches. */
  pid: number
  /** A NUL byte is a character like others. */
  isText: boolean
  /** The engine needed too much memory. */
  isHeavy: boolean
}

/** Receives each file that is too large to open. */
export type OnSkipped = (name: Buffer) => void

/** Memory limit of a run that reports positions or does not check sizes. */
const MAX_RESIDENT_BYTES = MAX_SEARCHED_BYTES

/**
 * Bytes read by earlier runs below a directory, by device and inode. -Infinity where a file is too large. The oldest
 * entries are removed first.
 */
const readBytesByFolder = new Map<string, number>()
const MAX_KNOWN_FOLDERS = 1000

/**
 * Returns the bytes that a run without size checks may read below a directory: the known bytes plus the limit of one
 * file.
 */
export const computeReadAllowance = (target: Handle): number =>
  (readBytesByFolder.get(toFolderKey(target)) ?? 0) + MAX_SEARCHED_BYTES

/**
 * Returns whether a run without size checks may have opened a file that is too large. Records the bytes read by a run
 * with size checks.
 */
export function hasExceededAllowance(
  { target, skipped }: SearchState,
  asked: RipgrepEnd,
  bytes: number,
  onSkipped: OnSkipped | undefined,
): boolean {
  if (target.kind === 'file') return false
  if (!onSkipped) return asked.overLimit === true || bytes > computeReadAllowance(target)
  if (asked.timed_out) return false
  readBytesByFolder.set(toFolderKey(target), skipped.size > 0 ? -Infinity : bytes)
  if (readBytesByFolder.size > MAX_KNOWN_FOLDERS) readBytesByFolder.delete(readBytesByFolder.keys().next().value!)
  return false
}

const toFolderKey = ({ stat }: Handle): string => `${stat.dev}:${stat.ino}`

/** Runs ripgrep for a search. Without `onSkipped` the bytes that it may read are limited. */
export async function runQuery(
  state: SearchState,
  patterns: string[],
  how: string[],
  take: Consumer,
  onSkipped?: OnSkipped,
): Promise<RipgrepEnd | undefined> {
  const { context, query, target } = state
  const limits = {
    signal: context.signal,
    seconds: SEARCH_TIMEOUT_SECONDS,
    onStart: (pid: number) => (state.pid = pid),
  }
  const form = state.isText ? '--text' : '--binary'
  const args = [...how, form, '--null', '--with-filename', ...toRipgrepFlags({ ...query, patterns })]
  // The path of the handle cannot be replaced by another file and need not be valid UTF-8.
  if (target.kind === 'file') return runRipgrep('named files', [...args, '--', target.ref], limits, take)
  const asked = await withWalk(context.workspace, target, query, (flags) => {
    const places = ['--', './', ...state.roots.map((path) => `./${path}`)]
    const walk = [...args, ...flags, ...toBinaryFlags(query)]
    if (!onSkipped) {
      const maxUsage = { read: computeReadAllowance(target), resident: MAX_RESIDENT_BYTES }
      return runRipgrep(target, [...walk, ...places], { ...limits, maxUsage }, take)
    }
    const usageLimit = how.includes('--json') && { maxUsage: { read: Infinity, resident: MAX_RESIDENT_BYTES } }
    const sizes = ['--max-filesize', String(MAX_SEARCHED_BYTES)]
    return runRipgrep(target, [...walk, ...sizes, ...places], { ...limits, ...usageLimit }, take, (line) => {
      const [, name] = / ignoring (.*): \d+ bytes$/.exec(line) ?? []
      if (name !== undefined) onSkipped(Buffer.from(name))
    })
  })
  if (!asked?.heavy) return asked
  state.isHeavy = true
  return undefined
}

/** Complaints about a pattern. Any other reason for status 2 is a fault of the engine. */
const PATTERN_FAULT =
  /regex parse error|PCRE2: error compiling|could not be compiled|regex exceeds size limit|is not allowed in a regex/i

/**
 * Returns whether ripgrep searched. With searched files, status 2 is about single files. Throws PatternProblem,
 * VT_PATH_PERMISSION and VT_INPUT_INVALID for a fault of the query.
 */
export function hasSucceeded(asked: RipgrepEnd, query: SearchQuery, ran: boolean): boolean {
  if (asked.exit_code !== 2) return true
  const reason = asked.complaints.join('\n')
  const limit = /PCRE2: .*limit/.exec(reason)
  if (limit) throw new PatternProblem(limit[0])
  if (ran) return true
  requireValidGlobs(asked.complaints)
  if (/Permission denied \(os error 13\)/.test(reason))
    throw problem('VT_PATH_PERMISSION', { path: query.path, reason: 'permission denied' })
  if (PATTERN_FAULT.test(reason)) throw new PatternProblem(reason)
  // Without a reason, all files vanished during the search.
  return reason.trim() === ''
}
