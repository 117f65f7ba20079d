import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { findLanguage, type LanguageServerDefinition } from './definition.js'

/** Files and folders that one scan visits, at most. */
const MAX_ENTRIES = 20_000

/** The versions of the files that a server reads, by path from the workspace. */
export interface DiskState {
  versions: Map<string, string>
  /** There are more files than a scan visits. */
  partial: boolean
  /** The beginning of the scan, in milliseconds since 1970. */
  at: number
}
export type DiskChange = 'created' | 'changed' | 'deleted'

/**
 * Reads the versions of all files that concern a server. A scan before each use detects the changes of all programs,
 * without a watcher whose events come late. Hidden folders and `node_modules` are left out.
 */
export function scanDisk(workspace: string, definition: LanguageServerDefinition): DiskState {
  const at = Date.now()
  const versions = new Map<string, string>()
  const names = new Set([...(definition.root_markers ?? []), ...(definition.restart_files ?? [])])
  const folders = ['']
  let left = MAX_ENTRIES
  for (let folder = folders.pop(); folder !== undefined && left > 0; folder = folders.pop()) {
    for (const entry of listEntries(join(workspace, folder))) {
      if (--left <= 0) break
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`
      if (entry.isDirectory()) {
        if (entry.name !== 'node_modules' && !entry.name.startsWith('.')) folders.push(path)
      } else if (names.has(entry.name) || path.endsWith('.json') || findLanguage(definition, path) !== undefined) {
        const version = readDiskVersion(join(workspace, path))
        if (version !== undefined) versions.set(path, version)
      }
    }
  }
  return { versions, partial: left <= 0, at }
}

/** Returns a text that changes with a file; nothing for a missing file. */
export function readDiskVersion(file: string): string | undefined {
  try {
    const stat = statSync(file, { throwIfNoEntry: false })
    return stat && `${stat.ino} ${stat.mtimeMs} ${stat.ctimeMs} ${stat.size}`
  } catch {
    return undefined
  }
}

/** Times of files can differ from the clock by this many milliseconds. */
const CLOCK_STEP_MS = 20
/** Returns whether a file was changed or removed after a time, or shortly before it. */
export function isNewerThan(file: string, at: number): boolean {
  const stat = statSync(file, { throwIfNoEntry: false })
  return stat === undefined || Math.max(stat.mtimeMs, stat.ctimeMs) >= at - CLOCK_STEP_MS
}

/** Lists the differences of two states. Where one of them is partial, only changes of known files count. */
export function compareDisk(before: DiskState, after: DiskState): Map<string, DiskChange> {
  const changes = new Map<string, DiskChange>()
  const whole = !before.partial && !after.partial
  for (const [path, version] of after.versions) {
    const earlier = before.versions.get(path)
    if (earlier === undefined && whole) changes.set(path, 'created')
    else if (earlier !== undefined && earlier !== version) changes.set(path, 'changed')
  }
  if (whole) for (const path of before.versions.keys()) if (!after.versions.has(path)) changes.set(path, 'deleted')
  return changes
}

function listEntries(folder: string) {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch {
    return []
  }
}
