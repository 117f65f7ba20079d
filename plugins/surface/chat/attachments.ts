import { statSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { givenImages } from '../../agent/cli/index.js'
import type { GivenImage } from '../../agent/index.js'
import { personsCall } from './persons_calls.js'
import type { Sitting } from './sitting.js'

const fresh_ms = 5000
const offered = 20
const most = 5000

/** What `@` offers: the files of the workspace, ignore files obeyed, the best ones for what was typed first. */
export function offeredFiles(
  face: () => Pick<Sitting, 'kernel' | 'agent'> | undefined,
): (query: string) => Promise<string[]> {
  let known: { paths: readonly string[]; at: number } | undefined
  return async (query) => {
    if (!known || performance.now() - known.at > fresh_ms) {
      const sitting = face()
      if (!sitting) return []
      const result = await personsCall(sitting, 'unified_search', {
        action: 'list',
        mode: 'recursive',
        entry_type: 'file',
        max_results: most,
      })
      const { items = [] } = (result.ok ? result.output : {}) as { items?: { path: string }[] }
      known = { paths: items.map(({ path }) => path), at: performance.now() }
    }
    const ranked = known.paths.flatMap((path) => {
      const rank = rankOf(path, query)
      return rank === undefined ? [] : [{ path, rank }]
    })
    return ranked
      .sort((a, b) => a.rank - b.rank || a.path.length - b.path.length || (a.path < b.path ? -1 : 1))
      .slice(0, offered)
      .map(({ path }) => path)
  }
}

/** How well a path fits, 0 being best: the begin of its name, a part of its name, a part of it, its letters in order. Nothing: not at all. */
function rankOf(path: string, query: string): number | undefined {
  const [whole, wanted] = [path.toLowerCase(), query.toLowerCase()]
  const name = whole.slice(whole.lastIndexOf('/') + 1)
  if (name.startsWith(wanted)) return 0
  if (name.includes(wanted)) return 1
  if (whole.includes(wanted)) return 2
  let at = -1
  for (const letter of wanted) if ((at = whole.indexOf(letter, at + 1)) < 0) return undefined
  return 3
}

const imagePath =
  /(?<=^|\s)@?(?:'([^'\n]{1,4096}\.(?:png|jpe?g|gif|webp))'|"([^"\n]{1,4096}\.(?:png|jpe?g|gif|webp))"|((?:\\.|[^\s'"\\]){1,4096}\.(?:png|jpe?g|gif|webp)))(?=\s|$)/gi

/** The images that a message names by their paths, as a terminal pastes a file that is dropped on it; a word that is no file is a word. */
export async function imagesNamed(text: string, { io, kernel, handle }: Sitting): Promise<GivenImage[]> {
  if (/^[/!]\w/.test(text) && !/^\/[^\s]*\//.test(text)) return []
  const paths = [...text.matchAll(imagePath)].flatMap(([, single, double, bare]) => {
    const said = single ?? double ?? bare!.replace(/\\(.)/g, '$1')
    const path = said.startsWith('file://')
      ? attempt(() => fileURLToPath(said))
      : said.startsWith('~/')
        ? join(io.env['HOME'] ?? '', said.slice(2))
        : resolve(kernel.workspace, said)
    return path !== undefined && statSync(path, { throwIfNoEntry: false })?.isFile() ? [path] : []
  })
  if (paths.length === 0) return []
  const images = (await givenImages({ image: [...new Set(paths)] }, io, 'The message')) ?? []
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
