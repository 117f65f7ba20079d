import { CONVERSATION_ACTIONS, Semaphore, toText, type ConversationServices } from '../../../core/base/index.js'
import { problem, type Call, type Client, type Context, type Contribution, type Handle, type JsonObject, type LessRights, type Over, type Progress } from '../../../core/index.js'

/** Calls of other tools that run at once. */
const CALLS = 8

/** Resources that are said to have changed within a second. */
const CHANGES = 100

const levels = ['debug', 'info', 'warn', 'error'] as const

/** One call under way in a plugin's process, and its open handles. */
export class ContextBridge {
  private readonly handles = new Map<number, Handle>()
  private last = 0
  private readonly gate = new Semaphore(CALLS)
  private changes = { second: 0, count: 0 }
  /** What the plugin asked in this call and was not answered yet. */
  asks = 0
  constructor(
    private readonly contribution: Contribution,
    private readonly call: Call | undefined,
    private readonly context: Context,
  ) {}

  /** The requests that a plugin may make of its context. No other request is answered; each path goes through the workspace. */
  async answer(method: string, args: unknown[]): Promise<unknown> {
    const { workspace, host } = this.context
    const [first, second, third] = args
    switch (method) {
      case 'call':
        return this.context.call(toText(first), (second ?? {}) as JsonObject, (third ?? {}) as LessRights)
      case 'ask':
        return this.context.ask?.(first as Parameters<NonNullable<Context['ask']>>[0], this.context.signal)
      case 'client.request':
        return this.context.client?.request(first as Parameters<Client['request']>[0], second)
      case 'host.slots':
        return host.slots()
      case 'host.describe':
        return host.describe(toText(first))
      case 'host.resolve':
        return host.resolve(toText(first), second)
      case 'host.skills':
        return host.skills().catalogue.map(({ name, description }) => ({ name, description }))
      case 'workspace.normalize':
        return workspace.normalize(toText(first))
      case 'workspace.stat':
        return workspace.stat(toText(first))
      case 'workspace.read':
        return workspace.read(toText(first), second as { offset?: number; length?: number } | undefined)
      case 'workspace.text':
        return workspace.text(toText(first), second as { max_bytes?: number } | undefined)
      case 'workspace.names':
        return workspace.names(toText(first))
      case 'workspace.measure':
        return workspace.measure(toText(first))
      case 'workspace.open':
      case 'workspace.openFile':
      case 'workspace.openDirectory':
        return this.open(method.slice('workspace.'.length) as 'open', toText(first))
      case 'handle.read':
        return this.handle(first).read(Number(second), Number(third))
      case 'handle.close':
        return this.close(Number(first))
      case 'workspace.write':
        this.requireWrite()
        return workspace.write(toText(first), second instanceof Uint8Array ? second : Buffer.from(toText(second)), third as Over)
      case 'workspace.remove':
        this.requireWrite()
        return workspace.remove(toText(first), second as { recursive?: boolean } | undefined)
      case 'workspace.rename':
        this.requireWrite()
        return workspace.rename(toText(first), toText(second), third as { replace?: boolean } | undefined)
      case 'workspace.copy':
        this.requireWrite()
        return workspace.copy(toText(first), toText(second), third as { replace?: boolean } | undefined)
      default:
        return this.converse(method, (first ?? {}) as JsonObject)
    }
  }

  /** Calls an action of the conversation. */
  private converse(method: string, input: JsonObject): Promise<unknown> {
    const [room, service = '', action = ''] = method.split('.')
    const actions = room === 'conversation' && Object.hasOwn(CONVERSATION_ACTIONS, service) ? this.context.conversation?.[service as keyof ConversationServices] : undefined
    if (!actions || !Object.hasOwn(actions, action)) throw problem('VT_CALL_FAILED', { plugin: this.contribution.id, reason: `${method} is not to be had in the process of a plugin` })
    return (actions as unknown as Record<string, (input: JsonObject) => Promise<unknown>>)[action]!(input)
  }

  /** Other tools run side by side, but not as many as the plugin likes. */
  async slowly<T>(work: () => Promise<T>): Promise<T> {
    await this.gate.enter()
    try {
      return await work()
    } finally {
      this.gate.leave()
    }
  }

  /** Limits how often a plugin logs. */
  log(level: string, message: string): void {
    const now = Date.now()
    if (now - this.last < 10) return
    this.last = now
    this.context.log(levels.find((known) => known === level) ?? 'info', message.slice(0, 2_000))
  }

  progress(update: Progress): void {
    this.context.progress(update)
  }

  changed(uri: string): void {
    const second = Math.floor(Date.now() / 1000)
    if (second !== this.changes.second) this.changes = { second, count: 0 }
    if (++this.changes.count > CHANGES) return
    this.context.changed(uri)
  }

  async end(): Promise<void> {
    await Promise.allSettled([...this.handles.keys()].map((id) => this.close(id)))
  }

  private async open(method: 'open' | 'openFile' | 'openDirectory', path: string): Promise<JsonObject> {
    const handle = await this.context.workspace[method](path)
    if (this.handles.size >= 64) {
      await handle.close()
      throw problem('VT_CALL_FAILED', { plugin: this.contribution.id, reason: 'it holds 64 files open' })
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

  private requireWrite(): void {
    if (this.call?.effects.includes('write')) return
    throw problem('VT_PLUGIN_EFFECT', { id: this.contribution.id, effect: 'write' })
  }
}
