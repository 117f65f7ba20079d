import { readlinkSync } from 'node:fs'
import { isAbsolute } from 'node:path'
import { encodeName, errno, problem, systemRefusal, segments, shownPath } from '../base/index.js'
import type { Directory, DirectoryEntry } from './directory.js'

/** Where a path leads: an entry of a directory that is being stood in. Close it after use. */
export interface Spot {
  readonly directory: Directory
  /** The last name; `.` when the spot is the directory itself. */
  readonly name: string
  /** Workspace-relative, after following links. */
  readonly resolved: string
  /** What was there on arrival; never a link if links were followed. */
  readonly entry: DirectoryEntry | undefined
  close(): void
}

/** Links one path may pass through, as on Linux. */
const mostLinks = 40

/**
 * Walks a normalised path from the root, name by name, so that nothing swapped on the way leads elsewhere. Links are read and
 * walked themselves, which keeps them inside; one in the last segment only with `follow`. `roots` are the absolute spellings of
 * the root that a link may begin with. Throws VT_PATH_OUTSIDE, VT_PATH_LOOP, VT_PATH_NOT_FOUND, VT_PATH_NOT_DIRECTORY and the like.
 */
export function walk(root: Directory, path: string, roots: readonly string[], follow: boolean): Spot {
  const stack: { directory: Directory; name: string }[] = []
  const here = () => stack.at(-1)?.directory ?? root
  const leave = () => stack.pop()?.directory.close()
  const close = () => {
    while (stack.length > 0) leave()
  }
  let links = 0
  let todo = segments(path)
  try {
    for (;;) {
      const name = todo[0] ?? '.'
      const rest = todo.slice(1)
      if (name === '.' && rest.length > 0) {
        todo = rest
      } else if (name === '..') {
        if (stack.length === 0) throw outside(path)
        leave()
        todo = rest
      } else if (rest.length > 0) {
        const next = enter(here(), name)
        if (next) {
          stack.push({ directory: next, name })
          todo = rest
        } else todo = linked(name, rest)
      } else {
        const entry = here().peek(name)
        if (!follow || !entry?.stats.isSymbolicLink()) return arrive(name, entry)
        entry.close()
        todo = linked(name, rest)
      }
    }
  } catch (error) {
    close()
    throw systemRefusal(error, path)
  }

  function arrive(name: string, entry: DirectoryEntry | undefined): Spot {
    const names = [...stack.map((step) => step.name), name].filter((part) => part !== '.')
    return {
      directory: here(),
      name,
      resolved: names.join('/') || '.',
      entry,
      close() {
        entry?.close()
        close()
      },
    }
  }

  /** The way on through the link `name`; an absolute one begins at the root again. What is a link no more is looked at once more. */
  function linked(name: string, rest: string[]): string[] {
    const target = readLink(here(), name)
    if (target === undefined && rest.length > 0 && !leadsOn(here(), name)) {
      throw problem('VT_PATH_NOT_DIRECTORY', { path: shownPath([...stack.map((step) => step.name), name].join('/')) })
    }
    if (++links > mostLinks) throw problem('VT_PATH_LOOP', { path: shownPath(path) })
    if (target === undefined) return [name, ...rest]
    if (!isAbsolute(target)) return [...steps(target), ...rest]
    const base = roots.find((candidate) => target === candidate || target.startsWith(candidate.replace(/\/?$/, '/')))
    if (base === undefined) throw outside(path)
    close()
    return [...steps(target.slice(base.length)), ...rest]
  }
}

/** The names of a link's target; a final `/` or `.` stays, as it asks for a directory. */
const steps = (target: string): string[] => target.replace(/\/$/, '/.').split('/').filter((name) => name !== '')

const outside = (path: string) => problem('VT_PATH_OUTSIDE', { path: shownPath(path) })

/** Stands in a directory inside `directory`; `undefined` for what is no directory, be it a link. */
function enter(directory: Directory, name: string): Directory | undefined {
  try {
    return directory.enter(name)
  } catch (error) {
    if (errno(error) === 'ENOTDIR' || errno(error) === 'ELOOP') return undefined
    throw error
  }
}

/** Whether a path could go on through an entry: it is a directory or a link. */
function leadsOn(directory: Directory, name: string): boolean {
  const entry = directory.peek(name)
  entry?.close()
  return entry !== undefined && (entry.stats.isDirectory() || entry.stats.isSymbolicLink())
}

/** Where a link points; `undefined` for what is no link. */
function readLink(directory: Directory, name: string): string | undefined {
  try {
    const target = encodeName(readlinkSync(directory.at(name), { encoding: 'buffer' }))
    return process.platform === 'win32' ? target.replaceAll('\\', '/') : target
  } catch (error) {
    if (errno(error) === 'EINVAL') return undefined
    throw error
  }
}
