import { pathToFileURL } from 'node:url'
import type { Client, StreamableHTTPClientTransport, Transport } from '@modelcontextprotocol/client'
import { deadline, type Deadline } from '../../../core/system/index.js'
import {
  problem,
  version,
  VtError,
  type Asker,
  type Context,
  type Contribution,
  type AdapterContext,
} from '../../../core/index.js'
import { raceAbort } from '../../lib/base/index.js'
import type { KeptServer, KeptTool } from '../../lib/state/index.js'
import { Forms } from './ask.js'
import { addressOf, isRemote, launchOf, startFailure, type Definition } from './definition.js'
import { boundedFetch, Intake } from '../mcp_transport/intake.js'
import { longest_ms, offersWithin, whyFailed, Silence } from './lists.js'
import { Login } from './login.js'
import { Pipe } from '../mcp_transport/pipe.js'
import { leaveSeat, takeSeat, type Seated } from './seats.js'
import { coalesced, pause } from '../mcp_transport/timing.js'

/** A connected server: its client and what it offers now. */
export interface Connection {
  client: Client
  transport: Transport
  intake: Intake
  tools: ReadonlyMap<string, KeptTool>
}
export interface ServerDefinition {
  definition: Definition
  contribution: Contribution
  adapterContext: AdapterContext
  /** What is known of it while it is not running. */
  kept: KeptServer
}

/** The number of sign-ins for one call or connection; the page is opened a second time before the sign-in counts as failed. */
const mostLogins = 2

/** How many seconds longer each start in a row waits than the second one. */
const pauses = [0, 1, 2, 4, 8, 16]

/**
 * One server, connected on first use and again after a lost connection, each time after a longer pause; after six failures in a
 * row it is not started until the next reload.
 */
export class Server implements Seated {
  #source!: ServerDefinition
  #listed: () => void = () => {}
  /** Tools that came since the user agreed to the server, and nobody was told of. */
  readonly newcomers: string[] = []
  readonly #ending = new AbortController()
  /** The calls under way, with who can be asked meanwhile. */
  readonly #forms = new Forms()
  readonly #calls = new Set<{ ask: Asker | undefined; session: string }>()
  #connection: Promise<Connection> | undefined
  #live: Connection | undefined
  #failures = 0
  #login: Login | undefined
  /** A call was made by the present connection. */
  #used = false
  #leaving: Connection | undefined

  /** The newest generation that uses this server supplies its definition. */
  setDefinition(source: ServerDefinition): void {
    // After a reload the server may be started again.
    if (this.#source && source.adapterContext !== this.#source.adapterContext) this.#failures = 0
    this.#source = source
  }
  /** Calls `run` when what the server offers was taken up, at every connection and whenever it reports a change. */
  onList(run: () => void): void {
    this.#listed = run
  }

  /** Throws VT_MCP_START. */
  connect(): Promise<Connection> {
    this.#connection ??= this.#seat().then((error) => {
      if (!error) {
        return this.#start().catch((error: unknown) => {
          this.#lost()
          throw error
        })
      }
      this.#connection = undefined
      throw error
    })
    return this.#connection
  }

  get isIdle(): boolean {
    return this.#live !== undefined && !this.#used && this.#calls.size === 0 && this.#source.definition.lazy !== false
  }
  get starting(): Promise<unknown> | undefined {
    return this.#live ? undefined : this.#connection
  }
  async leave(): Promise<void> {
    const connection = this.#live
    this.#leaving = connection
    this.#live = undefined
    this.#connection = undefined
    await connection?.client.close().catch(() => {})
  }

  /** Why it may not be connected now. */
  async #seat(): Promise<VtError | undefined> {
    const { contribution, adapterContext, kept } = this.#source
    const { max_connections: most } = adapterContext.settings.mcp
    if (await takeSeat(this, most)) return undefined
    const reason = `${most} servers are connected already, which is the most that mcp.max_connections allows`
    kept.note(`it could not be connected: ${reason}`)
    return startFailure(contribution.id, reason)
  }

  /** Runs work with the server; who calls answers the server's questions meanwhile. Throws VT_MCP_START, VT_MCP_DISCONNECTED. */
  async use<T>(
    { ask, session }: Pick<Context, 'ask' | 'session'>,
    work: (connection: Connection) => Promise<T>,
  ): Promise<T> {
    const connection = await this.connect()
    const call = { ask, session: session.id }
    this.#used = true
    this.#calls.add(call)
    try {
      const result = await this.#signingIn(connection.transport, () => work(connection))
      this.#failures = 0
      return result
    } catch (error) {
      if (this.#live === connection || this.#leaving === connection) throw error
      const { fault } = connection.intake
      this.#source.kept.note(fault ?? 'it ended in the middle of a call')
      throw this.#disconnected(fault)
    } finally {
      this.#calls.delete(call)
      if (this.#calls.size === 0) this.#forms.reset()
    }
  }

  async end(): Promise<void> {
    this.#ending.abort()
    const connection = await this.#connection?.catch(() => undefined)
    await connection?.client.close().catch(() => {})
    leaveSeat(this)
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
    this.#used = false
    leaveSeat(this)
    const { contribution, adapterContext } = this.#source
    if (this.#failures === pauses.length)
      adapterContext.quarantine(contribution.bringer ?? contribution, this.#abandoned)
  }

  get #abandoned(): string {
    return `it failed ${pauses.length} times in a row and is not started again until a reload`
  }

  async #start(): Promise<Connection> {
    const { definition, contribution, adapterContext } = this.#source
    if (this.#failures >= pauses.length) throw startFailure(contribution.id, this.#abandoned)
    await pause(pauses[this.#failures]! * adapterContext.waits.restart, this.#ending.signal)
    const seconds = definition.startup_timeout_secs ?? 30
    const patience: Patience = { seconds, left_ms: seconds * 1000 }
    const intake = new Intake()
    if (!isRemote(definition)) {
      const launch = await this.#limited(patience, ({ signal }) =>
        launchOf(definition, { contribution, adapterContext, signal }),
      )
      // Servers of the first protocol revisions end or fall silent at an unknown request, so the old handshake comes first.
      return this.#handshake(
        () => new Pipe(launch, adapterContext.dataOf(contribution), intake),
        ['legacy', 'auto'],
        patience,
        intake,
      )
    }
    const { type, url, headers, login } = await this.#limited(patience, ({ signal }) =>
      addressOf(definition, { contribution, adapterContext, signal }),
    )
    this.#login?.close()
    this.#login = login && (await Login.open(login))
    const { StreamableHTTPClientTransport, SSEClientTransport } = await import('@modelcontextprotocol/client')
    const how = {
      fetch: boundedFetch(intake, {
        url,
        headers,
        reopen_ms: adapterContext.waits.restart,
        ...(type === 'sse' && { redirect: 'error' }),
      }),
      ...(this.#login && { authProvider: this.#login }),
    }
    const open = () =>
      type === 'sse'
        ? new SSEClientTransport(url, how)
        : new StreamableHTTPClientTransport(url, { ...how, redirectPolicy: 'same-origin' })
    return this.#handshake(open as () => Transport, type === 'sse' ? ['legacy'] : ['auto'], patience, intake)
  }

  /** Runs a part of the start: all parts together have `startup_timeout_secs`, but for the time in which the user signs in. */
  async #limited<T>(patience: Patience, work: (limit: Deadline) => Promise<T>): Promise<T> {
    const began = performance.now()
    using limit = deadline(Math.max(0, patience.left_ms), this.#ending.signal)
    try {
      return await raceAbort(limit.signal, work(limit))
    } catch (error) {
      throw limit.expired ? new Silence(`it did not finish the handshake within ${patience.seconds} s`) : error
    } finally {
      patience.left_ms -= performance.now() - began
    }
  }

  async #handshake(
    open: () => Transport,
    eras: ('legacy' | 'auto')[],
    patience: Patience,
    intake: Intake,
  ): Promise<Connection> {
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
        if (transport instanceof Pipe)
          failure = startFailure(contribution.id, whyFailed(error), transport.log.slice(-2_000))
        if (this.#ending.signal.aborted || error instanceof Silence) break
      }
    }
    // Ended by us, it has not failed: nothing is to be remembered of it.
    if (this.#ending.signal.aborted) throw problem('VT_CALL_ABORTED')
    throw failure instanceof VtError ? failure : startFailure(contribution.id, whyFailed(failure))
  }

  async #greet(transport: Transport, era: 'legacy' | 'auto', signal: AbortSignal, intake: Intake): Promise<Connection> {
    const { adapterContext, kept } = this.#source
    const [{ Client }] = await Promise.all([
      import('@modelcontextprotocol/client'),
      transport instanceof Pipe && transport.start(),
    ])
    const client = new Client(
      { name: 'vtcode', version },
      {
        capabilities: { roots: {}, elicitation: { form: {} }, extensions: { 'io.modelcontextprotocol/tasks': {} } },
        versionNegotiation: { mode: era },
        // The kernel checks the server's answers.
        jsonSchemaValidator: {
          getValidator: () => (data) => ({ valid: true, data: data as never, errorMessage: undefined }),
        },
      },
    )
    client.setRequestHandler('roots/list', () => ({
      roots: [{ uri: pathToFileURL(adapterContext.workspace).href, name: 'workspace' }],
    }))
    const { contribution } = this.#source
    const form = () => ({
      server: (contribution.bringer ?? contribution).id,
      ask: this.#asker,
      signal: this.#ending.signal,
    })
    client.setRequestHandler('elicitation/create', ({ params }) => this.#forms.answer(params, form))
    const connection: Connection = { client, transport, intake, tools: new Map() }
    intake.onFault = () => {
      kept.note(intake.fault!)
      void client.close().catch(() => {})
    }
    const { request_timeout_secs: seconds } = adapterContext.settings.mcp
    let closed = false
    const list = async (limit: AbortSignal): Promise<void> => {
      const offers = await offersWithin(client, intake, seconds, limit)
      if (closed) throw new Error('it ended while it was asked what it offers')
      this.newcomers.push(...kept.take(offers))
      connection.tools = new Map(offers.tools.map((tool) => [tool.name, tool]))
      this.#listed()
    }
    const listAgain = (): Promise<void> =>
      list(this.#ending.signal).catch(
        (error: unknown) =>
          void (this.#live === connection && kept.note(`its changed list cannot be taken: ${whyFailed(error)}`)),
      )
    // The limit is ours: the SDK would give up after a minute of its own.
    await client.connect(transport, { signal, timeout: longest_ms })
    client.onclose = () => {
      closed = true
      if (this.#live === connection) this.#lost()
    }
    await list(signal)
    intake.onChanged = coalesced(listAgain, adapterContext.waits.restart, this.#ending.signal)
    intake.onFlood = (lists) =>
      kept.note(
        lists
          ? 'it announced changed lists faster than anybody can read them'
          : 'it sent notifications faster than anybody can read them',
      )
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
      message:
        fault === undefined
          ? `The MCP server ${id} ended the connection in the middle of the call.`
          : `The connection to the MCP server ${id} was closed in the middle of the call: ${fault}.`,
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
