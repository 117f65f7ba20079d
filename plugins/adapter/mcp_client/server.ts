import { pathToFileURL } from 'node:url'
import type { Client, StreamableHTTPClientTransport, Transport } from '@modelcontextprotocol/client'
import { startDeadline, type Deadline } from '../../../core/system/index.js'
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
import type { ServerRecord, ServerTool } from '../../lib/state/index.js'
import { Forms } from './forms.js'
import { resolveAddress, isRemote, resolveLaunch, createStartError, type Definition } from './definition.js'
import { createBoundedFetch, Intake } from '../mcp_transport/intake.js'
import { MAX_TIMER_MS, fetchOffers, describeFailure, ServerLimitError } from './lists.js'
import { createDisconnectError, isLostSession } from './lost_connection.js'
import { Login } from './login.js'
import { Pipe } from '../mcp_transport/pipe.js'
import { releaseConnection, reserveConnection, type LimitedConnection } from './connection_limit.js'
import { coalesce, pause } from '../mcp_transport/timing.js'

/** A connected server, with its client and its current tools. */
export interface Connection {
  client: Client
  transport: Transport
  intake: Intake
  tools: ReadonlyMap<string, ServerTool>
}
export interface ServerDefinition {
  definition: Definition
  contribution: Contribution
  adapterContext: AdapterContext
  /** The stored state of the server. */
  kept: ServerRecord
}

/** Sign-ins for one call or connection: the page opens a second time before the sign-in counts as failed. */
const MAX_LOGINS = 2

/** Seconds before each start in a row. */
const RESTART_PAUSES_SECS = [0, 1, 2, 4, 8, 16]

/**
 * One server. It connects on first use and again after a lost connection, each time after a longer pause. After six
 * failures in a row it is not started until the next reload.
 */
export class Server implements LimitedConnection {
  #source!: ServerDefinition
  #onList: () => void = () => {}
  /** Tools that the server added since the user agreed to it, and that were not reported yet. */
  readonly newTools: string[] = []
  readonly #ending = new AbortController()
  /** The active calls, with the person to ask in each. */
  readonly #forms = new Forms()
  readonly #calls = new Set<{ ask: Asker | undefined; session: string }>()
  #connection: Promise<Connection> | undefined
  #live: Connection | undefined
  #failures = 0
  #login: Login | undefined
  /** Set when this connection made a call. */
  #used = false
  #leaving: Connection | undefined

  /** Takes the definition of the newest generation that uses this server. */
  setDefinition(source: ServerDefinition): void {
    // After a reload the server may be started again.
    if (this.#source && source.adapterContext !== this.#source.adapterContext) this.#failures = 0
    this.#source = source
  }
  /** Calls `run` whenever the list of tools was loaded, at every connection and after each reported change. */
  onList(run: () => void): void {
    this.#onList = run
  }

  /** Throws VT_MCP_START. */
  connect(): Promise<Connection> {
    this.#connection ??= this.#reserve().then((error) => {
      if (!error) {
        return this.#start().catch((error: unknown) => {
          this.#handleLoss()
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

  /** Reserves a connection, or returns why there is none. */
  async #reserve(): Promise<VtError | undefined> {
    const { contribution, adapterContext, kept } = this.#source
    const { max_connections: most } = adapterContext.settings.mcp
    if (await reserveConnection(this, most)) return undefined
    const reason = `${most} servers are connected already, the limit of mcp.max_connections`
    kept.addNote(`it could not be connected: ${reason}`)
    return createStartError(contribution.id, reason)
  }

  /**
   * Runs work with the server; the caller answers the server's questions meanwhile. Throws VT_MCP_START,
   * VT_MCP_DISCONNECTED.
   */
  async use<T>(
    { ask, session }: Pick<Context, 'ask' | 'session'>,
    work: (connection: Connection) => Promise<T>,
    isRepeated = false,
  ): Promise<T> {
    const connection = await this.connect()
    const call = { ask, session: session.id }
    const { messages } = connection.intake
    this.#used = true
    this.#calls.add(call)
    try {
      const result = await this.#withSignIn(connection.transport, () => work(connection))
      this.#failures = 0
      return result
    } catch (error) {
      if (isLostSession(error)) {
        if (this.#live === connection) await this.leave()
        // After a message of the server, a part of the work may be done.
        if (!isRepeated && connection.intake.messages === messages) return await this.use({ ask, session }, work, true)
      }
      if (this.#live === connection || this.#leaving === connection) throw error
      const { fault } = connection.intake
      this.#source.kept.addNote(fault ?? 'it ended in the middle of a call')
      throw createDisconnectError(this.#source.contribution.id, fault)
    } finally {
      this.#calls.delete(call)
      if (this.#calls.size === 0) this.#forms.reset()
    }
  }

  async end(): Promise<void> {
    this.#ending.abort()
    const connection = await this.#connection?.catch(() => undefined)
    await connection?.client.close().catch(() => {})
    releaseConnection(this)
    this.#login?.close()
  }

  /**
   * Returns the person to ask: the caller of all active calls. A question names no call, so with several sessions it
   * has no addressee.
   */
  get #asker(): Asker | undefined {
    const calls = [...this.#calls]
    return calls.every(({ session }) => session === calls[0]!.session) ? calls.at(-1)?.ask : undefined
  }

  #handleLoss(): void {
    this.#failures++
    this.#connection = undefined
    this.#live = undefined
    this.#used = false
    releaseConnection(this)
    const { contribution, adapterContext } = this.#source
    if (this.#failures === RESTART_PAUSES_SECS.length)
      adapterContext.quarantine(contribution.provider ?? contribution, this.#giveUpReason)
  }

  get #giveUpReason(): string {
    return `it failed ${RESTART_PAUSES_SECS.length} times in a row and is not started again until a reload`
  }

  async #start(): Promise<Connection> {
    const { definition, contribution, adapterContext } = this.#source
    if (this.#failures >= RESTART_PAUSES_SECS.length) throw createStartError(contribution.id, this.#giveUpReason)
    await pause(RESTART_PAUSES_SECS[this.#failures]! * adapterContext.timeouts.restart, this.#ending.signal)
    const seconds = definition.startup_timeout_secs ?? 30
    const budget: StartBudget = { seconds, remaining_ms: seconds * 1000 }
    const intake = new Intake()
    if (!isRemote(definition)) {
      const launch = await this.#withinBudget(budget, ({ signal }) =>
        resolveLaunch(definition, { contribution, adapterContext, signal }),
      )
      // Servers of the first revisions end or fall silent at an unknown request, so the old handshake comes first.
      return this.#handshake(
        () => new Pipe(launch, adapterContext.dataFolder(contribution), intake),
        ['legacy', 'auto'],
        budget,
        intake,
      )
    }
    const { type, url, headers, login } = await this.#withinBudget(budget, ({ signal }) =>
      resolveAddress(definition, { contribution, adapterContext, signal }),
    )
    this.#login?.close()
    this.#login = login && (await Login.open(login))
    const { StreamableHTTPClientTransport, SSEClientTransport } = await import('@modelcontextprotocol/client')
    const how = {
      fetch: createBoundedFetch(intake, {
        url,
        headers,
        reopen_ms: adapterContext.timeouts.restart,
        ...(type === 'sse' && { redirect: 'error' }),
      }),
      ...(this.#login && { authProvider: this.#login }),
    }
    const open = () =>
      type === 'sse'
        ? new SSEClientTransport(url, how)
        : new StreamableHTTPClientTransport(url, { ...how, redirectPolicy: 'same-origin' })
    return this.#handshake(open as () => Transport, type === 'sse' ? ['legacy'] : ['auto'], budget, intake)
  }

  /** Runs a part of the start. All parts share `startup_timeout_secs`, without the time in which the user signs in. */
  async #withinBudget<T>(budget: StartBudget, work: (limit: Deadline) => Promise<T>): Promise<T> {
    const began = performance.now()
    using limit = startDeadline(Math.max(0, budget.remaining_ms), this.#ending.signal)
    try {
      return await raceAbort(limit.signal, work(limit))
    } catch (error) {
      throw limit.expired ? new ServerLimitError(`it did not finish the handshake within ${budget.seconds} s`) : error
    } finally {
      budget.remaining_ms -= performance.now() - began
    }
  }

  async #handshake(
    open: () => Transport,
    eras: ('legacy' | 'auto')[],
    budget: StartBudget,
    intake: Intake,
  ): Promise<Connection> {
    const { contribution } = this.#source
    let failure: unknown
    for (const era of eras) {
      const openTransport = (): Transport => intake.guard(open())
      let transport = openTransport()
      const startGreeting = (again: boolean): Promise<Connection> => {
        if (again) transport = openTransport()
        return this.#withinBudget(budget, (limit) => this.#greet(transport, era, limit.signal, intake))
      }
      try {
        return await this.#withSignIn(transport, startGreeting)
      } catch (error) {
        failure = error
        await (transport instanceof Pipe ? transport.abandon() : transport.close()).catch(() => {})
        if (transport instanceof Pipe)
          failure = createStartError(contribution.id, describeFailure(error), transport.log.slice(-2_000))
        if (this.#ending.signal.aborted || error instanceof ServerLimitError) break
      }
    }
    // A server that we ended has not failed: nothing is remembered.
    if (this.#ending.signal.aborted) throw problem('VT_CALL_ABORTED')
    throw failure instanceof VtError ? failure : createStartError(contribution.id, describeFailure(failure))
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
        // The kernel checks the answers of the server.
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
      server: (contribution.provider ?? contribution).id,
      ask: this.#asker,
      signal: this.#ending.signal,
    })
    client.setRequestHandler('elicitation/create', ({ params }) => this.#forms.answer(params, form))
    const connection: Connection = { client, transport, intake, tools: new Map() }
    intake.onFault = () => {
      kept.addNote(intake.fault!)
      void client.close().catch(() => {})
    }
    const { request_timeout_secs: seconds } = adapterContext.settings.mcp
    let closed = false
    const list = async (limit: AbortSignal): Promise<void> => {
      const offers = await fetchOffers(client, intake, seconds, limit)
      if (closed) throw new Error('it ended while its tools were listed')
      this.newTools.push(...kept.update(offers))
      connection.tools = new Map(offers.tools.map((tool) => [tool.name, tool]))
      this.#onList()
    }
    const listAgain = (): Promise<void> =>
      list(this.#ending.signal).catch(
        (error: unknown) =>
          void (
            this.#live === connection && kept.addNote(`its changed list cannot be used: ${describeFailure(error)}`)
          ),
      )
    // We set the limit: the SDK would give up after a minute.
    await client.connect(transport, { signal, timeout: MAX_TIMER_MS })
    client.onclose = () => {
      closed = true
      if (this.#live === connection) this.#handleLoss()
    }
    await list(signal)
    intake.onChanged = coalesce(listAgain, adapterContext.timeouts.restart, this.#ending.signal)
    intake.onFlood = (lists) =>
      kept.addNote(
        lists
          ? 'it announced changed lists faster than they can be read'
          : 'it sent notifications faster than they can be read',
      )
    this.#live = connection
    return connection
  }

  /** Runs work that may need the user to sign in or to grant more rights; then the work starts again. */
  async #withSignIn<T>(transport: Transport, work: (again: boolean) => Promise<T>): Promise<T> {
    for (let round = 0; ; round++) {
      try {
        return await work(round > 0)
      } catch (error) {
        if (!this.#login || (error as Error).name !== 'UnauthorizedError' || round === MAX_LOGINS) throw error
        try {
          await (transport as StreamableHTTPClientTransport).finishAuth(await this.#login.answer(this.#ending.signal))
        } finally {
          this.#login.invalidateCredentials('discovery')
        }
      }
    }
  }
}

/** The time that is left for a start. */
interface StartBudget {
  readonly seconds: number
  remaining_ms: number
}
