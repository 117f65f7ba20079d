import { pathToFileURL } from 'node:url'
import type { Client, StreamableHTTPClientTransport, Tool, Transport } from '@modelcontextprotocol/client'
import { problem, version, VtError, type Asker, type Contribution, type AdapterContext } from '../../../core/index.js'
import { answerForm } from './ask.js'
import { addressOf, isRemote, launchOf, startFailure, type Definition } from './definition.js'
import { Login } from './login.js'
import { Pipe } from './pipe.js'

/** A connected server: its client and the tools that it offers now. */
export interface Connection {
  client: Client
  transport: Transport
  tools: ReadonlyMap<string, Tool>
}
export interface ServerDefinition {
  definition: Definition
  contribution: Contribution
  adapterContext: AdapterContext
}

/** The number of sign-ins for one call or connection; the page is opened a second time before the sign-in counts as failed. */
const mostLogins = 2

/** How many seconds longer each start in a row waits than the second one. */
const pauses = [0, 1, 2, 4, 8, 16]

/**
 * One server, connected on first use and again after a lost connection, each time after a longer pause; after six failures in a
 * row it is not started until the next reload.
 */
export class Server {
  #source!: ServerDefinition
  #listed: (tools: readonly Tool[]) => void = () => {}
  readonly #ending = new AbortController()
  /** The askers of the calls under way; the server's question goes to the last one. */
  readonly #askers = new Set<Asker>()
  #connection: Promise<Connection> | undefined
  #live: Connection | undefined
  #failures = 0
  #login: Login | undefined

  /** The newest generation that uses this server supplies its definition. */
  setDefinition(source: ServerDefinition): void {
    // After a reload the server may be started again.
    if (this.#source && source.adapterContext !== this.#source.adapterContext) this.#failures = 0
    this.#source = source
  }
  /** Calls `run` with the tools at every connection and whenever the server reports that they changed. */
  onList(run: (tools: readonly Tool[]) => void): void {
    this.#listed = run
  }

  /** The tools as the server last listed them; nothing while it is disconnected. */
  get tools(): ReadonlyMap<string, Tool> | undefined {
    return this.#live?.tools
  }

  /** Throws VT_MCP_START. */
  connect(): Promise<Connection> {
    this.#connection ??= this.#start().catch((error: unknown) => {
      this.#lost()
      throw error
    })
    return this.#connection
  }

  /** Runs work with the server; `ask` answers the server's questions meanwhile. Throws VT_MCP_START, VT_MCP_DISCONNECTED. */
  async use<T>(ask: Asker | undefined, work: (connection: Connection) => Promise<T>): Promise<T> {
    const connection = await this.connect()
    if (ask) this.#askers.add(ask)
    try {
      const result = await this.#signingIn(connection.transport, () => work(connection))
      this.#failures = 0
      return result
    } catch (error) {
      if (this.#live !== connection) throw this.#disconnected()
      throw error
    } finally {
      if (ask) this.#askers.delete(ask)
    }
  }

  async end(): Promise<void> {
    this.#ending.abort()
    const connection = await this.#connection?.catch(() => undefined)
    await connection?.client.close().catch(() => {})
    this.#login?.close()
  }

  #lost(): void {
    this.#failures++
    this.#connection = undefined
    this.#live = undefined
    const { contribution, adapterContext } = this.#source
    if (this.#failures === pauses.length) adapterContext.quarantine(contribution.bringer ?? contribution, this.#abandoned)
  }

  get #abandoned(): string {
    return `it failed ${pauses.length} times in a row and is left alone until a reload`
  }

  async #start(): Promise<Connection> {
    const { definition, contribution, adapterContext } = this.#source
    if (this.#failures >= pauses.length) throw startFailure(contribution.id, this.#abandoned)
    await pause(pauses[this.#failures]! * adapterContext.waits.restart, this.#ending.signal)
    const seconds = definition.startup_timeout_secs ?? 30
    const signal = AbortSignal.any([this.#ending.signal, AbortSignal.timeout(seconds * 1000)])
    if (!isRemote(definition)) {
      const launch = await launchOf(definition, { contribution, adapterContext, signal })
      // Servers of the first protocol revisions end or fall silent at an unknown request, so the old handshake comes first.
      return this.#handshake(() => new Pipe(launch, adapterContext.dataOf(contribution)), ['legacy', 'auto'], signal, seconds)
    }
    const { type, url, headers, login } = await addressOf(definition, { contribution, adapterContext, signal })
    this.#login?.close()
    this.#login = login && (await Login.open(login))
    const { StreamableHTTPClientTransport, SSEClientTransport } = await import('@modelcontextprotocol/client')
    const how = { requestInit: { headers }, ...(this.#login && { authProvider: this.#login }) }
    const open = () => (type === 'sse' ? new SSEClientTransport(url, how) : new StreamableHTTPClientTransport(url, { ...how, redirectPolicy: 'same-origin' }))
    return this.#handshake(open as () => Transport, type === 'sse' ? ['legacy'] : ['auto'], signal, seconds)
  }

  async #handshake(open: () => Transport, eras: ('legacy' | 'auto')[], signal: AbortSignal, seconds: number): Promise<Connection> {
    const { contribution } = this.#source
    let failure: unknown
    for (const era of eras) {
      const transport = open()
      try {
        return await this.#signingIn(transport, (again) => this.#greet(again ? open() : transport, era, signal))
      } catch (error) {
        failure = error
        await transport.close().catch(() => {})
        if (transport instanceof Pipe) failure = startFailure(contribution.id, reasonOf(error, signal, seconds), transport.log.slice(-2_000))
        if (signal.aborted || error instanceof Silence) break
      }
    }
    throw failure instanceof VtError ? failure : startFailure(contribution.id, reasonOf(failure, signal, seconds))
  }

  async #greet(transport: Transport, era: 'legacy' | 'auto', signal: AbortSignal): Promise<Connection> {
    const { adapterContext } = this.#source
    const { Client } = await import('@modelcontextprotocol/client')
    const client = new Client(
      { name: 'vtcode', version },
      {
        capabilities: { roots: {}, elicitation: { form: {} } },
        versionNegotiation: { mode: era },
        // The kernel checks the server's answers.
        jsonSchemaValidator: { getValidator: () => (data) => ({ valid: true, data: data as never, errorMessage: undefined }) },
      },
    )
    client.setRequestHandler('roots/list', () => ({ roots: [{ uri: pathToFileURL(adapterContext.workspace).href, name: 'workspace' }] }))
    client.setRequestHandler('elicitation/create', async ({ params }) => answerForm(params, [...this.#askers].at(-1), this.#ending.signal))
    await client.connect(transport, { signal })
    const connection: Connection = { client, transport, tools: new Map() }
    const { request_timeout_secs: seconds = 30 } = (adapterContext.settings['mcp'] ?? {}) as { request_timeout_secs?: number }
    const list = async (): Promise<void> => {
      const { tools } = await client.listTools({}, { signal: this.#ending.signal, timeout: seconds * 1000 }).catch((error: { code?: unknown }) => {
        throw error.code === 'REQUEST_TIMEOUT' ? new Silence(`it did not list its tools within ${seconds} s`) : error
      })
      connection.tools = new Map(tools.map((tool) => [tool.name, tool]))
      this.#listed(tools)
    }
    if (client.getServerCapabilities()?.tools) {
      client.setNotificationHandler('notifications/tools/list_changed', () => void list().catch(() => {}))
      await list()
    }
    client.onclose = () => {
      if (this.#live === connection) this.#lost()
    }
    this.#live = connection
    return connection
  }

  /** Runs work that may need the user to sign in first, or to grant more rights; after that the work starts again. */
  async #signingIn<T>(transport: Transport, work: (again: boolean) => Promise<T>): Promise<T> {
    for (let round = 0; ; round++) {
      try {
        return await work(round > 0)
      } catch (error) {
        if (!this.#login || (error as Error).name !== 'UnauthorizedError' || round === mostLogins) throw error
        await (transport as StreamableHTTPClientTransport).finishAuth(await this.#login.answer(this.#ending.signal))
      }
    }
  }

  #disconnected(): VtError {
    const { id } = this.#source.contribution
    return new VtError({
      code: 'VT_MCP_DISCONNECTED',
      message: `The MCP server ${id} ended the connection in the middle of the call.`,
      hint: 'It is started again by the next call; look at what this one did before repeating it.',
      retryable: true,
    })
  }
}

/** The error of a server that completed the handshake and then fell silent; no other handshake is tried. */
class Silence extends Error {}

const reasonOf = (error: unknown, signal: AbortSignal, seconds: number): string => {
  if (signal.aborted) return `it did not finish the handshake within ${seconds} s`
  const { message, code } = error as NodeJS.ErrnoException
  return (code === 'ENOENT' || code === 'EACCES' ? `${message}` : String(message)).split('\n')[0]!.replace(/\.$/, '').slice(0, 300)
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.reject(problem('VT_CALL_ABORTED'))
  if (ms === 0) return Promise.resolve()
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener(
      'abort',
      () => {
        clearTimeout(timer)
        reject(problem('VT_CALL_ABORTED'))
      },
      { once: true },
    )
  })
}
