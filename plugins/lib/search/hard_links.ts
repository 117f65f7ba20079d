import { rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Handle } from '../../../core/workspace/index.js'
import { slotRefusal, tempFolder } from '../base/index.js'

export interface Linked {
  folder: string
  /** `0.ts`, `1.ts`, …, in the order of the handles. */
  names: string[]
  /** An empty file, so that a program with no file to read still looks at what it is asked. */
  empty: string
}

/**
 * Links the handles for as long as `use` runs. Throws VT_SEARCH_FAILED where no folder can be made.
 * In one go: a link takes 30 µs, and to wait for each costs many times that beside a busy thread pool.
 */
export async function withLinks<T>(handles: { handle: Handle; extension: string }[], extension: string, use: (linked: Linked) => Promise<T>): Promise<T> {
  const folder = makeFolder()
  try {
    const empty = `empty.${extension}`
    writeFileSync(join(folder, empty), '')
    const names = handles.map((file, index) => `${index}.${file.extension}`)
    for (const [index, { handle }] of handles.entries()) symlinkSync(handle.ref, join(folder, names[index]!))
    return await use({ folder, names, empty })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function makeFolder(): string {
  try {
    return tempFolder('links')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw slotRefusal('VT_SEARCH_FAILED', `No temporary folder can be made in '${tmpdir()}' (${code}).`, { hint: 'Make room there, or name another folder in TMPDIR.' })
  }
}
