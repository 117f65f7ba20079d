import { statSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readImages } from '../../agent/cli/index.js'
import type { GivenImage } from '../../agent/index.js'
import { callAsUser } from './call_as_user.js'
import type { ChatSession } from './chat_session.js'

const CACHE_MS = 5000
const MAX_OFFERED = 20
const MAX_LISTED = 5000

/** Returns the completion of `@`: files of the workspace that are not ignored, best matches first. */
export function createFileCompletion(
  chat: () => Pick<ChatSession, 'kernel' | 'agent'> | undefined,
): (query: string) => Promise<string[]> {
  let known: { paths: readonly string[]; at: number } | undefined
  return async (query) => {
    if (!known || performance.now() - known.at > CACHE_MS) {
      const sitting = chat()
      if (!sitting) return []
      const result = await callAsUser(sitting, 'unified_search', {
        action: 'list',
        mode: 'recursive',
        entry_type: 'file',
        max_results: MAX_LISTED,
      })
      const { items = [] } = (result.ok ? result.output : {}) as { items?: { path: string }[] }
      known = { paths: items.map(({ path }) => path), at: performance.now() }
    }
    const ranked = known.paths.flatMap((path) => {
      const rank = rankPath(path, query)
      return rank === undefined ? [] : [{ path, rank }]
    })
    return ranked
      .sort((a, b) => a.rank - b.rank || a.path.length - b.path.length || (a.path < b.path ? -1 : 1))
      .slice(0, MAX_OFFERED)
      .map(({ path }) => path)
  }
}

/**
 * Ranks a path: 0 name starts with the query, 1 name contains it, 2 path contains it, 3 letters in order; else
 * `undefined`.
 */
function rankPath(path: string, query: string): number | undefined {
  const [whole, wanted] = [path.toLowerCase(), query.toLowerCase()]
  const name = whole.slice(whole.lastIndexOf('/') + 1)
  if (name.startsWith(wanted)) return 0
  if (name.includes(wanted)) return 1
  if (whole.includes(wanted)) return 2
  let at = -1
  for (const letter of wanted) if ((at = whole.indexOf(letter, at + 1)) < 0) return undefined
  return 3
}

const EXTENSION = '\\.(?:png|jpe?g|gif|webp)'
const SINGLE_QUOTED = `'([^'\\n]{1,4096}${EXTENSION})'`
const DOUBLE_QUOTED = `"([^"\\n]{1,4096}${EXTENSION})"`
const UNQUOTED = `((?:\\\\.|[^\\s'"\\\\]){1,4096}${EXTENSION})`
const IMAGE_PATH = new RegExp(`(?<=^|\\s)@?(?:${SINGLE_QUOTED}|${DOUBLE_QUOTED}|${UNQUOTED})(?=\\s|$)`, 'gi')

/** Reads images that a message names by path, as a terminal pastes a dropped file. Ignores paths without a file. */
export async function readNamedImages(text: string, { io, kernel, handle }: ChatSession): Promise<GivenImage[]> {
  if (/^[/!]\w/.test(text) && !/^\/[^\s]*\//.test(text)) return []
  const paths = [...text.matchAll(IMAGE_PATH)].flatMap(([, single, double, bare]) => {
    const value = single ?? double ?? bare!.replace(/\\(.)/g, '$1')
    const path = value.startsWith('file://')
      ? attempt(() => fileURLToPath(value))
      : value.startsWith('~/')
        ? join(io.env['HOME'] ?? '', value.slice(2))
        : resolve(kernel.workspace, value)
    return path !== undefined && statSync(path, { throwIfNoEntry: false })?.isFile() ? [path] : []
  })
  if (paths.length === 0) return []
  const images = (await readImages({ image: [...new Set(paths)] }, io, 'The message')) ?? []
  if (images.length > 0)
    handle.send({
      type: 'commit',
      block: { kind: 'note', text: paths.map((path) => `  with the image ${basename(path)}`).join('\n') },
    })
  return images
}

function attempt<T>(what: () => T): T | undefined {
  try {
    return what()
  } catch {
    return undefined
  }
}
