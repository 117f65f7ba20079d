import { existsSync, readFileSync, rmdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { writeStateSync } from '../../../core/system/index.js'

// A client may be set up before its folder exists. The user's home records the folders that setup created, so that
// `--undo` removes only these folders. Unrecorded folders stay: an empty folder does no harm.

/** Lists the missing parent folders of a file, the innermost first. */
export function listMissingFolders(file: string): string[] {
  const folder = dirname(file)
  return existsSync(folder) ? [] : [folder, ...listMissingFolders(folder)]
}

/** Records created folders. */
export function noteFolders(home: string, folders: readonly string[]): void {
  if (folders.length > 0) writeNotes(home, [...new Set([...readNotes(home), ...folders])])
}

/** Removes the recorded parent folders of a file that are empty. */
export function removeFolders(home: string, file: string): void {
  const made = readNotes(home)
  const removed: string[] = []
  for (let folder = dirname(file); made.includes(folder) && tryRemove(folder); folder = dirname(folder))
    removed.push(folder)
  if (removed.length > 0)
    writeNotes(
      home,
      made.filter((folder) => !removed.includes(folder)),
    )
}

function tryRemove(folder: string): boolean {
  try {
    rmdirSync(folder)
    return true
  } catch {
    return false
  }
}

const resolveNoteFile = (home: string): string => join(home, 'setup_folders.json')

function readNotes(home: string): string[] {
  try {
    const found: unknown = JSON.parse(readFileSync(resolveNoteFile(home), 'utf8'))
    return Array.isArray(found) ? found.filter((one) => typeof one === 'string') : []
  } catch {
    return []
  }
}

function writeNotes(home: string, folders: readonly string[]): void {
  try {
    writeStateSync(resolveNoteFile(home), `${JSON.stringify(folders)}\n`)
  } catch {
    // Unrecorded folders stay.
  }
}
