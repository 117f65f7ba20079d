import { fail, type Result, type ToolInfo } from '../../../core/shapes/index.js'
import { deadline, Semaphore } from '../../../core/system/index.js'
import { raceAbort } from '../../lib/base/index.js'
import type { MergedFile } from '../../lib/worktrees/index.js'
import type { ChildReport, ChildStatus, Msg } from '../base/index.js'
import { answered, askingFor, chargeOf, faultOf, itemOf, noneLeft, partEnd, tooDeep, unknownPart } from './child.js'
import { workOn } from './part_hooks.js'
import { planAgain, planPart } from './plan_part.js'
import { listedText, shownReport, waitedText } from './report.js'
import { agentsTool, reportTool } from './rights.js'
import { hasEnded, type PartEntry } from './state.js'
import { endedText, Worktrees } from './trees.js'
import type {
  ChildPlan,
  ChildThread,
  DelegatingConversation,
  GivenPart,
  HowBegun,
  LivePart,
  OpenChild,
} from './types.js'

/** The parts of a conversation's work that agents do, and the report of one that is such a part. */
export class Delegation {
  private readonly live = new Map<string, LivePart>()
  private gate: Semaphore | undefined
  /** Parts that were given in this run. */
  private given = 0
  private numbers = 0
  private report: ChildReport | undefined
  private reported = false
  /** Agents of the repository that a person heard of. */
  private readonly told = new Set<string>()
  private readonly trees: Worktrees

  /** `own`: what it is told of itself where it is a part of another one's work. */
  constructor(
    private readonly thread: DelegatingConversation,
    private readonly open: OpenChild,
    private readonly own: ChildPlan | undefined,
  ) {
    this.trees = new Worktrees(thread)
  }

  /** How many conversations are above this one. A program that an agent's command starts knows of one. */
  private get depth(): number {
    return this.own?.depth ?? this.thread.state.part?.depth ?? (this.thread.providers.env['VTCODE'] === '1' ? 1 : 0)
  }
  private get isPart(): boolean {
    return this.own !== undefined
  }
  /** What the system prompt says to an agent. */
  get charge(): string {
    return this.own ? chargeOf(this.own) : ''
  }

  private get limits() {
    return this.thread.settings.subagents
  }
  /** It may give parts of its work to agents. */
  get possible(): boolean {
    return this.limits.enabled && this.depth < this.limits.max_depth
  }
  /** The tools without those that are not for this conversation. */
  readonly withoutOthers = (tools: ToolInfo[]): ToolInfo[] =>
    tools.filter(({ name }) => (name === reportTool ? this.isPart : name !== agentsTool || this.possible))

  /** A run begins. */
  begins(): void {
    this.given = 0
    this.report = undefined
  }

  async spawn(given: GivenPart, signal: AbortSignal, call_id?: string): Promise<Result> {
    return answered(async () => {
      const begun = await this.begin(given, call_id)
      const { child, live } = begun
      const { id, agent, background } = child
      if (background) return { child, text: `${id} (${agent}) works beside you.` }
      await raceAbort(signal, live.ended).catch((error: unknown) =>
        this.stop(id, 'The call was cancelled.').then(() => Promise.reject(error as Error)),
      )
      return this.ending(id)
    })
  }

  async send(id: string, message: string, interrupt: boolean): Promise<Result> {
    return answered(async () => {
      this.check()
      const { child } = this.entryOf(id)
      const live = this.live.get(id)
      if (live?.thread) await live.thread.say(message, interrupt)
      else if (live) live.texts.push(message)
      else {
        const again = await planAgain(this.thread, child, this.among)
        await this.enqueue(again.child, again.plan, message)
      }
      return { child: this.entryOf(id).child, text: `${id} (${child.agent}) has it.` }
    })
  }

  /** Waits until all or any of them ended, at most so many seconds. */
  async wait(
    ids: readonly string[] | undefined,
    mode: 'all' | 'any',
    timeout_secs: number,
    signal: AbortSignal,
  ): Promise<Result> {
    return answered(async () => {
      const meant = ids
        ? ids.map((id) => this.entryOf(id).child.id)
        : this.thread.state.children.map(({ child }) => child.id)
      const running = meant.flatMap((id) => this.live.get(id)?.ended ?? [])
      using limit = deadline(timeout_secs * 1000, signal)
      const all: Promise<unknown> =
        running.length === 0 ? Promise.resolve() : mode === 'all' ? Promise.all(running) : Promise.race(running)
      const timed_out = await raceAbort(limit.signal, all).then(
        () => false,
        () => limit.expired,
      )
      signal.throwIfAborted()
      const children = meant.map((id) => this.entryOf(id))
      for (const entry of children)
        if (hasEnded(entry.child) && !entry.told) await this.note(entry.child, { told: true })
      return {
        output: { children: children.map(({ child }) => child), timed_out },
        text: waitedText(children, timed_out),
      }
    })
  }

  /** As they stand, with what they cost so far. */
  get children(): ChildStatus[] {
    return this.thread.state.children.map(({ child }) => ({
      ...child,
      cost_usd: this.live.get(child.id)?.thread?.cost_usd ?? child.cost_usd,
    }))
  }

  list(): Result {
    const { children } = this
    const running = children.filter(({ status }) => status === 'running').length
    const output = {
      children,
      slots_left: Math.max(0, this.limits.max_concurrent - running),
      total_left: this.leftToStart,
      spent_usd: this.thread.costs.spent,
    }
    return { ok: true, output, text: listedText(output) }
  }

  /** Ends a part, and its worktree with it. `merge`: all that it did there comes into the files of this conversation before, or these globs of it. */
  async close(id: string, merge: boolean | readonly string[], signal: AbortSignal): Promise<Result> {
    return answered(async () => {
      await this.stop(id, 'It was closed.')
      const {
        child: { worktree, ...child },
      } = this.entryOf(id)
      const result =
        merge === false ? undefined : await this.trees.merge(child, merge === true ? undefined : merge, signal)
      if (result?.ok === false) return result
      const merged = result?.output['changes'] as MergedFile[] | undefined
      const left = await this.trees.left(child)
      await this.trees.drop(child)
      if (child.status !== 'closed' || worktree !== undefined)
        await this.note({ ...child, status: 'closed' }, { told: true })
      return {
        output: { ...this.entryOf(id).child, ...(merged && { changes: merged }) },
        text: endedText(child, left, merged),
      }
    })
  }

  /** The report of this conversation itself, which ends it. */
  finishWith(report: ChildReport): Result {
    if (!this.isPart)
      return fail('VT_AGENT_NONE', 'Only an agent that does a part of the work reports.', { hint: 'Answer the user.' })
    this.report = report
    this.reported = true
    return { ok: true, output: { reported: true }, text: 'Reported.' }
  }
  get ownReport(): ChildReport | undefined {
    return this.report
  }
  taken(): { text: string } | undefined {
    const ends = this.reported
    this.reported = false
    return ends ? { text: this.report!.summary } : undefined
  }

  /** Tells the model how parts ended that it has not read of. */
  async remind(): Promise<void> {
    const untold = this.thread.state.children.filter(({ child, told }) => hasEnded(child) && !told)
    if (untold.length > 0)
      await this.thread.inject(
        untold.map(({ child, report }) => shownReport(child, report)).join('\n\n'),
        'harness',
        'reports',
      )
  }

  /** Agents work for it. */
  get busy(): boolean {
    return this.live.size > 0
  }

  /** Keeps a run from ending while agents work for it, unless a message arrives or the user ends it. */
  async next(signal: AbortSignal): Promise<Msg | undefined> {
    const untold = () => this.thread.state.children.some(({ child, told }) => hasEnded(child) && !told)
    const { queue: inputs } = this.thread
    while (!untold() && this.busy && !signal.aborted && inputs.pending.length === 0) {
      await raceAbort(
        signal,
        Promise.race([inputs.waitForInput(), ...[...this.live.values()].map(({ ended }) => ended)]),
      ).catch(() => {})
    }
    return untold()
      ? {
          role: 'user',
          parts: [
            { type: 'text', text: 'An agent that you started has ended. Its report is below. Continue your task.' },
          ],
          origin: 'harness',
        }
      : undefined
  }

  /** The run is over: nobody works for it any more. */
  async ends(): Promise<void> {
    await Promise.all([...this.live.keys()].map((id) => this.stop(id, 'The run of its conversation ended.')))
    await this.trees.name(this.thread.state.children.map(({ child }) => child))
  }

  /** The conversation is left: copies in which nothing is to be merged go. */
  async left(): Promise<void> {
    await this.trees.dropMerged(this.thread.state.children.map(({ child }) => child))
  }

  private get leftToStart(): number {
    return Math.max(0, this.limits.max_total_per_run - this.given)
  }
  private entryOf(id: string): PartEntry {
    const { children } = this.thread.state
    const found = children.find(({ child }) => child.id === id)
    if (found) return found
    throw unknownPart(
      id,
      children.map(({ child }) => child),
    )
  }
  private check(begins = false): void {
    if (!this.possible) throw tooDeep(this.limits, this.depth)
    if (begins && this.leftToStart === 0) throw noneLeft(this.limits)
  }

  private async begin(given: GivenPart, call_id: string | undefined): Promise<{ child: ChildStatus; live: LivePart }> {
    const { thread } = this
    this.check(true)
    const { child: planned, plan, text, untrusted } = planPart(thread, given, { depth: this.depth + 1, ...this.among })
    const child = { id: `a${(this.numbers = Math.max(this.numbers, thread.state.children.length) + 1)}`, ...planned }
    if (planned.isolation === 'worktree') {
      await this.trees.refuseImpossible()
      // Other agents may have started in the meantime.
      this.check(true)
    }
    this.given += 1
    const live = await this.enqueue(child, plan, text, { call_id, ...given })
    if (untrusted !== undefined && !this.told.has(child.agent)) {
      this.told.add(child.agent)
      await thread.remark('VT_AGENT_DEFINITION', untrusted)
    }
    return { child, live }
  }
  private get among(): { delegates: boolean; others: ChildStatus[] } {
    return {
      delegates: this.depth + 1 < this.limits.max_depth,
      others: [...this.live.values()].map(({ child }) => child),
    }
  }

  private async enqueue(
    child: ChildStatus,
    plan: ChildPlan,
    text: string,
    { call_id, timeout_secs = this.limits.default_timeout_secs }: HowBegun = {},
  ): Promise<LivePart> {
    const { thread } = this
    const live: LivePart = {
      child,
      plan: { ...plan, ...askingFor(thread, child) },
      texts: [text],
      timeout_secs,
      cancel: new AbortController(),
      item: thread.newId('it'),
      ended: Promise.resolve(),
    }
    this.live.set(child.id, live)
    await thread.commit({ kind: 'child', child, ...(call_id !== undefined && { call_id }) })
    await thread.events.start(itemOf(child, live.item))
    live.ended = this.runInTurn(child.id, live.cancel.signal)
    return live
  }

  /** Runs a part as soon as fewer than `max_concurrent` run; one that is stopped before ends at once. */
  private async runInTurn(id: string, signal: AbortSignal): Promise<void> {
    const gate = (this.gate ??= new Semaphore(this.limits.max_concurrent))
    const entered = gate.enter() ?? Promise.resolve()
    const isStopped = await raceAbort(signal, entered).then(
      () => false,
      () => true,
    )
    if (!isStopped) return this.run(id, signal).finally(() => gate.leave())
    void entered.then(() => gate.leave())
    return this.over(id, { status: 'closed' })
  }

  /** Does a part to its end; how it ended is a value. */
  private async run(id: string, signal: AbortSignal): Promise<void> {
    const live = this.live.get(id)!
    const { thread } = this
    let child: ChildThread | undefined
    try {
      if (live.child.isolation === 'worktree') live.plan.tree = await this.trees.open(live.child, signal)
      child = live.thread = await this.open(thread, live.plan)
      await this.note({
        ...this.entryOf(id).child,
        status: 'running',
        ...(live.plan.tree && { worktree: this.trees.pathOf(live.child) }),
      })
      await thread.events.update(itemOf(this.entryOf(id).child, live.item))
      using limit = deadline(live.timeout_secs * 1000, signal)
      const { report, outcome } = await workOn(thread, child, {
        part: this.entryOf(id).child,
        texts: live.texts,
        signal: limit.signal,
      })
      const changed = (live.plan.tree && (await this.trees.left(live.child))) ?? child.changed_files
      await this.over(
        id,
        partEnd(outcome, { ...live, expired: limit.expired, reported: child.report !== undefined }),
        report,
        changed,
      )
    } catch (error) {
      await this.over(
        id,
        live.stopped === undefined ? { status: 'failed', error: faultOf(error) } : { status: 'closed' },
      )
    } finally {
      await child?.close().catch(() => {})
    }
  }

  /** What is told of its end, once. */
  private async over(
    id: string,
    end: Pick<ChildStatus, 'status' | 'error'>,
    report?: ChildReport,
    changed: readonly string[] = [],
  ): Promise<void> {
    const live = this.live.get(id)
    if (!live) return
    this.live.delete(id)
    const { cost_usd } = live.thread ?? live.child
    const completed_at = new Date(this.thread.providers.clock.now()).toISOString()
    const summary = report && { summary: report.summary.slice(0, 300) }
    const child: ChildStatus = {
      ...this.entryOf(id).child,
      ...end,
      cost_usd,
      completed_at,
      ...summary,
      ...(changed.length > 0 && { changed_files: [...changed] }),
    }
    await this.note(child, { ...(report && { report }), ...(end.status === 'closed' && { told: true as const }) })
    await this.thread.events.complete(itemOf(child, live.item))
  }

  private async stop(id: string, reason: string): Promise<void> {
    const live = this.live.get(id)
    if (!live) return
    live.stopped ??= reason
    live.cancel.abort(new Error(reason))
    await live.ended
  }

  private async ending(id: string): Promise<{ child: ChildStatus; text: string }> {
    const { child, report } = this.entryOf(id)
    await this.note(child, { told: true })
    return { child, text: shownReport(child, report) }
  }

  private note(child: ChildStatus, more: { report?: ChildReport; told?: true } = {}): Promise<void> {
    return this.thread.commit({ kind: 'child', child, ...more })
  }
}
