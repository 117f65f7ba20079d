import {
  deepFreeze,
  problem,
  createVisibleAsker,
  createVisibleClient,
  type Call,
  type Contribution,
  type ConversationServices,
  type Effect,
  type JsonObject,
  type Result,
  type Settings,
  type SlotInfo,
} from '../shapes/index.js'
import { pickSettings, resolveOptions, type LazyAbort } from '../system/index.js'
import { redactText, visible, toVisibleProgress } from '../text/index.js'
import { readRequest, type CallArguments, type CallRequest } from '../input/index.js'
import type { Workspace } from '../workspace/index.js'
import type { ContextServices } from '../generation/index.js'
import { openPluginWorkspace } from './plugin_workspace.js'
import type {
  CallOptions,
  ChangeJudge,
  Context,
  Host,
  PolicyOutcome,
  DelegatedRights,
  LogLevel,
  Progress,
  SandboxUse,
  Session,
} from '../contract/index.js'

/** The sessions of a kernel: state that outlives a call, by id. */
export class KernelSessions {
  private readonly open = new Map<string, SessionState>()

  get(id: string): Session {
    let session = this.open.get(id)
    if (!session) this.open.set(id, (session = new SessionState(id)))
    return session
  }
  find(id: string): Session | undefined {
    return this.open.get(id)
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

/** The state of one running call, which its contexts share. */
export interface CallRun {
  readonly slot: SlotInfo
  readonly call: Call
  /** The host for its handlers and policies, if the rights are limited; created on first use. */
  host?: Host
  readonly session: Session
  readonly cancel: LazyAbort
  readonly options: CallOptions
  readonly depth: number
  readonly nest: (request: CallRequest, how: CallOptions, limit?: EffectLimit) => Promise<Result>
  readonly limit: EffectLimit | undefined
  readonly end: () => void
  /** Collects the notes of policies when a call is only explained. */
  readonly notes: { policy: string; note: JsonObject }[] | undefined
  ended: boolean
  /** Codes of failed nested calls, which its handler may return. */
  passableCodes?: Set<string>
  judged?: PolicyOutcome
  sandbox?: SandboxUse
  /** The run of the outer call. */
  readonly outer: CallRun | undefined
  /** Milliseconds that people took to answer, and the questions that are open since `waits_since`. */
  waited_ms?: number
  waiting: number
  waits_since?: number
  /** Returns the paths that policies or a person have judged. */
  readonly places: () => Call['places'] | undefined
  /** Asks the policies of the program about a change by the code of a plugin. Throws VT_POLICY_DENIED. */
  readonly judgeChange: (change: Parameters<ChangeJudge>[0]) => Promise<void>
  /** The workspace of its handlers, created on first use. */
  workspace?: Workspace
  /**
   * `begun`: a handler that may change something was called. `committed`: it changed something or is about to, so the
   * call is no longer aborted but ends.
   */
  begun?: boolean
  committed: boolean
  /** An inner call is committed: the call is not aborted before its handler has waited for it. */
  committedInner?: boolean
  /** Called before each change, and with `preparing` on the way to one. Throws VT_CALL_ABORTED for an aborted call. */
  commit(how: 'preparing' | 'changing'): void
}

/** Measures the time until a person answers, which does not count as time of the call or of its outer calls. */
export function measureWait<T>(run: CallRun, answer: () => Promise<T>): Promise<T> {
  for (let one: CallRun | undefined = run; one; one = one.outer)
    if (one.waiting++ === 0) one.waits_since = performance.now()
  return answer().finally(() => {
    for (let one: CallRun | undefined = run; one; one = one.outer) {
      if (--one.waiting > 0) continue
      one.waited_ms = (one.waited_ms ?? 0) + performance.now() - one.waits_since!
    }
  })
}

/** Implements `CallRun.commit`. */
export function commitRun(run: CallRun, how: 'preparing' | 'changing'): void {
  if (run.cancel.aborted && !run.committed) throw problem('VT_CALL_ABORTED')
  if (how !== 'changing' || run.committed) return
  run.committed = true
  for (let one = run.outer; one; one = one.outer) one.committedInner = true
}

/** Number of reports that may come at once; one more is allowed every tenth of a second. */
const BURST = 10
const REFILL_MS = 100

/** Creates the context of one contribution within one call. */
export function createContext(services: ContextServices, contribution: Contribution, run: CallRun): Context {
  return new CallContext(services, contribution, run, createGrant(services, contribution))
}

/**
 * Members are getters, so that an unused value is never computed and the context can be destructured: `({ input }, {
 * call, signal })`.
 */
class CallContext implements Context {
  private last = 0
  private spare = BURST
  #conversation: ConversationServices | undefined
  private pluginWorkspace: Workspace | undefined
  private pluginSession: Session | undefined
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
    const { contribution, run, services } = this
    if (services.hasForeignCode(contribution))
      return (this.pluginWorkspace ??= openPluginWorkspace(services, contribution, run))
    if (this.isJudge) return services.workspace
    return (run.workspace ??= this.services.filtered.createCallView(run.places(), run.commit))
  }
  get session() {
    const { contribution, run, services } = this
    return services.hasForeignCode(contribution)
      ? (this.pluginSession ??= createPluginSession(run.session, contribution))
      : run.session
  }
  get host() {
    const {
      services: { host },
      run,
    } = this
    const { only } = run.call
    return only ? (run.host ??= { ...host, slots: () => host.slots(only) }) : host
  }
  get explain() {
    const { notes } = this.run
    return notes && ((note: JsonObject) => void notes.push({ policy: this.contribution.id, note }))
  }
  get judged() {
    return this.run.judged
  }
  get sandbox() {
    return this.run.sandbox
  }
  get waited_ms() {
    const { waited_ms = 0, waiting, waits_since } = this.run
    return waiting > 0 ? waited_ms + performance.now() - waits_since! : waited_ms
  }
  get ask() {
    const ask = createVisibleAsker(this.run.options.ask)
    return ask && ((...question: Parameters<typeof ask>) => measureWait(this.run, () => ask(...question)))
  }
  get client() {
    return createVisibleClient(this.run.options.client)
  }
  get call() {
    const { run, contribution } = this
    const isOwn = contribution.layer === 'builtin'
    return async (...call: CallArguments<DelegatedRights>) => {
      const request = readRequest(...call)
      const isCaller = isOwn && !run.limit && request.options?.asCaller === true
      const less = {
        ...pickLessRights(request.options, isOwn),
        audiences: isCaller ? run.options.audiences : undefined,
      }
      const result = await run.nest(request, less, isOwn ? undefined : this.limit)
      if (!isOwn && !result.ok) (run.passableCodes ??= new Set()).add(result.error.code)
      return result
    }
  }
  get conversation() {
    const { slot, options } = this.run
    if (slot.audience === undefined || (this.isJudge && this.services.hasForeignCode(this.contribution)))
      return undefined
    if (!options.conversation) throw problem('VT_AGENT_NONE', { slot: slot.slot })
    const foreign = this.services.hasForeignCode(this.contribution)
    const call = { slot: slot.slot, signal: this.signal, ask: this.ask, foreign }
    return (this.#conversation ??= options.conversation(call))
  }
  get scripts() {
    return this.contribution.layer === 'builtin' ? this.run.options.scripts : undefined
  }
  private get isJudge(): boolean {
    const { kind } = this.contribution
    return kind === 'policy' || kind === 'compactor'
  }
  /**
   * Limits nested calls of a foreign plugin to reads, questions and the effects that its own actions and this call
   * have, and to those of its own caller.
   */
  private get limit(): EffectLimit {
    const { services, contribution, run } = this
    const rights = services.listRights(contribution).filter((effect) => run.call.effects.includes(effect))
    const own = new Set<Effect>(['read', 'ask', ...rights])
    return {
      id: contribution.id,
      effects: [...own].filter((effect) => !run.limit || run.limit.effects.includes(effect)),
    }
  }
  get progress() {
    return (update: Progress) => {
      const now = Date.now()
      this.spare = Math.min(BURST, this.spare + (now - this.last) / REFILL_MS)
      this.last = now
      if (this.run.ended || this.spare < 1) return
      this.spare--
      this.run.options.onProgress?.(toVisibleProgress(update))
    }
  }
  get log() {
    return (level: LogLevel, message: string) => {
      this.services.log(level, `${this.contribution.id}: ${message}`)
      if (!this.run.ended) this.run.options.onLog?.(level, visible(redactText(message)))
    }
  }
  get changed() {
    return this.services.changed
  }
}

/** Returns a session whose state belongs to one plugin: that of the program and of other plugins stays closed. */
const createPluginSession = (session: Session, { plugin }: Contribution): Session => ({
  id: session.id,
  state: (key, make) => session.state(`plugin ${plugin} ${key}`, make),
  onClose: (run) => session.onClose(run),
})

/** Keeps only the narrower rights of the options that a plugin passes to a nested call. */
const pickLessRights = (how: DelegatedRights | undefined, isOwn: boolean): DelegatedRights => ({
  ...(how?.mode !== undefined && { mode: how.mode }),
  ...(how?.only !== undefined && { only: how.only }),
  ...(how?.signal !== undefined && { signal: how.signal }),
  // Code of others must not add lines to a question.
  ...(isOwn && how?.origin !== undefined && { origin: how.origin }),
})

/** A plugin, and the effects that its nested calls may have. */
export type EffectLimit = { readonly id: string; readonly effects: readonly Effect[] }

interface Grant {
  plugin: Context['plugin']
  settings: Settings
}
const grants = new WeakMap<Contribution, { of: Settings; grant: Grant }>()

/** Returns the settings that a contribution can read: its own options, and the blocks that its manifest names. */
function createGrant({ settings, findDataFolder }: ContextServices, contribution: Contribution): Grant {
  const known = grants.get(contribution)
  if (known?.of === settings) return known.grant
  const plugin = {
    name: contribution.plugin,
    root: contribution.root,
    data: findDataFolder(contribution),
    options: resolveOptions(settings, contribution),
  }
  const grant = deepFreeze({ plugin, settings: pickSettings(settings, contribution) })
  grants.set(contribution, { of: settings, grant })
  return grant
}

/** Describes the caller of a run for policies and compactors. */
export const describeCaller = (
  run: Pick<CallRun, 'options' | 'depth'>,
  surface: string,
  alias?: string,
): Call['caller'] => ({
  surface: run.options.surface ?? surface,
  depth: run.depth,
  ...(alias !== undefined && { alias }),
  ...(run.options.sandbox && { sandbox: run.options.sandbox }),
  ...(run.options.origin !== undefined && { origin: run.options.origin }),
})
