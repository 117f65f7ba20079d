import { linkSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The largest number of names of one file that file systems in use take. */
const MOST_NAMES = 30_000

/** Fills a new folder with `count` empty files, named by `nameOf`. Most are further names of one file, which cost a tenth of a file. */
export function makeManyFiles(folder: string, count: number, nameOf: (index: number) => string = String): void {
  mkdirSync(folder, { recursive: true })
  let first = ''
  for (let index = 0; index < count; index++) {
    const path = join(folder, nameOf(index))
    if (index % MOST_NAMES === 0) writeFileSync((first = path), '')
    else linkSync(first, path)
  }
}
