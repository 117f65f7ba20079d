import type { Workspace } from '../../../core/workspace/index.js'
import type { OpenDocument } from './documents.js'
import type { Report } from './reports.js'

/** Largest text of a document, in bytes. */
export const MAX_DOCUMENT_BYTES = 4_194_304

/** The use of a server by one call. */
export interface ServerUse {
  workspace: Workspace
  signal: AbortSignal
}
/** The parts of a question to a server. */
export interface ServerQuestion {
  send: (method: string, params: object) => Promise<unknown>
  document: OpenDocument
  /** Returns whether a file may have changed since the server knows it. */
  hasChanged: (path: string) => boolean
}
/** A changed file, with its text before the change where it had one. */
export interface EditedFile {
  path: string
  before?: string
  /** The path that the file had before. */
  from?: string
}
export interface FileReports {
  path: string
  reports: Report[]
}

/** Returns the text of a file for a server; nothing for a hidden, missing or large one. */
export async function readDocument(workspace: Workspace, path: string): Promise<string | undefined> {
  if (!workspace.isVisible(path)) return undefined
  return workspace.readText(path, { max_bytes: MAX_DOCUMENT_BYTES }).catch(() => undefined)
}
