import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Workspace } from '../../../core/workspace/index.js'
import type { ServerConnection } from './connection.js'
import { findLanguage, type LanguageServerDefinition } from './definition.js'
import { listDependents } from './dependents.js'
import { compareDisk, isNewerThan, readDiskVersion, scanDisk, type DiskChange, type DiskState } from './disk.js'
import { Documents, type OpenDocument } from './documents.js'
import { readReports, type Report } from './reports.js'
import { MAX_DOCUMENT_BYTES, readDocument, type EditedFile, type ServerUse } from './use.js'

/** Codes of answers that ask to repeat the request: cancelled by the server, content modified. */
const REPEAT_CODES = [-32_802, -32_801]
const EVENT_TYPES = { created: 1, changed: 2, deleted: 3 } as const

export interface ServerFilesOptions {
  definition: LanguageServerDefinition
  /** Real path of the workspace. */
  workspace: string
  /** Returns whether rules hide a path. */
  isHidden: ((path: string) => boolean) | undefined
}

/** The files of a workspace as one running server knows them. */
export class ServerFiles {
  readonly documents: Documents
  private disk: DiskState

  constructor(
    private readonly options: ServerFilesOptions,
    readonly connection: ServerConnection,
  ) {
    this.documents = new Documents(options.workspace, connection)
    this.disk = scanDisk(options.workspace, options.definition)
  }

  /** Takes the reports of the files before the change, where they are not known yet. */
  async takeBaselines(changes: readonly EditedFile[], { signal }: ServerUse): Promise<void> {
    const asked: OpenDocument[] = []
    for (const { path, before } of changes) {
      const language = findLanguage(this.options.definition, path)
      if (before === undefined || language === undefined || before.length > MAX_DOCUMENT_BYTES) continue
      const known = this.documents.get(path)
      if (known?.text === before && known.baseline) continue
      asked.push(this.documents.put(path, before, language))
    }
    // A document that was opened for another question has no earlier reports yet.
    const unknown = this.documents.list().filter((one) => one.baseline === undefined && !asked.includes(one))
    for (const { document, text, reports } of await this.reportAll([...asked, ...unknown], signal))
      document.baseline = { text, reports }
  }

  /** Returns the reports of several documents, with the texts that they are about. */
  reportAll(documents: readonly OpenDocument[], signal: AbortSignal) {
    const report = async (document: OpenDocument) => {
      const { text } = document
      return { document, text, reports: await this.report(document, signal) }
    }
    return Promise.all(documents.map(report))
  }

  /** Reports all changes on disk to the server, and gives open documents their present content. */
  async synchronize({ workspace }: ServerUse, changes: readonly EditedFile[] = []): Promise<void> {
    const { definition, workspace: root } = this.options
    const disk = scanDisk(root, definition)
    const changed: Map<string, DiskChange> = compareDisk(this.disk, disk)
    this.disk = disk
    for (const { path } of changes)
      if (!changed.has(path)) changed.set(path, readDiskVersion(join(root, path)) === undefined ? 'deleted' : 'changed')
    const events = [...changed].map(([path, how]) => ({
      uri: pathToFileURL(join(root, path)).href,
      type: EVENT_TYPES[how],
    }))
    if (events.length > 0) this.documents.notifyChanges(events)
    for (const { path } of this.documents.list()) {
      const text = await this.#read(workspace, path)
      if (text === undefined) this.documents.close(path)
      else this.documents.put(path, text, findLanguage(definition, path)!)
    }
  }

  /** Opens a file with its present content; nothing for a hidden, missing or large one. */
  async open(path: string, { workspace }: ServerUse): Promise<OpenDocument | undefined> {
    const language = findLanguage(this.options.definition, path)
    const text = language === undefined ? undefined : await this.#read(workspace, path)
    return text === undefined ? undefined : this.documents.put(path, text, language!)
  }

  async #read(workspace: Workspace, path: string): Promise<string | undefined> {
    return this.options.isHidden?.(path) ? undefined : readDocument(workspace, path)
  }

  /** Returns the reports of a document in its present version. */
  async report(document: OpenDocument, signal: AbortSignal): Promise<Report[]> {
    if (this.connection.pulls) {
      const params = { textDocument: { uri: document.uri } }
      const answer = await this.send('textDocument/diagnostic', params, signal)
      return readReports((answer as { items?: unknown } | null)?.items)
    }
    return this.documents.waitForPush(document, signal)
  }

  /** Returns whether a file may have changed since the last report of changes to the server. */
  hasChanged = (path: string): boolean => {
    const file = join(this.options.workspace, path)
    const known = this.disk.versions.get(path)
    return known === undefined ? isNewerThan(file, this.disk.at) : known !== readDiskVersion(file)
  }

  /** Opens one file of each project that refers to the project of a file. */
  async openDependents(path: string, use: ServerUse): Promise<void> {
    for (const other of listDependents(this.options, this.disk, path)) await this.open(other, use)
  }

  /** Sends a request, again where the server asks for that. */
  async send(method: string, params: object, signal: AbortSignal): Promise<unknown> {
    for (let left = 2; ; left -= 1) {
      try {
        return await this.connection.request(method, params, signal)
      } catch (error) {
        if (left === 0 || !REPEAT_CODES.includes((error as { code?: number }).code ?? 0)) throw error
      }
    }
  }
}
