/** Open files under names that a program can tell their language by: links to our handles, in a folder of their own. */
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Handle } from '../../core/index.js'
import { refusal } from './answer.js'

export interface Linked {
  folder: string
  /** `0.ts`, `1.ts`, …, in the order of the handles. */
  names: string[]
  /** An empty file, so that a program with no file to read still looks at what it is asked. */
  empty: string
}

/** Links the handles for as long as `use` runs. Throws VT_SEARCH_FAILED where no folder can be made. */
export async function withLinks<T>(handles: { handle: Handle; extension: string }[], extension: string, use: (linked: Linked) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'vtcode-')).catch((error: NodeJS.ErrnoException) => {
    throw refusal('VT_SEARCH_FAILED', `No temporary folder can be made in '${tmpdir()}' (${error.code}).`, { hint: 'Make room there, or name another folder in TMPDIR.' })
  })
  try {
    const empty = `empty.${extension}`
    await writeFile(join(folder, empty), '')
    const names = handles.map((file, index) => `${index}.${file.extension}`)
    for (const [index, { handle }] of handles.entries()) await symlink(handle.ref, join(folder, names[index]!))
    return await use({ folder, names, empty })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
