import { pathToFileURL } from 'node:url'
import type { Client, StreamableHTTPClientTransport, Tool, Transport } from '@modelcontextprotocol/client'
import { deadline, type Deadline } from '../../../core/base/index.js'
import { problem, version, VtError, type Asker, type Context, type Contribution, type AdapterContext } from '../../../core/index.js'
import { unlessAborted } from '../../lib/base/index.js'
import { answerForm } from './ask.js'
import { addressOf, isRemote, launchOf, startFailure, type Definition } from './definition.js'
import { boundedFetch, Intake, MAX_TOOLS } from './intake.js'
import { Login } from './login.js'
import { Pipe } from './pipe.js'

/** A connected server: its client and the tools that it offers now. */
export interface Connection {
  client: Client
  transport: Transport
  intake: Intake
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
  /** The calls under way, with who can be asked meanwhile. */
  readonly #calls = new Set<{ ask: Asker | undefined; session: string }>()
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

  /** Runs work with the server; who calls answers the server's questions meanwhile. Throws VT_MCP_START, VT_MCP_DISCONNECTED. */
  async use<T>({ ask, session }: Pick<Context, 'ask' | 'session'>, work: (connection: Connection) => Promise<T>): Promise<T> {
    const connection = await this.connect()
    const call = { ask, session: session.id }
    this.#calls.add(call)
    try {
      const result = await this.#signingIn(connection.transport, () => work(connection))
      this.#failures = 0
      return result
    } catch (error) {
      if (this.#live !== connection) throw this.#disconnected(connection.intake.fault)
      throw error
    } finally {
      this.#calls.delete(call)
    }
  }

  async end(): Promise<void> {
    this.#ending.abort()
    const connection = await this.#connection?.catch(() => undefined)
    await connection?.client.close().catch(() => {})
    this.#login?.close()
  }

  /** Who is asked by the server: the caller of all calls under way. A question does not say which of them it belongs to, so among several callers nobody is asked. */
  get #asker(): Asker | undefined {
    const calls = [...this.#calls]
    return calls.every(({ session }) => session === calls[0]!.session) ? calls.at(-1)?.ask : undefined
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
    const patience: Patience = { seconds, left_ms: seconds * 1000 }
    const intake = new Intake()
    if (!isRemote(definition)) {
      const launch = await this.#limited(patience, ({ signal }) => launchOf(definition, { contribution, adapterContext, signal }))
      // Servers of the first protocol revisions end or fall silent at an unknown request, so the old handshake comes first.
      return this.#handshake(() => new Pipe(launch, adapterContext.dataOf(contribution), intake), ['legacy', 'auto'], patience, intake)
    }
    const { type, url, headers, login } = await this.#limited(patience, ({ signal }) => addressOf(definition, { contribution, adapterContext, signal }))
    this.#login?.close()
    this.#login = login && (await Login.open(login))
    const { StreamableHTTPClientTransport, SSEClientTransport } = await import('@modelcontextprotocol/client')
    const how = { requestInit: { headers }, fetch: boundedFetch(intake, type === 'sse' ? 'error' : undefined), ...(this.#login && { authProvider: this.#login }) }
    const open = () => (type === 'sse' ? new SSEClientTransport(url, how) : new StreamableHTTPClientTransport(url, { ...how, redirectPolicy: 'same-origin' }))
    return this.#handshake(open as () => Transport, type === 'sse' ? ['legacy'] : ['auto'], patience, intake)
  }

  /** Runs a part of the start: all parts together have `startup_timeout_secs`, but for the time in which the user signs in. */
  async #limited<T>(patience: Patience, work: (limit: Deadline) => Promise<T>): Promise<T> {
    const began = performance.now()
    using limit = deadline(Math.max(0, patience.left_ms), this.#ending.signal)
    try {
      return await unlessAborted(limit.signal, work(limit))
    } catch (error) {
      throw limit.expired ? new Silence(`it did not finish the handshake within ${patience.seconds} s`) : error
    } finally {
      patience.left_ms -= performance.now() - began
    }
  }

  async #handshake(open: () => Transport, eras: ('legacy' | 'auto')[], patience: Patience, intake: Intake): Promise<Connection> {
    const { contribution } = this.#source
    let failure: unknown
    for (const era of eras) {
      const opened = (): Transport => intake.guard(open())
      let transport = opened()
      const greeted = (again: boolean): Promise<Connection> => {
        if (again) transport = opened()
        return this.#limited(patience, (limit) => this.#greet(transport, era, limit.signal, intake))
      }
      try {
        return await this.#signingIn(transport, greeted)
      } catch (error) {
        failure = error
        await (transport instanceof Pipe ? transport.abandon() : transport.close()).catch(() => {})
        if (transport instanceof Pipe) failure = startFailure(contribution.id, reasonOf(error), transport.log.slice(-2_000))
        if (this.#ending.signal.aborted || error instanceof Silence) break
      }
    }
    // Ended by us, it has not failed: nothing is to be remembered of it.
    if (this.#ending.signal.aborted) throw problem('VT_CALL_ABORTED')
    throw failure instanceof VtError ? failure : startFailure(contribution.id, reasonOf(failure))
  }

  async #greet(transport: Transport, era: 'legacy' | 'auto', signal: AbortSignal, intake: Intake): Promise<Connection> {
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
    client.setRequestHandler('elicitation/create', async ({ params }) => answerForm(params, { server: (this.#source.contribution.bringer ?? this.#source.contribution).id, ask: this.#asker, signal: this.#ending.signal }))
    const connection: Connection = { client, transport, intake, tools: new Map() }
    intake.onFault = () => void client.close().catch(() => {})
    const list = async (limit: AbortSignal): Promise<void> => {
      const tools = await this.#toolsOf(client, intake, limit)
      connection.tools = new Map(tools.map((tool) => [tool.name, tool]))
      this.#listed(tools)
    }
    const changed = coalesced(() => list(this.#ending.signal), adapterContext.waits.restart, this.#ending.signal)
    // The limit is ours: the SDK would give up after a minute of its own.
    await client.connect(transport, { signal, timeout: longest_ms })
    if (client.getServerCapabilities()?.tools) {
      await list(signal)
      client.setNotificationHandler('notifications/tools/list_changed', changed)
    }
    client.onclose = () => {
      if (this.#live === connection) this.#lost()
    }
    this.#live = connection
    return connection
  }

  /** All pages of the list, within `mcp.request_timeout_secs` and the size of one message. Throws Silence. */
  async #toolsOf(client: Client, intake: Intake, signal: AbortSignal): Promise<Tool[]> {
    const { request_timeout_secs: seconds = 30 } = (this.#source.adapterContext.settings['mcp'] ?? {}) as { request_timeout_secs?: number }
    using limit = deadline(seconds * 1000, signal)
    const exceeded = new AbortController()
    const listed = intake.within(() => client.listTools({}, { signal: limit.signal, timeout: longest_ms }), () => exceeded.abort(new Silence('its list of tools is larger than 32 MiB')))
    try {
      const { tools } = await unlessAborted(exceeded.signal, unlessAborted(limit.signal, listed))
      if (tools.length > MAX_TOOLS) throw new Silence(`it offers ${tools.length} tools, and ${MAX_TOOLS} is the most that are taken`)
      return tools
    } catch (error) {
      throw limit.expired ? new Silence(`it did not list its tools within ${seconds} s`) : error
    }
  }

  /** Runs work that may need the user to sign in first, or to grant more rights; after that the work starts again. */
  async #signingIn<T>(transport: Transport, work: (again: boolean) => Promise<T>): Promise<T> {
    for (let round = 0; ; round++) {
      try {
        return await work(round > 0)
      } catch (error) {
        if (!this.#login || (error as Error).name !== 'UnauthorizedError' || round === mostLogins) throw error
        try {
          await (transport as StreamableHTTPClientTransport).finishAuth(await this.#login.answer(this.#ending.signal))
        } finally {
          this.#login.invalidateCredentials('discovery')
        }
      }
    }
  }

  #disconnected(fault: string | undefined): VtError {
    const { id } = this.#source.contribution
    return new VtError({
      code: 'VT_MCP_DISCONNECTED',
      message: fault === undefined ? `The MCP server ${id} ended the connection in the middle of the call.` : `The connection to the MCP server ${id} was closed in the middle of the call: ${fault}.`,
      hint: 'It is started again by the next call; look at what this one did before repeating it.',
      retryable: true,
    })
  }
}

/** How long a start may still take. */
interface Patience {
  readonly seconds: number
  left_ms: number
}

// What a timer can wait at most.
const longest_ms = 2 ** 31 - 1

/** The error of a server that did not answer in time, or too much; no other handshake is tried. */
class Silence extends Error {}

/** Runs work for a series of requests: one run at a time, one more for all that came meanwhile, and never more often than every `pause_ms`. */
function coalesced(work: () => Promise<void>, pause_ms: number, signal: AbortSignal): () => void {
  let requested = false
  let running = false
  const run = async (): Promise<void> => {
    running = true
    try {
      while (requested && !signal.aborted) {
        requested = false
        await work().catch(() => {})
        await pause(pause_ms, signal)
      }
    } catch {
      // The server has ended.
    } finally {
      running = false
    }
  }
  return () => {
    requested = true
    if (!running) void run()
  }
}

const reasonOf = (error: unknown): string => {
  const { message, code } = error as NodeJS.ErrnoException
  return (code === 'ENOENT' || code === 'EACCES' ? `${message}` : String(message)).split('\n')[0]!.replace(/\.$/, '').slice(0, 300)
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (ms === 0 && !signal.aborted) return
  using limit = deadline(ms, signal)
  if (!limit.signal.aborted) await new Promise((resolve) => limit.signal.addEventListener('abort', resolve, { once: true }))
  if (!limit.expired) throw problem('VT_CALL_ABORTED')
}
