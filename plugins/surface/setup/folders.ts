import { existsSync, readFileSync, rmdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { writeStateSync } from '../../../core/system/index.js'

// A client may be set up before it has a folder. What had to be made for its settings is noted in the user's home, so that `--undo` takes
// that away and nothing else. What cannot be noted stays: an empty folder is no harm.

/** The folders above a file that are not there, the innermost first. */
export function missingFolders(file: string): string[] {
  const folder = dirname(file)
  return existsSync(folder) ? [] : [folder, ...missingFolders(folder)]
}

/** Notes folders that were made. */
export function noteFolders(home: string, folders: readonly string[]): void {
  if (folders.length > 0) note(home, [...new Set([...noted(home), ...folders])])
}

/** Removes of the folders above a file those that were made for it, as far as they are empty. */
export function removeFolders(home: string, file: string): void {
  const made = noted(home)
  const gone: string[] = []
  for (let folder = dirname(file); made.includes(folder) && isRemoved(folder); folder = dirname(folder))
    gone.push(folder)
  if (gone.length > 0)
    note(
      home,
      made.filter((folder) => !gone.includes(folder)),
    )
}

function isRemoved(folder: string): boolean {
  try {
    rmdirSync(folder)
    return true
  } catch {
    return false
  }
}

const noteFile = (home: string): string => join(home, 'setup_folders.json')

function noted(home: string): string[] {
  try {
    const found: unknown = JSON.parse(readFileSync(noteFile(home), 'utf8'))
    return Array.isArray(found) ? found.filter((one) => typeof one === 'string') : []
  } catch {
    return []
  }
}

function note(home: string, folders: readonly string[]): void {
  try {
    writeStateSync(noteFile(home), `${JSON.stringify(folders)}\n`)
  } catch {
    // See above.
  }
}
