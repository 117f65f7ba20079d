import { createConversation, type Result } from '../../../core/shapes/index.js'
import { toText } from '../../../core/text/index.js'
import type { Frame } from './frames.js'

/** The part of a context that is data. */
export interface ContextData {
  plugin: object
  settings: object
  slot: object
  session: string
  workspace: string
  asks: boolean
  /** The call belongs to the conversation of an agent. */
  conversation: boolean
  client?: object
}
/** A context, and the function that takes the answers for it. */
export interface ContextLink {
  context: object
  take(frame: Frame): void
}

/** Requests of one call that may be open at once. */
export const MAX_REQUESTS = 32

interface SessionState {
  state: Map<string, unknown>
  closing: (() => unknown)[]
}
const sessions = new Map<string, SessionState>()
const REQUESTED_METHODS = [
  'normalize',
  'stat',
  'read',
  'readText',
  'listNames',
  'measure',
  'write',
  'remove',
  'rename',
  'copy',
]

/**
 * Creates the context of a handler in a process of its own. Methods that touch files, tools or people send a request to
 * the program and return a promise, also `normalize` and the methods of `host`. The state of a session lasts as long as
 * this process. A handle has no `fd`, no `ref` and no methods that return other handles; `files()` opens each file by
 * itself.
 */
export function createContextLink(described: ContextData | undefined, send: (frame: Frame) => void): ContextLink {
  const abort = new AbortController()
  const waiting = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void }>()
  const queued: (() => void)[] = []
  let numbers = 0
  // The program ends a process that exceeds MAX_REQUESTS.
  const next = (): void => {
    while (waiting.size < MAX_REQUESTS && queued.length > 0) queued.shift()!()
  }
  const ask = (method: string, ...args: unknown[]): Promise<unknown> =>
    new Promise((resolve, reject) => {
      queued.push(() => {
        const k = ++numbers
        waiting.set(k, { resolve, reject })
        try {
          send({ t: 'ask', k, method, args })
        } catch (error) {
          // A value that no message can hold fails its own request only.
          waiting.delete(k)
          reject(error instanceof Error ? error : new Error(toText(error)))
        }
      })
      next()
    })
  return {
    context: described ? createRemoteContext(described, abort.signal, ask, send) : {},
    take({ t, k, value, error }) {
      if (t === 'abort') return abort.abort()
      const one = waiting.get(Number(k))
      waiting.delete(Number(k))
      next()
      if (error) one?.reject(toError(error as { message: string; problem?: { code: string } }))
      else one?.resolve(value)
    },
  }
}

type Ask = (method: string, ...args: unknown[]) => Promise<unknown>

function createRemoteContext(
  { plugin, settings, slot, session, workspace, asks, conversation, client }: ContextData,
  signal: AbortSignal,
  ask: Ask,
  send: (frame: Frame) => void,
): object {
  let reports = 0
  const calls = new WeakMap<object, [tool: string, input: unknown]>()
  const resolve = async (...call: [tool: string, input?: unknown]): Promise<unknown> => {
    const prepared = (await ask('host.resolve', ...call)) as object | undefined
    if (prepared) calls.set(prepared, [call[0], call[1]])
    return prepared
  }
  const files = Object.fromEntries(
    REQUESTED_METHODS.map((name) => [name, (...args: unknown[]) => ask(`workspace.${name}`, ...args)]),
  )
  const opened = Object.fromEntries(
    ['open', 'openFile', 'openDirectory'].map((name) => [
      name,
      async (path: string) => createHandle((await ask(`workspace.${name}`, path)) as Opened, ask),
    ]),
  )
  return {
    signal,
    plugin,
    settings,
    slot,
    workspace: {
      root: workspace,
      ...files,
      ...opened,
      createFileOpener: () => ({ openFile: opened['openFile'], [Symbol.asyncDispose]: async () => {} }),
    },
    session: {
      id: session,
      state: (key: string, begin: () => unknown) => getState(session, key, begin),
      onClose: (run: () => unknown) => void getSession(session).closing.push(run),
    },
    host: {
      slots: () => ask('host.slots'),
      describe: (tool: string) => ask('host.describe', tool),
      resolve,
      skills: () => ask('host.skills'),
    },
    ask: asks ? (questions: unknown) => ask('ask', questions) : undefined,
    client: client && {
      ...client,
      request: (requests: object, state?: unknown) => ask('client.request', requests, state),
    },
    conversation: conversation
      ? createConversation(
          (service, action, input) => ask(`conversation.${service}.${action}`, input) as Promise<Result>,
        )
      : undefined,
    call: (call: string | object, ...rest: unknown[]) =>
      ask('call', ...((typeof call === 'object' && calls.get(call)) || [call]), ...rest),
    progress: (update: unknown) => send({ t: 'progress', update }),
    log(level: string, message: string) {
      // Logs are limited to one per 10 ms: the program drops the rest.
      if (Date.now() - reports < 10) return
      reports = Date.now()
      send({ t: 'log', level, message: toText(message).slice(0, 2_000) })
    },
    changed: (uri: string) => send({ t: 'changed', uri: toText(uri).slice(0, 2_000) }),
  }
}

interface Opened {
  id: number
  path: string
  resolved: string
  kind: string
  stat: object
}

function createHandle({ id, ...about }: Opened, ask: Ask): object {
  const close = async (): Promise<void> => void (await ask('handle.close', id))
  return {
    ...about,
    read: (offset: number, length: number) => ask('handle.read', id, offset, length),
    close,
    [Symbol.asyncDispose]: close,
  }
}

function getSession(session: string): SessionState {
  const kept = sessions.get(session) ?? { state: new Map<string, unknown>(), closing: [] }
  sessions.set(session, kept)
  return kept
}

function getState(session: string, key: string, begin: () => unknown): unknown {
  const { state } = getSession(session)
  if (!state.has(key)) state.set(key, begin())
  return state.get(key)
}

/** Runs the closing functions of these or of all sessions and drops their state. */
export async function closeSessions(ids: Iterable<string> = [...sessions.keys()]): Promise<void> {
  const closing = [...ids].flatMap((id) => {
    const kept = sessions.get(id)
    sessions.delete(id)
    return kept?.closing ?? []
  })
  await Promise.allSettled(closing.map(async (run) => run()))
}

/** Converts an error of the program; plugins read its `code`. */
function toError({ message, problem }: { message: string; problem?: { code: string } }): Error {
  return Object.assign(new Error(message), problem && { name: problem.code, code: problem.code, problem })
}
