import { existsSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Context } from '../../../core/contract/index.js'
import type { Handle } from '../../../core/workspace/index.js'
import { createSlotError, createTempFolder } from '../base/index.js'
import { createLineReader } from '../process/index.js'
import { MAX_PARSED_BYTES, PARSER_MEMORY_BYTES } from '../search/index.js'
import { runAstGrep, type AstGrepEnd } from './ast_grep.js'
import { InstallProblem } from './ast_grep_install.js'

export interface Linked {
  folder: string
  /** Names such as `0.ts`, with the extension of each file, in the order of the handles. */
  names: string[]
  /** An empty file, so that a program without files still checks its arguments. */
  empty: string
}

/**
 * Links the handles while `use` runs. Throws VT_SEARCH_FAILED if no folder can be created. Synchronous: a link takes
 * 30 µs, and an asynchronous call costs many times that with a busy thread pool.
 */
export async function withLinks<T>(
  handles: { handle: Handle; extension: string }[],
  extension: string,
  use: (linked: Linked) => Promise<T>,
): Promise<T> {
  const reused = reuseLinks(handles, extension)
  if (reused) return use(reused)
  const folder = makeFolder()
  try {
    const names = handles.map((file, index) => `${index}.${file.extension}`)
    writeFileSync(join(folder, toEmptyName(extension)), '')
    for (const [index, { handle }] of handles.entries()) symlinkSync(handle.ref, join(folder, names[index]!))
    return await use({ folder, names, empty: toEmptyName(extension) })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const toEmptyName = (extension: string): string => `empty.${extension}`

/** Links that stay between calls: each leads to a descriptor number of this process. */
interface KeptLinks {
  folder: string
  names: Set<string>
  until: number
}
let keptLinks: KeptLinks | undefined
/** Limit of links that stay. */
const MAX_KEPT = 4_000
/** Age after which the folder is replaced, because system services remove old temporary files. */
const MAX_AGE_MS = 3_600_000

/** Returns links that stay; `undefined` if a handle has no path to its descriptor. */
function reuseLinks(handles: { handle: Handle; extension: string }[], extension: string): Linked | undefined {
  const numbers = handles.map(({ handle }) => /^\/proc\/\d+\/fd\/(\d+)$/.exec(handle.ref)?.[1])
  if (numbers.includes(undefined)) return undefined
  if (
    !keptLinks ||
    Date.now() > keptLinks.until ||
    dirname(keptLinks.folder) !== tmpdir() ||
    !existsSync(keptLinks.folder)
  ) {
    if (!keptLinks) process.once('exit', () => keptLinks && rmSync(keptLinks.folder, { recursive: true, force: true }))
    // A program may still read the old folder, which is removed after the end of this process.
    keptLinks = { folder: makeFolder(), names: new Set(), until: Date.now() + MAX_AGE_MS }
  }
  const { folder, names } = keptLinks
  if (names.size + handles.length > MAX_KEPT) return undefined
  const addOnce = (name: string, make: (path: string) => void): string => {
    if (!names.has(name)) make(join(folder, name))
    names.add(name)
    return name
  }
  const empty = addOnce(toEmptyName(extension), (path) => writeFileSync(path, ''))
  return {
    folder,
    empty,
    names: handles.map((file, index) =>
      addOnce(`${numbers[index]}.${file.extension}`, (path) => symlinkSync(file.handle.ref, path)),
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

/** Runs the program on linked files, with a limit of memory where one of them is large. */
export async function runOnLinks(
  context: Context,
  args: readonly string[],
  opened: readonly { handle: Handle }[],
  { folder, names, empty }: Linked,
  timeoutMs: number,
  take: (line: Buffer) => void | false,
): Promise<{ answered?: AstGrepEnd | undefined; missing?: string }> {
  const isLarge = opened.some(({ handle }) => handle.stat.bytes > MAX_PARSED_BYTES)
  const how = { cwd: folder, seconds: timeoutMs / 1000, ...(isLarge && { resident: PARSER_MEMORY_BYTES }) }
  const files = names.length > 0 ? names : [empty]
  try {
    return {
      answered: await runAstGrep(context, [...args, '--', ...files], how, createLineReader(take, 67_108_864).take),
    }
  } catch (error) {
    if (error instanceof InstallProblem) return { missing: error.message }
    throw error
  }
}
