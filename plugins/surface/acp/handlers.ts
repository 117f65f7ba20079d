import type { AgentConnection, ClientCapabilities, Stream } from '@agentclientprotocol/sdk'
import type { Io, Kernel } from '../../../core/index.js'
import { connectAccount, disconnectAccount } from '../../agent/cli/index.js'
import { createInitializeResponse, SIGN_IN_METHOD } from './capabilities.js'
import { invalidParams, toRequestError } from './errors.js'
import { replaySession } from './replay.js'
import { loadAcpSdk } from './sdk.js'
import type { EditorSession } from './session.js'
import type { ConnectedEditor } from './session_agent.js'
import { SessionTable } from './session_table.js'

/** A connection with an editor. */
export interface Served {
  connection: AgentConnection
  sessions: SessionTable
}

/** Serves the agent on a stream of messages. */
export function serveEditor(kernel: Kernel, io: Io, stream: Stream): Served {
  const { agent, methods } = loadAcpSdk()
  const calls = methods.agent
  let capabilities: ClientCapabilities = {}
  const sessions = new SessionTable(kernel, io, (id) => createClient(id))

  const createClient = (sessionId: string): ConnectedEditor => {
    const { client } = connection
    const wait = (cancellationSignal: AbortSignal) => ({ cancellationSignal, stopWaitingOnCancel: true })
    return {
      update: (update) => client.notify(methods.client.session.update, { sessionId, update }),
      requestPermission: (request, signal) =>
        client
          .request(methods.client.session.requestPermission, { sessionId, ...request }, wait(signal))
          .catch(() => undefined),
      ...(capabilities.elicitation?.form && {
        elicit: (form, signal) =>
          client.request(
            methods.client.elicitation.create,
            { sessionId, mode: 'form', ...form } as never,
            wait(signal),
          ),
      }),
      ...(capabilities.fs?.readTextFile === true && {
        readBuffer: (path) => client.request(methods.client.fs.readTextFile, { sessionId, path }),
      }),
    }
  }

  /** Converts every error of a handler to one that an editor may show. */
  const guard =
    <Context, Answer>(handle: (context: Context) => Answer | Promise<Answer>) =>
    async (context: Context): Promise<Answer> => {
      try {
        return await handle(context)
      } catch (error) {
        throw toRequestError(error, io)
      }
    }

  /** Describes an opened session; its commands follow the answer, which names the session. */
  const describe = (session: EditorSession) => {
    setImmediate(() => void session.announce().catch(() => {}))
    return { modes: session.modes, configOptions: session.configOptions }
  }

  const app = agent({ name: 'vtcode' })
    .onRequest(calls.initialize, ({ params }) => {
      capabilities = params.clientCapabilities ?? {}
      return createInitializeResponse(params)
    })
    .onRequest(
      calls.authenticate,
      guard(async ({ params, signal }) => {
        if (params.methodId !== SIGN_IN_METHOD) throw invalidParams('methodId', `must be ${SIGN_IN_METHOD}.`)
        await connectAccount(kernel, io, signal)
        return {}
      }),
    )
    .onRequest(
      calls.logout,
      guard(async () => {
        await disconnectAccount(kernel, io)
        return {}
      }),
    )
    .onRequest(
      calls.session.new,
      guard(async ({ params }) => {
        const session = await sessions.open(params)
        return { sessionId: session.id, ...describe(session) }
      }),
    )
    .onRequest(
      calls.session.load,
      guard(async ({ params }) => {
        const session = await sessions.open(params, params.sessionId)
        await replaySession(session.kernel, session.id, createClient(session.id).update)
        return describe(session)
      }),
    )
    .onRequest(
      calls.session.resume,
      guard(async ({ params }) => describe(await sessions.open(params, params.sessionId))),
    )
    .onRequest(
      calls.session.list,
      guard(async ({ params }) => {
        const { sessions: found, next } = await sessions.list(params.cwd ?? undefined, params.cursor ?? undefined)
        return { sessions: found, ...(next !== undefined && { nextCursor: next }) }
      }),
    )
    .onRequest(
      calls.session.close,
      guard(async ({ params }) => {
        await sessions.close(params.sessionId)
        return {}
      }),
    )
    .onRequest(
      calls.session.delete,
      guard(async ({ params }) => {
        await sessions.delete(params.sessionId)
        return {}
      }),
    )
    .onRequest(
      calls.session.setMode,
      guard(async ({ params }) => {
        await sessions.get(params.sessionId).setMode(params.modeId)
        return {}
      }),
    )
    .onRequest(
      calls.session.setConfigOption,
      guard(async ({ params }) => ({
        configOptions: await sessions.get(params.sessionId).setOption(params.configId, params.value),
      })),
    )
    .onRequest(
      calls.session.prompt,
      guard(({ params, signal }) => sessions.get(params.sessionId).prompt(params.prompt, signal)),
    )
    // A cancellation of an unknown or idle session has nothing to stop.
    .onNotification(calls.session.cancel, ({ params }) => {
      try {
        sessions.get(params.sessionId).cancel()
      } catch (error) {
        void toRequestError(error, io)
      }
    })
  const connection = app.connect(stream)
  return { connection, sessions }
}
