import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ServerCapabilities } from 'vscode-languageserver-protocol'
import { VtError, type Launch } from '../../../core/shapes/index.js'
import { visibleLine } from '../../../core/text/index.js'
import { ServerConnection } from './connection.js'
import { readDiskVersion } from './disk.js'
import { ServerFiles, type ServerFilesOptions } from './files.js'
import { findNewReports } from './reports.js'
import type { EditedFile, FileReports, ServerQuestion, ServerUse } from './use.js'

/** Longest waits in milliseconds: for a loaded project, and for the first progress. */
const MS = { ready: 50_000, progress: 5_000 }
const READY_POLL_MS = 25
/** Pauses before each start in a row, in units of the restart timeout. */
const RESTART_PAUSES = [0, 1, 2, 4, 8, 16]

export interface LanguageServerOptions extends ServerFilesOptions {
  /** Real path of the root of the project. */
  root: string
  program: { file: string; version?: string }
  prepareLaunch: () => Promise<Launch>
  max_memory_mb: number
  idle_ms: number
  restart_ms: number
}
/** An error of a server, as the end of the sentence "The language server cannot be used: …". */
export class ServerError extends Error {
  /** The message may hold text of the server, which may draw no line of its own. */
  constructor(message: string) {
    super(visibleLine(message))
  }
}

/**
 * One language server for one project. It starts on first use, ends when idle, and starts again after a failure, each
 * time after a longer pause. All uses run one after another, so that each sees the files of its own time.
 */
export class LanguageServer {
  #files: Promise<ServerFiles> | undefined
  #live: ServerConnection | undefined
  #restartState = ''
  #queue: Promise<unknown> = Promise.resolve()
  #failures = 0
  #nextStart = 0
  #ending = new AbortController()
  #closed = false
  #idle: NodeJS.Timeout | undefined
  #started = 0
  lastError: string | undefined

  constructor(readonly options: LanguageServerOptions) {}

  get state(): 'stopped' | 'starting' | 'running' | 'failed' {
    if (this.#live && this.#live.fault === undefined) return 'running'
    if (this.#files) return 'starting'
    return this.lastError === undefined ? 'stopped' : 'failed'
  }

  /**
   * Returns the reports that the files have since a change and lacked before it, also in other open files.
   * `isWaiting` returns whether the caller still waits at the end; if not, the next check returns them again.
   */
  checkChange(changes: EditedFile[], use: ServerUse, isWaiting: () => boolean): Promise<FileReports[]> {
    return this.#enqueue(use, async (files) => {
      await files.takeBaselines(changes, use)
      const earlier = new Map(files.documents.list().map(({ path, baseline }) => [path, baseline]))
      await files.synchronize(use, changes)
      for (const { path, from } of changes) {
        if (files.documents.get(path)) continue
        const document = await files.open(path, use)
        // A new file has no reports before; a moved file has its own.
        if (document) document.baseline = earlier.get(from ?? '') ?? { text: '', reports: [] }
      }
      const after = await files.reportAll(files.documents.list(), use.signal)
      const found = after.flatMap(({ document, ...now }): FileReports[] => {
        const reports = findNewReports(document.baseline ?? { text: '', reports: [] }, now)
        return reports.length > 0 ? [{ path: document.path, reports }] : []
      })
      if (isWaiting()) for (const { document, text, reports } of after) document.baseline = { text, reports }
      return found
    })
  }

  /** Returns all reports of these files. Files of other languages have none. */
  diagnose(paths: readonly string[], use: ServerUse): Promise<FileReports[]> {
    return this.#enqueue(use, async (files) => {
      await files.synchronize(use)
      const found: FileReports[] = []
      for (const path of paths) {
        const document = await files.open(path, use)
        if (!document) continue
        const reports = await files.report(document, use.signal)
        document.baseline = { text: document.text, reports }
        found.push({ path, reports })
      }
      return found
    })
  }

  /**
   * Asks the server about a file, which is opened with its present content. `ready` waits until answers about several
   * files are complete. Throws ServerError.
   */
  ask<T>(
    path: string,
    { ready, needs }: { ready: boolean; needs: keyof ServerCapabilities },
    use: ServerUse,
    work: (question: ServerQuestion) => Promise<T>,
  ): Promise<T> {
    return this.#enqueue(use, async (files) => {
      const { connection } = files
      if (!connection.capabilities[needs]) throw new ServerError('it does not offer this')
      await files.synchronize(use)
      const document = await files.open(path, use)
      if (!document) throw new ServerError(`it cannot open ${path}`)
      if (ready) {
        // Answers about several projects concern only those of which a file is open.
        await files.openDependents(path, use)
        await this.#waitUntilReady(connection, use.signal)
      }
      const send = (method: string, params: object) => files.send(method, params, use.signal)
      return work({ send, document, hasChanged: files.hasChanged })
    })
  }

  /** Ends the server, also one that is starting. */
  async end(reason: string): Promise<void> {
    clearTimeout(this.#idle)
    const [connection, starting] = [this.#live, this.#files]
    this.#live = undefined
    this.#files = undefined
    this.#ending.abort(new Error(reason))
    this.#ending = new AbortController()
    await connection?.end(reason)
    await starting?.catch(() => {})
  }

  /** Ends the server for good: it does not start for uses that still wait. */
  close(): Promise<void> {
    this.#closed = true
    return this.end('its last session closed')
  }

  /** Runs work after all earlier work. A failure of the server becomes ServerError. */
  #enqueue<T>(use: ServerUse, work: (files: ServerFiles) => Promise<T>): Promise<T> {
    const run = async (): Promise<T> => {
      use.signal.throwIfAborted()
      if (this.#closed) throw new ServerError('its last session closed')
      clearTimeout(this.#idle)
      try {
        const result = await work(await this.#connect())
        this.#failures = 0
        this.lastError = undefined
        return result
      } catch (error) {
        if (use.signal.aborted || error instanceof VtError || error instanceof ServerError) throw error
        throw new ServerError((error as Error).message)
      } finally {
        clearTimeout(this.#idle)
        this.#idle = setTimeout(() => void this.end('it was idle'), this.options.idle_ms).unref()
      }
    }
    const result = this.#queue.then(run)
    this.#queue = result.catch(() => {})
    return result
  }

  async #connect(): Promise<ServerFiles> {
    const restartState = this.#readRestartState()
    if (this.#files && restartState !== this.#restartState) await this.end('its packages changed')
    this.#restartState = restartState
    this.#files ??= this.#start()
    return this.#files
  }

  async #start(): Promise<ServerFiles> {
    const wait = this.#nextStart - Date.now()
    if (wait > 0) {
      this.#files = undefined
      throw new ServerError(`${this.lastError}; it can start again in ${Math.ceil(wait / 1000)} s`)
    }
    const { prepareLaunch, ...options } = this.options
    try {
      const { signal } = this.#ending
      const connection = await ServerConnection.start({ ...options, launch: await prepareLaunch() }, signal)
      this.#started = Date.now()
      this.#live = connection
      connection.onEnd = () => this.#live === connection && this.#noteFailure(connection.fault!)
      if (signal.aborted) await connection.end((signal.reason as Error).message)
      if (connection.fault !== undefined) throw new Error(connection.fault)
      return new ServerFiles(options, connection)
    } catch (error) {
      this.#noteFailure((error as Error).message)
      throw error
    }
  }

  #noteFailure(reason: string): void {
    this.#live = undefined
    this.#files = undefined
    this.lastError = reason
    this.#failures += 1
    const pause = RESTART_PAUSES[Math.min(this.#failures, RESTART_PAUSES.length) - 1]!
    this.#nextStart = Date.now() + pause * this.options.restart_ms
  }

  #readRestartState(): string {
    const { definition, root } = this.options
    return (definition.restart_files ?? []).map((name) => readDiskVersion(join(root, name)) ?? '').join('|')
  }

  async #waitUntilReady(connection: ServerConnection, signal: AbortSignal): Promise<void> {
    const isReady = (): boolean =>
      connection.ready ||
      // A server without any progress has nothing to load.
      (this.options.definition.ready === 'progress' &&
        !connection.hasProgress &&
        Date.now() - this.#started > MS.progress)
    const end = Date.now() + MS.ready
    while (!isReady()) {
      if (connection.fault !== undefined) throw new ServerError(connection.fault)
      if (Date.now() > end) throw new ServerError('it is still loading the project')
      await sleep(READY_POLL_MS, undefined, { signal })
    }
  }
}
