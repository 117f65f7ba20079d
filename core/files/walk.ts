import { readlinkSync } from 'node:fs'
import { isAbsolute } from 'node:path'
import { problem, type VtError } from '../shapes/index.js'
import { encodeName, errno, toPathError, splitPath, escapePath } from '../system/index.js'
import type { Directory, DirectoryEntry } from './directory.js'

/** The directory `at` that a walk must have reached when `left` names of its path remain. */
export interface ExpectedPlace {
  readonly left: number
  readonly at: string
}

/** The place that a path leads to: an entry of an open directory. The caller closes it. */
export interface Location {
  readonly directory: Directory
  /** The last name; `.` for the directory itself. */
  readonly name: string
  /** Workspace-relative, after following links. */
  readonly resolved: string
  /** The entry at arrival; never a link with `follow`. */
  readonly entry: DirectoryEntry | undefined
  close(): void
}

/** The limit of links on one path, which is Linux's. */
const MAX_LINKS = 40

/** The state of a walk: the directories that it has entered and the number of links. */
interface WalkState {
  readonly root: Directory
  readonly path: string
  readonly roots: readonly string[]
  readonly stack: { directory: Directory; name: string }[]
  links: number
}
const currentDirectory = ({ root, stack }: WalkState): Directory => stack.at(-1)?.directory ?? root
const leaveDirectory = ({ stack }: WalkState): void => stack.pop()?.directory.close()
function leaveAll(way: WalkState): void {
  while (way.stack.length > 0) leaveDirectory(way)
}

/**
 * Walks a normalised path from the root, name by name, so that a swapped folder or link cannot lead elsewhere. The
 * targets of links are walked in the same way, which keeps them inside; a link in the last segment is followed only
 * with `follow`.
 * `roots` are the
 * absolute spellings of the root that a link may begin with. Throws VT_FILE_STALE for a path that does not lead where
 * `expected`
 * says; VT_PATH_OUTSIDE, VT_PATH_LOOP, VT_PATH_NOT_FOUND, VT_PATH_NOT_DIRECTORY and the other refusals of the system.
 */
export function walk(
  root: Directory,
  path: string,
  roots: readonly string[],
  follow: boolean,
  expected?: ExpectedPlace,
): Location {
  const way: WalkState = { root, path, roots, stack: [], links: 0 }
  let todo = splitPath(path)
  try {
    for (;;) {
      // A link only adds names, so `left` names remain when the judged part of the path is done.
      if (expected && todo.length === expected.left && formatPath(way) !== expected.at) throw createMovedPathError(path)
      const name = todo[0] ?? '.'
      const rest = todo.slice(1)
      if (name === '.' && rest.length > 0) {
        todo = rest
      } else if (name === '..') {
        if (way.stack.length === 0) throw outsideError(path)
        leaveDirectory(way)
        todo = rest
      } else if (rest.length > 0) {
        const next = tryOpenDirectory(currentDirectory(way), name)
        if (next) {
          way.stack.push({ directory: next, name })
          todo = rest
        } else todo = expandLink(way, name, rest)
      } else {
        const entry = currentDirectory(way).peek(name)
        if (!follow || !entry?.stats.isSymbolicLink()) return arrive(way, name, entry, expected)
        entry.close()
        todo = expandLink(way, name, rest)
      }
    }
  } catch (error) {
    leaveAll(way)
    throw toPathError(error, path)
  }
}

function arrive(
  way: WalkState,
  name: string,
  entry: DirectoryEntry | undefined,
  expected: ExpectedPlace | undefined,
): Location {
  const resolved = formatPath(way, name)
  if (expected?.left === 0 && resolved !== expected.at) {
    entry?.close()
    throw createMovedPathError(way.path)
  }
  return {
    directory: currentDirectory(way),
    name,
    resolved,
    entry,
    close() {
      entry?.close()
      leaveAll(way)
    },
  }
}

/** Returns the workspace-relative path of the directory that a walk has reached, or of `name` in it. */
const formatPath = ({ stack }: WalkState, name = '.'): string =>
  [...stack.map((step) => step.name), name].filter((part) => part !== '.').join('/') || '.'

/**
 * Returns the names that remain after the link `name` is replaced by its target. An absolute target begins at the
 * root again. A name that is no longer a link is walked again.
 */
function expandLink(way: WalkState, name: string, rest: string[]): string[] {
  const target = readLink(currentDirectory(way), name)
  if (target === undefined && rest.length > 0 && !isPassable(currentDirectory(way), name)) {
    throw problem('VT_PATH_NOT_DIRECTORY', {
      path: escapePath([...way.stack.map((step) => step.name), name].join('/')),
    })
  }
  if (++way.links > MAX_LINKS) throw problem('VT_PATH_LOOP', { path: escapePath(way.path) })
  if (target === undefined) return [name, ...rest]
  if (!isAbsolute(target)) return [...splitTarget(target), ...rest]
  const base = way.roots.find((candidate) => target === candidate || target.startsWith(candidate.replace(/\/?$/, '/')))
  if (base === undefined) throw outsideError(way.path)
  leaveAll(way)
  return [...splitTarget(target.slice(base.length)), ...rest]
}

/** Splits the target of a link. A final `/` or `.` stays: it requires a directory. */
const splitTarget = (target: string): string[] =>
  target
    .replace(/\/$/, '/.')
    .split('/')
    .filter((name) => name !== '')

const outsideError = (path: string) => problem('VT_PATH_OUTSIDE', { path: escapePath(path) })

/** Opens a directory inside `directory`; returns `undefined` for anything else, links too. */
function tryOpenDirectory(directory: Directory, name: string): Directory | undefined {
  try {
    return directory.openDirectory(name)
  } catch (error) {
    if (errno(error) === 'ENOTDIR' || errno(error) === 'ELOOP') return undefined
    throw error
  }
}

/** Returns whether a path can continue through an entry: a directory or a link. */
function isPassable(directory: Directory, name: string): boolean {
  const entry = directory.peek(name)
  entry?.close()
  return entry !== undefined && (entry.stats.isDirectory() || entry.stats.isSymbolicLink())
}

/** Returns the target of a link, or `undefined` for any other entry. */
function readLink(directory: Directory, name: string): string | undefined {
  try {
    return encodeName(readlinkSync(directory.pathTo(name), { encoding: 'buffer' }))
  } catch (error) {
    if (errno(error) === 'EINVAL') return undefined
    throw error
  }
}

export const createMovedPathError = (path: string): VtError =>
  problem(
    'VT_FILE_STALE',
    { path: escapePath(path) },
    {
      hint: 'A link or a folder of the path changed after the call was checked. Check the path, then repeat the call.',
    },
  )
