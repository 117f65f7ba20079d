import { existsSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Handle } from '../../../core/index.js'
import { createSlotError, createTempFolder } from '../../lib/base/index.js'

export interface Linked {
  folder: string
  /** As `0.ts`, each with the extension of its file, in the order of the handles. */
  names: string[]
  /** An empty file, so that a program with no file to read still looks at what it is asked. */
  empty: string
}

/**
 * Links the handles for as long as `use` runs. Throws VT_SEARCH_FAILED where no folder can be made.
 * In one go: a link takes 30 µs, and to wait for each costs many times that beside a busy thread pool.
 */
export async function withLinks<T>(
  handles: { handle: Handle; extension: string }[],
  extension: string,
  use: (linked: Linked) => Promise<T>,
): Promise<T> {
  const standing = standingLinks(handles, extension)
  if (standing) return use(standing)
  const folder = makeFolder()
  try {
    const names = handles.map((file, index) => `${index}.${file.extension}`)
    writeFileSync(join(folder, emptyName(extension)), '')
    for (const [index, { handle }] of handles.entries()) symlinkSync(handle.ref, join(folder, names[index]!))
    return await use({ folder, names, empty: emptyName(extension) })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const emptyName = (extension: string): string => `empty.${extension}`

/** Links that stay: each leads to a descriptor of this process, whatever that has open when it is followed. */
interface Standing {
  folder: string
  names: Set<string>
  until: number
}
let standing: Standing | undefined
/** Other names than the usual endings of files are not kept. */
const mostStanding = 4_000
/** Who clears temporary folders takes what has not changed for long. */
const longest_ms = 3_600_000

/** Names of links that stand, `undefined` where a handle is no descriptor to be reached by a path. */
function standingLinks(handles: { handle: Handle; extension: string }[], extension: string): Linked | undefined {
  const numbers = handles.map(({ handle }) => /^\/proc\/\d+\/fd\/(\d+)$/.exec(handle.ref)?.[1])
  if (numbers.includes(undefined)) return undefined
  if (
    !standing ||
    Date.now() > standing.until ||
    dirname(standing.folder) !== tmpdir() ||
    !existsSync(standing.folder)
  ) {
    if (!standing) process.once('exit', () => standing && rmSync(standing.folder, { recursive: true, force: true }))
    // One whose links a program may still read is swept when this process has gone.
    standing = { folder: makeFolder(), names: new Set(), until: Date.now() + longest_ms }
  }
  const { folder, names } = standing
  if (names.size + handles.length > mostStanding) return undefined
  const once = (name: string, make: (path: string) => void): string => {
    if (!names.has(name)) make(join(folder, name))
    names.add(name)
    return name
  }
  const empty = once(emptyName(extension), (path) => writeFileSync(path, ''))
  return {
    folder,
    empty,
    names: handles.map((file, index) =>
      once(`${numbers[index]}.${file.extension}`, (path) => symlinkSync(file.handle.ref, path)),
    ),
  }
}

function makeFolder(): string {
  try {
    return createTempFolder('links')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw createSlotError('VT_SEARCH_FAILED', `No temporary folder can be made in '${tmpdir()}' (${code}).`, {
      hint: 'Make room there, or name another folder in TMPDIR.',
    })
  }
}
