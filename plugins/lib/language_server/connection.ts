import type { ChildProcess } from 'node:child_process'
import { pathToFileURL } from 'node:url'
import type { MessageConnection } from 'vscode-jsonrpc'
import type { InitializeResult, ServerCapabilities } from 'vscode-languageserver-protocol'
import type { JsonObject, Launch } from '../../../core/shapes/index.js'
import { signalGroup, spawnProgram, startDeadline, version } from '../../../core/system/index.js'
import { raceAbort } from '../base/index.js'
import { hasSettled, measureGroupMemory } from '../process/index.js'
import type { LanguageServerDefinition } from './definition.js'
import { FrameReader } from './frames.js'

/** Times in milliseconds: of the handshake, of one answer, of the end, and between two checks of the memory. */
const MS = { start: 60_000, answer: 30_000, close: 500, term: 500, memory: 5_000 }
/** Bytes that wait for a server which does not read. */
const MAX_UNREAD_BYTES = 67_108_864

export interface ConnectionOptions {
  definition: LanguageServerDefinition
  launch: Launch
  /** Real path of the root of the project. */
  root: string
  max_memory_mb: number
}

/** A running server. Everything that it sends is unchecked. */
export class ServerConnection {
  readonly #tokens = new Set<unknown>()
  #child!: ChildProcess
  #rpc!: MessageConnection
  #library!: typeof import('vscode-jsonrpc/node')
  #exited!: Promise<unknown>
  readonly #ended = new AbortController()
  #progress = { begun: false, ended: false }
  #readyLine = false
  #capabilities: ServerCapabilities = {}
  /** Methods that the server offered after its start. */
  readonly #registered = new Set<string>()
  /** The reason why the server ended; absent while it runs. */
  fault: string | undefined
  onEnd: () => void = () => {}
  /** Called with the diagnostics that the server sends by itself. */
  onDiagnostics: (report: unknown) => void = () => {}

  private constructor(private readonly options: ConnectionOptions) {}

  /** Starts a server. Rejects with an error whose message completes "The server cannot be used: …". */
  static async start(options: ConnectionOptions, signal: AbortSignal): Promise<ServerConnection> {
    const connection = new ServerConnection(options)
    try {
      await connection.#start()
      await connection.#initialize(signal)
      return connection
    } catch (error) {
      const reason = connection.fault ?? (error as Error).message
      await connection.end(reason)
      throw new Error(reason, { cause: error })
    }
  }

  get capabilities(): ServerCapabilities {
    return this.#capabilities
  }
  /** Aborts when the server ends. */
  get ended(): AbortSignal {
    return this.#ended.signal
  }
  /** The server reports diagnostics on request; else it sends them by itself. */
  get pulls(): boolean {
    return this.#capabilities.diagnosticProvider !== undefined || this.#registered.has('textDocument/diagnostic')
  }
  /** Answers about several files are complete. */
  get ready(): boolean {
    const { ready } = this.options.definition
    if (ready === 'progress') return this.#progress.ended && this.#tokens.size === 0
    return ready === 'log' ? this.#readyLine : true
  }
  /** A progress has begun since the start. */
  get hasProgress(): boolean {
    return this.#progress.begun
  }

  async #start(): Promise<void> {
    this.#library = await import('vscode-jsonrpc/node')
    const child = spawnProgram(this.options.launch, ['pipe', 'pipe', 'pipe'])
    this.#child = child
    this.#exited = new Promise((resolve) => child.once('close', resolve))
    child.once('exit', (code, signal) => this.#noteEnd(`it ended with ${signal ?? `exit code ${code}`}`))
    child.stdin!.on('error', () => {})
    child.stderr!.resume()
    // A server never keeps the program alive.
    child.unref()
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', () => resolve())
      child.once('error', reject)
    })
    const reader = new FrameReader(child.stdout!, (reason) => void this.end(reason))
    const writer = new this.#library.StreamMessageWriter(child.stdin!)
    this.#rpc = this.#library.createMessageConnection(reader, writer)
    this.#rpc.onError(() => {})
    this.#answerRequests()
    this.#rpc.listen()
    this.#watchMemory()
  }

  async #initialize(signal: AbortSignal): Promise<void> {
    const { root, definition } = this.options
    const uri = pathToFileURL(root).href
    const result = (await this.request(
      'initialize',
      {
        // The process number of this program means nothing in a sandbox; some servers end where they do not find it.
        processId: null,
        clientInfo: { name: 'vtcode', version },
        rootUri: uri,
        workspaceFolders: [{ uri, name: 'workspace' }],
        capabilities: CAPABILITIES,
        initializationOptions: definition.initialization_options,
      },
      signal,
      MS.start,
    )) as Partial<InitializeResult> | null
    const encoding = result?.capabilities?.positionEncoding ?? 'utf-16'
    if (encoding !== 'utf-16') throw new Error(`it counts columns in ${String(encoding).slice(0, 20)}`)
    this.#capabilities = result?.capabilities ?? {}
    this.notify('initialized', {})
    this.notify('workspace/didChangeConfiguration', { settings: definition.settings ?? {} })
  }

  /** Answers the requests of the server. It may not change files or open pages by itself. */
  #answerRequests(): void {
    const { definition, root } = this.options
    const uri = pathToFileURL(root).href
    const rpc = this.#rpc
    rpc.onRequest('workspace/applyEdit', () => ({ applied: false, failureReason: 'Changes need a call.' }))
    rpc.onRequest('window/showDocument', () => ({ success: false }))
    rpc.onRequest('window/showMessageRequest', () => null)
    rpc.onRequest('window/workDoneProgress/create', () => null)
    rpc.onRequest('workspace/workspaceFolders', () => [{ uri, name: 'workspace' }])
    rpc.onRequest('workspace/configuration', (asked: unknown) => {
      const items = (asked as { items?: { section?: unknown }[] } | null)?.items
      return Array.isArray(items)
        ? items.slice(0, 1_000).map((item) => findSection(definition.settings, item?.section))
        : []
    })
    rpc.onRequest('client/registerCapability', (asked: unknown) => {
      const offered = (asked as { registrations?: { method?: unknown }[] } | null)?.registrations
      for (const { method } of Array.isArray(offered) ? offered.slice(0, 1_000) : [])
        if (typeof method === 'string' && this.#registered.size < 1_000) this.#registered.add(method)
      return null
    })
    rpc.onNotification('textDocument/publishDiagnostics', (report: unknown) => this.onDiagnostics(report))
    rpc.onNotification('window/logMessage', (entry: unknown) => {
      const { message } = (entry ?? {}) as { message?: unknown }
      if (definition.ready_log !== undefined && String(message).startsWith(definition.ready_log)) this.#readyLine = true
    })
    rpc.onNotification('$/progress', (report: unknown) => this.#noteProgress(report))
  }

  #noteProgress(report: unknown): void {
    const { token, value } = (report ?? {}) as { token?: unknown; value?: { kind?: unknown } }
    if (value?.kind === 'begin' && this.#tokens.size < 1_000) {
      this.#progress.begun = true
      this.#tokens.add(token)
    } else if (value?.kind === 'end') {
      this.#tokens.delete(token)
      this.#progress.ended = true
    }
  }

  /** Sends a request. Rejects for an error of the server; a server without an answer in time is ended. */
  async request(method: string, params: object | null, signal: AbortSignal, ms = MS.answer): Promise<unknown> {
    this.#refuseUnread()
    const cancel = new this.#library.CancellationTokenSource()
    using deadline = startDeadline(ms, signal)
    try {
      const answer = this.#rpc.sendRequest(method, params, cancel.token)
      return await raceAbort(this.#ended.signal, raceAbort(deadline.signal, answer))
    } catch (error) {
      if (deadline.signal.aborted) cancel.cancel()
      if (!deadline.expired) throw this.fault === undefined ? error : new Error(this.fault)
      await this.end(`it did not answer ${method} within ${ms / 1000} s`)
      throw new Error(this.fault)
    } finally {
      cancel.dispose()
    }
  }

  notify(method: string, params: object): void {
    this.#refuseUnread()
    // The connection reports a write that fails by its end.
    this.#rpc.sendNotification(method, params).catch(() => {})
  }

  #refuseUnread(): void {
    if (this.fault !== undefined) throw new Error(this.fault)
    if ((this.#child.stdin?.writableLength ?? 0) <= MAX_UNREAD_BYTES) return
    void this.end('it does not read its input')
    throw new Error(this.fault)
  }

  #noteEnd(reason: string): void {
    this.fault ??= reason
    if (this.#ended.signal.aborted) return
    this.#ended.abort(new Error(this.fault))
    this.#rpc?.dispose()
    this.onEnd()
  }

  #watchMemory(): void {
    const most = this.options.max_memory_mb * 1_048_576
    const timer = setInterval(() => {
      if (this.#child.pid !== undefined && measureGroupMemory(this.#child.pid) > most)
        void this.end(`it used more than ${this.options.max_memory_mb} MB of memory`)
    }, MS.memory)
    timer.unref()
    void this.#exited.then(() => clearInterval(timer))
  }

  /** Asks the server to end, and ends its process group where it does not. */
  async end(reason: string): Promise<void> {
    const child = this.#child as ChildProcess | undefined
    if (child?.pid === undefined) return
    if (this.fault === undefined) {
      this.fault = reason
      const exit = () => this.#rpc.sendNotification('exit').catch(() => {})
      this.#rpc?.sendRequest('shutdown').then(exit, () => {})
      await hasSettled(this.#exited, MS.close)
    }
    this.#noteEnd(reason)
    if (!(await hasSettled(this.#exited, 0))) signalGroup(child.pid, 'SIGTERM')
    await hasSettled(this.#exited, MS.term)
    signalGroup(child.pid, 'SIGKILL')
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.destroy()
  }
}

function findSection(settings: JsonObject | undefined, section: unknown): unknown {
  if (typeof section !== 'string' || section === '') return settings ?? null
  let value: unknown = settings
  for (const key of section.split('.'))
    value = typeof value === 'object' && value !== null && Object.hasOwn(value, key) ? (value as JsonObject)[key] : null
  return value ?? null
}

/** The abilities of this client. Columns are counted in UTF-16 units, as JavaScript does. */
const CAPABILITIES = {
  general: { positionEncodings: ['utf-16'] },
  textDocument: {
    synchronization: { didSave: true },
    publishDiagnostics: { versionSupport: true },
    diagnostic: { dynamicRegistration: true },
    definition: {},
    references: {},
    implementation: {},
    hover: { contentFormat: ['plaintext', 'markdown'] },
    documentSymbol: { hierarchicalDocumentSymbolSupport: true },
    callHierarchy: {},
    rename: { prepareSupport: true },
  },
  workspace: {
    configuration: true,
    workspaceFolders: true,
    didChangeConfiguration: {},
    didChangeWatchedFiles: { dynamicRegistration: true },
    workspaceEdit: { documentChanges: true },
    symbol: {},
  },
  window: { workDoneProgress: true },
}
