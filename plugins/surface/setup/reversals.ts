import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { isObject } from '../../../core/shapes/index.js'
import { writeStateSync } from '../../../core/system/index.js'
import { createReversal, revertText, type FileDraft, type Reversal } from '../../lib/own_files/index.js'

// The user's home keeps what setup replaced in each settings file, so that `--undo` restores the file byte by byte.

const resolveNoteFile = (home: string): string => join(home, 'setup_changes.json')

function readNotes(home: string): Record<string, Reversal> {
  try {
    const found: unknown = JSON.parse(readFileSync(resolveNoteFile(home), 'utf8'))
    return isObject(found) ? (found as unknown as Record<string, Reversal>) : {}
  } catch {
    return {}
  }
}

/** Returns the text before setup changed it; `undefined` if it has changed since, or was not there before. */
export function findOriginal(home: string, key: string, now: string | undefined): string | undefined {
  const notes = readNotes(home)
  return Object.hasOwn(notes, key) ? revertText(now, notes[key]!) : undefined
}

/** A change of settings; `original` is the text before our entry was in it. */
export interface SetupDraft extends FileDraft {
  /** The file and the place of our entry in it: a file may hold the server and the agent. */
  key: string
  original?: string | undefined
}

/** Records a change; without an original text, removes the record of the file. */
export function noteChange(home: string, { key, after, original }: SetupDraft): void {
  const { [key]: _, ...others } = readNotes(home)
  const isKept = original !== undefined && after !== undefined
  const notes = { ...others, ...(isKept && { [key]: createReversal(original, after) }) }
  try {
    if (Object.keys(notes).length === 0) rmSync(resolveNoteFile(home), { force: true })
    else writeStateSync(resolveNoteFile(home), `${JSON.stringify(notes)}\n`)
  } catch {
    // Without a record, the undo removes the entry from the text.
  }
}
