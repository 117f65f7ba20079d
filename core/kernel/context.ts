import { blocksOf, deepFreeze, optionsOf, redactText, type Call, type LazyAbort, type Contribution, type JsonObject, type Result, type Settings, type SlotInfo } from '../base/index.js'
import type { Workspace } from '../workspace/index.js'
import type { Context, Host, Judged, LogLevel, Progress, Session } from './plugin_types.js'
import type { CallOptions } from './types.js'

/** The sessions of a kernel: state that outlives a call, by id. */
export class KernelSessions {
  private readonly open = new Map<string, SessionState>()

  get(id: string): Session {
    let session = this.open.get(id)
    if (!session) this.open.set(id, (session = new SessionState(id)))
    return session
  }
  async end(id: string): Promise<void> {
    const session = this.open.get(id)
    this.open.delete(id)
    await session?.close()
  }
  async endAll(): Promise<void> {
    await Promise.all([...this.open.keys()].map((id) => this.end(id)))
  }
}

class SessionState implements Session {
  private readonly values = new Map<string, unknown>()
  private readonly closing: (() => void | Promise<void>)[] = []
  constructor(readonly id: string) {}

  state<T>(key: string, make: () => T): T {
    if (!this.values.has(key)) this.values.set(key, make())
    return this.values.get(key) as T
  }
  onClose(run: () => void | Promise<void>): void {
    this.closing.push(run)
  }
  async close(): Promise<void> {
    await Promise.allSettled(this.closing.map(async (run) => run()))
  }
}

/** One call under way: what its contexts share. */
export interface CallRun {
  readonly slot: SlotInfo
  readonly session: Session
  readonly cancel: LazyAbort
  readonly options: CallOptions
  readonly depth: number
  readonly nest: (tool: string, input: JsonObject) => Promise<Result>
  readonly end: () => void
  /** Collects the notes of policies when a call is only explained. */
  readonly notes: { policy: string; note: JsonObject }[] | undefined
  over: boolean
  judged?: Judged
}

/** The services that a generation supplies to every context. */
export interface ContextServices {
  readonly settings: Settings
  readonly workspace: Workspace
  /** The workspace without the files that rules hide from tools: handlers get this one. */
  readonly filtered: Workspace
  readonly host: Host
  readonly log: (level: string, message: string) => void
  readonly changed: (uri: string) => void
  readonly dataOf: (contribution: Contribution) => string
}

/** The number of reports that may come at once; one more is allowed for every tenth of a second. */
const BURST = 10
const REFILL_MS = 100

/** The context of one contribution within one call. */
export function contextOf(services: ContextServices, contribution: Contribution, run: CallRun): Context {
  return new CallContext(services, contribution, run, grantOf(services, contribution))
}

/** Members are getters, so that an unused value is never computed and the context can be destructured: `({ input }, { call, signal })`. */
class CallContext implements Context {
  private last = 0
  private spare = BURST
  constructor(
    private readonly services: ContextServices,
    private readonly contribution: Contribution,
    private readonly run: CallRun,
    private readonly grant: Grant,
  ) {}

  get signal() {
    return this.run.cancel.signal
  }
  get plugin() {
    return this.grant.plugin
  }
  get settings() {
    return this.grant.settings
  }
  get slot() {
    return this.run.slot
  }
  get workspace() {
    return this.contribution.kind === 'policy' || this.contribution.kind === 'compactor' ? this.services.workspace : this.services.filtered
  }
  get session() {
    return this.run.session
  }
  get host() {
    return this.services.host
  }
  get explain() {
    const { notes } = this.run
    return notes && ((note: JsonObject) => void notes.push({ policy: this.contribution.id, note }))
  }
  get judged() {
    return this.run.judged
  }
  get ask() {
    return this.run.options.ask
  }
  get client() {
    return this.run.options.client
  }
  get call() {
    return this.run.nest
  }
  get progress() {
    return (update: Progress) => {
      const now = Date.now()
      this.spare = Math.min(BURST, this.spare + (now - this.last) / REFILL_MS)
      this.last = now
      if (this.run.over || this.spare < 1) return
      this.spare--
      this.run.options.onProgress?.(update)
    }
  }
  get log() {
    return (level: LogLevel, message: string) => {
      this.services.log(level, `${this.contribution.id}: ${message}`)
      if (!this.run.over) this.run.options.onLog?.(level, redactText(message))
    }
  }
  get changed() {
    return this.services.changed
  }
}

interface Grant {
  plugin: Context['plugin']
  settings: JsonObject
}
const grants = new WeakMap<Contribution, { of: Settings; grant: Grant }>()

/** The settings that a contribution can read: its own options, and the blocks that its manifest names. */
function grantOf({ settings, dataOf }: ContextServices, contribution: Contribution): Grant {
  const known = grants.get(contribution)
  if (known?.of === settings) return known.grant
  const plugin = { name: contribution.plugin, root: contribution.root, data: dataOf(contribution), options: optionsOf(settings, contribution) }
  const grant = deepFreeze({ plugin, settings: blocksOf(settings, contribution) })
  grants.set(contribution, { of: settings, grant })
  return grant
}

/** The call of this run as policies and compactors receive it. */
export const callerOf = (run: Pick<CallRun, 'options' | 'depth'>, surface: string, alias?: string): Call['caller'] => ({
  surface: run.options.surface ?? surface,
  depth: run.depth,
  ...(alias !== undefined && { alias }),
  ...(run.options.sandbox && { sandbox: run.options.sandbox }),
})
