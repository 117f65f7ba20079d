import { CONVERSATION_ACTIONS, type ConversationServices } from '../../../core/shapes/index.js'
import { Semaphore } from '../../../core/system/index.js'
import { toText } from '../../../core/text/index.js'
import {
  problem,
  type Context,
  type Contribution,
  type Handle,
  type JsonObject,
  type ExpectedState,
  type Progress,
} from '../../../core/index.js'

/** Calls of other tools that may run at once. */
const MAX_CONCURRENT_CALLS = 8

/** Change reports per second; more are dropped. */
const MAX_CHANGES_PER_SECOND = 100

const levels = ['debug', 'info', 'warn', 'error'] as const

/** One active call in the process of a plugin, with its open handles. */
export class ContextBridge {
  private readonly handles = new Map<number, Handle>()
  private last = 0
  private readonly gate = new Semaphore(MAX_CONCURRENT_CALLS)
  private changes = { second: 0, count: 0 }
  /** Requests of the plugin in this call that have no answer yet. */
  asks = 0
  constructor(
    private readonly contribution: Contribution,
    private readonly context: Context,
  ) {}

  /** Answers the known requests of a plugin and no other. The workspace judges each path and each change. */
  async answer(method: string, args: unknown[]): Promise<unknown> {
    const answer = Object.hasOwn(this.answers, method) ? this.answers[method]! : undefined
    return answer ? answer(...args) : this.callConversation(method, (args[0] ?? {}) as JsonObject)
  }

  private readonly answers: Record<string, (...args: any[]) => unknown> = {
    call: (name, input, rights) => this.context.call(toText(name), input ?? {}, rights ?? {}),
    ask: (questions) => this.context.ask?.(questions, this.context.signal),
    'client.request': (request, more) => this.context.client?.request(request, more),
    'host.slots': () => this.context.host.slots(),
    'host.describe': (slot) => this.context.host.describe(toText(slot)),
    'host.resolve': (name, input) => this.context.host.resolve(toText(name), input),
    'host.skills': () => this.context.host.skills().catalogue.map(({ name, description }) => ({ name, description })),
    'workspace.normalize': (path) => this.context.workspace.normalize(toText(path)),
    'workspace.stat': (path) => this.context.workspace.stat(toText(path)),
    'workspace.read': (path, range) => this.context.workspace.read(toText(path), range),
    'workspace.readText': (path, limits) => this.context.workspace.readText(toText(path), limits),
    'workspace.listNames': (path) => this.context.workspace.listNames(toText(path)),
    'workspace.measure': (path) => this.context.workspace.measure(toText(path)),
    'workspace.open': (path) => this.open('open', toText(path)),
    'workspace.openFile': (path) => this.open('openFile', toText(path)),
    'workspace.openDirectory': (path) => this.open('openDirectory', toText(path)),
    'handle.read': (id, offset, length) => this.handle(id).read(Number(offset), Number(length)),
    'handle.close': (id) => this.close(Number(id)),
    'workspace.write': (path, content, over: ExpectedState) =>
      this.context.workspace.write(
        toText(path),
        content instanceof Uint8Array ? content : Buffer.from(toText(content)),
        over,
      ),
    'workspace.remove': (path, how) => this.context.workspace.remove(toText(path), how),
    'workspace.rename': (from, to, how) => this.context.workspace.rename(toText(from), toText(to), how),
    'workspace.copy': (from, to, how) => this.context.workspace.copy(toText(from), toText(to), how),
  }

  /** Calls an action of the conversation. */
  private callConversation(method: string, input: JsonObject): Promise<unknown> {
    const [room, service = '', action = ''] = method.split('.')
    const actions =
      room === 'conversation' && Object.hasOwn(CONVERSATION_ACTIONS, service)
        ? this.context.conversation?.[service as keyof ConversationServices]
        : undefined
    if (!actions || !Object.hasOwn(actions, action))
      throw problem('VT_CALL_FAILED', {
        plugin: this.contribution.id,
        reason: `${method} is not available in the process of a plugin`,
      })
    return (actions as unknown as Record<string, (input: JsonObject) => Promise<unknown>>)[action]!(input)
  }

  /** Limits how many slow requests run at once. */
  async runLimited<T>(work: () => Promise<T>): Promise<T> {
    await this.gate.enter()
    try {
      return await work()
    } finally {
      this.gate.leave()
    }
  }

  /** Passes on a log line, at most one per 10 ms. */
  log(level: string, message: string): void {
    const now = Date.now()
    if (now - this.last < 10) return
    this.last = now
    this.context.log(levels.find((known) => known === level) ?? 'info', message.slice(0, 2_000))
  }

  progress(update: Progress): void {
    this.context.progress(update)
  }

  reportChange(uri: string): void {
    const second = Math.floor(Date.now() / 1000)
    if (second !== this.changes.second) this.changes = { second, count: 0 }
    if (++this.changes.count > MAX_CHANGES_PER_SECOND) return
    this.context.changed(uri)
  }

  async end(): Promise<void> {
    await Promise.allSettled([...this.handles.keys()].map((id) => this.close(id)))
  }

  private async open(method: 'open' | 'openFile' | 'openDirectory', path: string): Promise<JsonObject> {
    const handle = await this.context.workspace[method](path)
    if (this.handles.size >= 64) {
      await handle.close()
      throw problem('VT_CALL_FAILED', { plugin: this.contribution.id, reason: 'it has 64 files open already' })
    }
    this.handles.set(handle.fd, handle)
    const { fd: id, kind, resolved, stat } = handle
    return { id, path: handle.path, kind, resolved, stat }
  }

  private handle(id: unknown): Handle {
    const handle = this.handles.get(Number(id))
    if (!handle) throw problem('VT_CALL_FAILED', { plugin: this.contribution.id, reason: 'the file is closed' })
    return handle
  }

  private async close(id: number): Promise<void> {
    const handle = this.handles.get(id)
    this.handles.delete(id)
    await handle?.close()
  }
}
