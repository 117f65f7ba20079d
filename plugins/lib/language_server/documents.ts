import { fileURLToPath, pathToFileURL } from 'node:url'
import { join, relative } from 'node:path'
import { startDeadline } from '../../../core/system/index.js'
import { raceAbort } from '../base/index.js'
import type { ServerConnection } from './connection.js'
import { readReports, type Report, type ReportedText } from './reports.js'

/** Documents that are open at once. */
const MAX_OPEN = 32
/**
 * Times in milliseconds: the quiet time after reports without a version, the wait for reports of a text, and the wait
 * where the text before had none: typescript-language-server sends nothing then if there are still none.
 */
const MS = { quiet: 200, first: 20_000, clean: 1_000 }

/** A file that the server reads from us instead of the disk. */
export interface OpenDocument {
  readonly path: string
  readonly uri: string
  text: string
  version: number
  /** The last reports that a session has got. */
  baseline?: ReportedText
  /** The last reports that the server sent by itself for the present text. */
  pushed?: { reports: Report[]; versioned: boolean } | undefined
  /** No other reports of the present text are awaited. */
  settled: boolean
  /** The text before had no reports, and the server names no versions. */
  wasClean: boolean
  /** Called when the server sends reports of the present text, or ends. */
  onPush?: () => void
}

/** The open documents of one connection. */
export class Documents {
  readonly #open = new Map<string, OpenDocument>()

  constructor(
    private readonly workspace: string,
    private readonly connection: ServerConnection,
  ) {
    connection.onDiagnostics = (report) => this.#takePush(report)
  }

  get(path: string): OpenDocument | undefined {
    return this.#open.get(path)
  }
  list(): OpenDocument[] {
    return [...this.#open.values()]
  }

  /** Opens a document with this text, or changes its text. */
  put(path: string, text: string, languageId: string): OpenDocument {
    const known = this.#open.get(path)
    if (!known) return this.#openDocument(path, text, languageId)
    // The document that was used last is closed last.
    this.#open.delete(path)
    this.#open.set(path, known)
    if (known.text === text) return known
    known.text = text
    known.version += 1
    known.wasClean = known.pushed?.reports.length === 0 && !known.pushed.versioned
    known.pushed = undefined
    known.settled = false
    const { uri, version } = known
    this.connection.notify('textDocument/didChange', { textDocument: { uri, version }, contentChanges: [{ text }] })
    return known
  }

  #openDocument(path: string, text: string, languageId: string): OpenDocument {
    for (const { path: oldest } of this.list().slice(0, Math.max(0, this.#open.size - MAX_OPEN + 1))) this.close(oldest)
    const uri = pathToFileURL(join(this.workspace, path)).href
    const document: OpenDocument = { path, uri, text, version: 1, settled: false, wasClean: false }
    this.#open.set(path, document)
    this.connection.notify('textDocument/didOpen', { textDocument: { uri, languageId, version: 1, text } })
    return document
  }

  close(path: string): void {
    const document = this.#open.get(path)
    if (!document) return
    this.#open.delete(path)
    this.connection.notify('textDocument/didClose', { textDocument: { uri: document.uri } })
  }

  /** Takes reports that the server sent by itself. Reports for an earlier version or another file are ignored. */
  #takePush(report: unknown): void {
    const { uri, version, diagnostics } = (report ?? {}) as { uri?: unknown; version?: unknown; diagnostics?: unknown }
    const path = toWorkspacePath(this.workspace, uri)
    const document = path === undefined ? undefined : this.#open.get(path)
    if (!document) return
    const known = typeof version === 'number' ? version : undefined
    if (known !== undefined && known !== document.version) return
    document.pushed = { reports: readReports(diagnostics), versioned: known !== undefined }
    document.onPush?.()
  }

  /**
   * Waits for the reports that the server sends after a change. Reports without a version count when no others follow
   * for a moment. Rejects where the server sends none.
   */
  async waitForPush(document: OpenDocument, signal: AbortSignal): Promise<Report[]> {
    while (!document.settled) {
      const earlier = document.pushed
      if (earlier?.versioned) break
      const pushed = new Promise<void>((resolve) => (document.onPush = resolve))
      const limit = earlier ? MS.quiet : document.wasClean ? MS.clean : MS.first
      using deadline = startDeadline(limit, signal)
      await raceAbort(this.connection.ended, raceAbort(deadline.signal, pushed)).catch((error: unknown) => {
        if (!deadline.expired) throw error
      })
      if (!deadline.expired) continue
      if (!earlier && !document.wasClean)
        throw new Error(`it sent no diagnostics of ${document.path} within ${MS.first / 1000} s`)
      // Reports that come later are seen by the next check.
      document.pushed ??= { reports: [], versioned: false }
      document.settled = true
    }
    document.settled = true
    return document.pushed?.reports ?? []
  }

  /** Reports changes on disk: the server does not watch the disk itself. */
  notifyChanges(changes: { uri: string; type: number }[]): void {
    this.connection.notify('workspace/didChangeWatchedFiles', { changes })
  }
}

/** Returns the path of a file in the workspace; nothing for another address. */
export function toWorkspacePath(workspace: string, uri: unknown): string | undefined {
  if (typeof uri !== 'string' || !uri.startsWith('file:')) return undefined
  try {
    const path = relative(workspace, fileURLToPath(uri))
    return path === '' || path === '..' || path.startsWith('../') ? undefined : path
  } catch {
    return undefined
  }
}
