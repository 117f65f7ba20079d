import type { TextEdit, WorkspaceEdit } from 'vscode-languageserver-protocol'
import { isObject, type VtError } from '../../../core/shapes/index.js'
import { visibleLine } from '../../../core/text/index.js'
import { createSlotError } from '../base/index.js'
import { toWorkspacePath } from '../language_server/index.js'
import { isPlace } from './target.js'

/** The edits of one file. */
export interface FileEdits {
  path: string
  edits: TextEdit[]
}

/** Files and edits of one change, at most. */
const MAX = { files: 2_000, edits: 100_000 }

/**
 * Returns the edits of a server by file. Throws VT_RENAME_REFUSED for an edit outside of the workspace, for created,
 * renamed or deleted files, and for anything malformed.
 */
export function readWorkspaceEdit(answer: unknown, workspace: string): FileEdits[] {
  const { changes, documentChanges } = (answer ?? {}) as Partial<WorkspaceEdit>
  const parts: [uri: unknown, edits: unknown][] = Array.isArray(documentChanges)
    ? documentChanges.map((part: unknown) => {
        const { kind, textDocument, edits } = (part ?? {}) as Record<string, unknown>
        if (kind !== undefined) throw createRenameError(`the server would also ${visibleLine(String(kind))} a file`)
        return [isObject(textDocument) ? textDocument['uri'] : undefined, edits]
      })
    : Object.entries(isObject(changes) ? changes : {})
  const files = new Map<string, TextEdit[]>()
  let count = 0
  for (const [uri, edits] of parts) {
    const path = toWorkspacePath(workspace, uri)
    if (path === undefined) throw createRenameError(`the server would change ${visibleLine(String(uri)).slice(0, 200)}`)
    if (!Array.isArray(edits) || !edits.every(isTextEdit))
      throw createRenameError(`its edits of ${visibleLine(path)} are invalid`)
    count += edits.length
    if (edits.length > 0) files.set(path, [...(files.get(path) ?? []), ...edits])
  }
  if (files.size > MAX.files || count > MAX.edits)
    throw createRenameError(`${files.size} files and ${count} edits are more than one change may have`)
  return [...files].map(([path, edits]) => ({ path, edits }))
}

const isTextEdit = (edit: unknown): edit is TextEdit => {
  const { newText, range } = (edit ?? {}) as Partial<TextEdit>
  return typeof newText === 'string' && isPlace(range?.start) && isPlace(range.end)
}

/** Returns a text with edits. Throws VT_RENAME_REFUSED for edits that overlap or lie outside of the text. */
export function applyTextEdits(text: string, { path, edits }: FileEdits): string {
  const starts = listLineStarts(text)
  const toOffset = ({ line, character }: { line: number; character: number }): number => {
    const start = starts[line]
    const end = starts[line + 1] ?? text.length
    if (start === undefined || start + character > end)
      throw createRenameError(`an edit lies outside of ${visibleLine(path)}`)
    return start + character
  }
  const ordered = edits
    .map(({ range, newText }) => ({ from: toOffset(range.start), to: toOffset(range.end), newText }))
    .sort((a, b) => a.from - b.from || a.to - b.to)
  let result = ''
  let at = 0
  for (const { from, to, newText } of ordered) {
    if (from < at || to < from) throw createRenameError(`edits of ${visibleLine(path)} overlap`)
    result += text.slice(at, from) + newText
    at = to
  }
  return result + text.slice(at)
}

/** Lists the offsets of all lines. The protocol knows the line ends \n, \r\n and \r. */
function listLineStarts(text: string): number[] {
  return [0, ...[...text.matchAll(/\r\n|\n|\r/g)].map(({ index, 0: end }) => index + end.length)]
}

/** Returns the error of a rename that changed nothing. `reason` completes the sentence. */
export const createRenameError = (reason: string): VtError =>
  createSlotError('VT_RENAME_REFUSED', `Nothing was renamed: ${reason}.`)
