import { fail, type Result, type ToolInfo } from '../../../core/shapes/index.js'
import { startDeadline, Semaphore } from '../../../core/system/index.js'
import { raceAbort } from '../../lib/base/index.js'
import type { MergedFile } from '../../lib/worktrees/index.js'
import type { ChildReport, ChildStatus, Msg } from '../base/index.js'
import {
  toCallResult,
  createApprovalRelay,
  renderAssignment,
  toFault,
  toThreadItem,
  createAgentLimitError,
  toEndStatus,
  createDepthError,
  createUnknownError,
} from './child.js'
import { runPart } from './run_part.js'
import { planResume, planPart } from './plan_part.js'
import { formatAgentList, renderReport, formatWaitResult } from './report.js'
import { countOuterConversations, excludeDelegationTools, mayDelegate } from './rights.js'
import { hasEnded, IS_READ, type ChildEnd, type PartEntry } from './state.js'
import { formatClosing, Worktrees } from './worktrees.js'
import type {
  ChildPlan,
  ChildThread,
  DelegatingConversation,
  PartRequest,
  StartOptions,
  LivePart,
  OpenChild,
} from './types.js'

/** The delegated parts of a conversation, and its own report if it is such a part. */
export class Delegation {
  private readonly live = new Map<string, LivePart>()
  private gate: Semaphore | undefined
  /** The number of parts started in this run. */
  private startedCount = 0
  private lastNumber = 0
  private report: ChildReport | undefined
  private reported = false
  /** Untrusted agents that a notice has named. */
  private readonly warnedAgents = new Set<string>()
  private readonly trees: Worktrees

  /** `ownPlan`: the plan of this conversation if it is a delegated part. */
  constructor(
    private readonly thread: DelegatingConversation,
    private readonly open: OpenChild,
    private readonly ownPlan: ChildPlan | undefined,
  ) {
    this.trees = new Worktrees(thread)
  }

  /** The number of conversations above this one. */
  private get depth(): number {
    return this.ownPlan?.depth ?? this.thread.state.part?.depth ?? countOuterConversations(this.thread.providers.env)
  }
  get isPart(): boolean {
    return this.ownPlan !== undefined
  }
  /** The part of the system prompt for a delegated agent; empty for other conversations. */
  get assignment(): string {
    return this.ownPlan ? renderAssignment(this.ownPlan) : ''
  }

  private get limits() {
    return this.thread.settings.subagents
  }
  /** The conversation may start agents. */
  get canDelegate(): boolean {
    return mayDelegate(this.thread.settings, this.depth)
  }
  /** Removes tools that this conversation may not use. */
  readonly filterTools = (tools: ToolInfo[]): ToolInfo[] => excludeDelegationTools(tools, this)

  /** Resets the state of a run. */
  startRun(): void {
    this.startedCount = 0
    this.report = undefined
  }

  async spawn(given: PartRequest, signal: AbortSignal, call_id?: string): Promise<Result> {
    return toCallResult(async () => {
      const begun = await this.begin(given, call_id)
      const { child, live } = begun
      const { id, agent, background } = child
      if (background) return { child, text: `${id} (${agent}) works in the background.` }
      await raceAbort(signal, live.ended).catch((error: unknown) =>
        this.stop(id, 'The call was cancelled.').then(() => Promise.reject(error as Error)),
      )
      return this.finishCall(id)
    })
  }

  async send(id: string, message: string, interrupt: boolean): Promise<Result> {
    return toCallResult(async () => {
      this.requireAllowed()
      const { child } = this.requireEntry(id)
      const live = this.live.get(id)
      if (live?.thread) await live.thread.say(message, interrupt)
      else if (live) live.texts.push(message)
      else {
        const again = await planResume(this.thread, child, this.startConditions)
        await this.enqueue(again.child, again.plan, message)
      }
      return { child: this.requireEntry(id).child, text: `${id} (${child.agent}) has the message.` }
    })
  }

  /** Waits until all or any of the agents ended, at most `timeout_secs`. */
  async wait(
    ids: readonly string[] | undefined,
    mode: 'all' | 'any',
    timeout_secs: number,
    signal: AbortSignal,
  ): Promise<Result> {
    return toCallResult(async () => {
      const meant = ids
        ? ids.map((id) => this.requireEntry(id).child.id)
        : this.thread.state.children.map(({ child }) => child.id)
      const running = meant.flatMap((id) => this.live.get(id)?.ended ?? [])
      using limit = startDeadline(timeout_secs * 1000, signal)
      const all: Promise<unknown> =
        running.length === 0 ? Promise.resolve() : mode === 'all' ? Promise.all(running) : Promise.race(running)
      const timed_out = await raceAbort(limit.signal, all).then(
        () => false,
        () => limit.expired,
      )
      signal.throwIfAborted()
      const children = meant.map((id) => this.requireEntry(id))
      for (const entry of children)
        if (hasEnded(entry.child) && !entry.isRead) await this.recordChild(entry.child, IS_READ)
      return {
        output: { children: children.map(({ child }) => child), timed_out },
        text: formatWaitResult(children, timed_out),
      }
    })
  }

  /** The delegated parts, with their cost so far. */
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
    return { ok: true, output, text: formatAgentList(output) }
  }

  /**
   * Ends a part and removes its worktree. `merge`: first merges all its changes, or the changes in these globs, into
   * the files of the conversation.
   */
  async close(id: string, merge: boolean | readonly string[], signal: AbortSignal): Promise<Result> {
    return toCallResult(async () => {
      await this.stop(id, 'The agent was closed.')
      const {
        child: { worktree, ...child },
      } = this.requireEntry(id)
      const result =
        merge === false ? undefined : await this.trees.merge(child, merge === true ? undefined : merge, signal)
      if (result?.ok === false) return result
      const merged = result?.output['changes'] as MergedFile[] | undefined
      const left = await this.trees.listUnmerged(child)
      await this.trees.drop(child)
      if (child.status !== 'closed' || worktree !== undefined)
        await this.recordChild({ ...child, status: 'closed' }, IS_READ)
      return {
        output: { ...this.requireEntry(id).child, ...(merged && { changes: merged }) },
        text: formatClosing(child, left, merged),
      }
    })
  }

  /** Records the report of this conversation, which ends it. */
  finishWith(report: ChildReport): Result {
    if (!this.isPart) return fail('VT_AGENT_NONE', 'Only a delegated agent can report.', { hint: 'Answer the user.' })
    this.report = report
    this.reported = true
    return { ok: true, output: { reported: true }, text: 'Reported.' }
  }
  get ownReport(): ChildReport | undefined {
    return this.report
  }
  takeEnd(): { text: string } | undefined {
    const ends = this.reported
    this.reported = false
    return ends ? { text: this.report!.summary } : undefined
  }

  /** Reports ended parts to the model, once each. */
  async remind(): Promise<void> {
    const unread = this.thread.state.children.filter(({ child, isRead }) => hasEnded(child) && !isRead)
    if (unread.length > 0)
      await this.thread.inject(
        unread.map(({ child, report }) => renderReport(child, report)).join('\n\n'),
        'harness',
        'reports',
      )
  }

  /** Agents of the conversation are active. */
  get busy(): boolean {
    return this.live.size > 0
  }

  /**
   * Waits while agents are active, until one ends, a message arrives or the user ends the run. Returns the next
   * input, if any.
   */
  async next(signal: AbortSignal): Promise<Msg | undefined> {
    const hasUnread = () => this.thread.state.children.some(({ child, isRead }) => hasEnded(child) && !isRead)
    const { queue: inputs } = this.thread
    while (!hasUnread() && this.busy && !signal.aborted && inputs.pending.length === 0) {
      await raceAbort(
        signal,
        Promise.race([inputs.waitForInput(), ...[...this.live.values()].map(({ ended }) => ended)]),
      ).catch(() => {})
    }
    return hasUnread()
      ? {
          role: 'user',
          parts: [
            { type: 'text', text: 'An agent that you started has ended. Its report is below. Continue your task.' },
          ],
          origin: 'harness',
        }
      : undefined
  }

  /** Stops all agents at the end of the run. */
  async endRun(): Promise<void> {
    await Promise.all([...this.live.keys()].map((id) => this.stop(id, 'The run of the conversation ended.')))
    await this.trees.remarkUnmerged(this.thread.state.children.map(({ child }) => child))
  }

  /** Removes worktrees without unmerged changes when the conversation closes. */
  async leave(): Promise<void> {
    await this.trees.dropMerged(this.thread.state.children.map(({ child }) => child))
  }

  private get leftToStart(): number {
    return Math.max(0, this.limits.max_total_per_run - this.startedCount)
  }
  private requireEntry(id: string): PartEntry {
    const { children } = this.thread.state
    const found = children.find(({ child }) => child.id === id)
    if (found) return found
    throw createUnknownError(
      id,
      children.map(({ child }) => child),
    )
  }
  private requireAllowed(begins = false): void {
    if (!this.canDelegate) throw createDepthError(this.limits, this.depth)
    if (begins && this.leftToStart === 0) throw createAgentLimitError(this.limits)
  }

  private async begin(
    given: PartRequest,
    call_id: string | undefined,
  ): Promise<{ child: ChildStatus; live: LivePart }> {
    const { thread } = this
    this.requireAllowed(true)
    const {
      child: planned,
      plan,
      text,
      untrusted,
    } = planPart(thread, given, { depth: this.depth + 1, ...this.startConditions })
    const child = {
      id: `a${(this.lastNumber = Math.max(this.lastNumber, thread.state.children.length) + 1)}`,
      ...planned,
    }
    if (planned.isolation === 'worktree') {
      await this.trees.requirePossible()
      // More agents may have started meanwhile.
      this.requireAllowed(true)
    }
    this.startedCount += 1
    const live = await this.enqueue(child, plan, text, { call_id, ...given })
    if (untrusted !== undefined && !this.warnedAgents.has(child.agent)) {
      this.warnedAgents.add(child.agent)
      await thread.remark('VT_AGENT_DEFINITION', untrusted)
    }
    return { child, live }
  }
  private get startConditions(): { delegates: boolean; others: ChildStatus[] } {
    return {
      delegates: this.depth + 1 < this.limits.max_depth,
      others: [...this.live.values()].map(({ child }) => child),
    }
  }

  private async enqueue(
    child: ChildStatus,
    plan: ChildPlan,
    text: string,
    { call_id, timeout_secs = this.limits.default_timeout_secs }: StartOptions = {},
  ): Promise<LivePart> {
    const { thread } = this
    const live: LivePart = {
      child,
      plan: { ...plan, ...createApprovalRelay(thread, child) },
      texts: [text],
      timeout_secs,
      cancel: new AbortController(),
      item: thread.newId('it'),
      ended: Promise.resolve(),
    }
    this.live.set(child.id, live)
    await thread.commit({ kind: 'child', child, ...(call_id !== undefined && { call_id }) })
    await thread.events.start(toThreadItem(child, live.item))
    live.ended = this.runInTurn(child.id, live.cancel.signal)
    return live
  }

  /** Runs a part as soon as fewer than `max_concurrent` run. A part that is stopped while it waits ends at once. */
  private async runInTurn(id: string, signal: AbortSignal): Promise<void> {
    const gate = (this.gate ??= new Semaphore(this.limits.max_concurrent))
    const entered = gate.enter() ?? Promise.resolve()
    const isStopped = await raceAbort(signal, entered).then(
      () => false,
      () => true,
    )
    if (!isStopped) return this.run(id, signal).finally(() => gate.leave())
    void entered.then(() => gate.leave())
    return this.complete(id, { status: 'closed' })
  }

  /** Runs a part to its end and records the end. */
  private async run(id: string, signal: AbortSignal): Promise<void> {
    const live = this.live.get(id)!
    const { thread } = this
    let child: ChildThread | undefined
    try {
      if (live.child.isolation === 'worktree') live.plan.tree = await this.trees.open(live.child, signal)
      child = live.thread = await this.open(thread, live.plan)
      await this.recordChild({
        ...this.requireEntry(id).child,
        status: 'running',
        ...(live.plan.tree && { worktree: this.trees.toPath(live.child) }),
      })
      await thread.events.update(toThreadItem(this.requireEntry(id).child, live.item))
      using limit = startDeadline(live.timeout_secs * 1000, signal)
      const { report, outcome } = await runPart(thread, child, {
        part: this.requireEntry(id).child,
        texts: live.texts,
        signal: limit.signal,
      })
      const changed = (live.plan.tree && (await this.trees.listUnmerged(live.child))) ?? child.changed_files
      await this.complete(
        id,
        toEndStatus(outcome, { ...live, expired: limit.expired, reported: child.report !== undefined }),
        report,
        changed,
      )
    } catch (error) {
      await this.complete(
        id,
        live.stopped === undefined ? { status: 'failed', error: toFault(error) } : { status: 'closed' },
      )
    } finally {
      await child?.close().catch(() => {})
    }
  }

  /** Records the end of a part, once. */
  private async complete(
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
      ...this.requireEntry(id).child,
      ...end,
      cost_usd,
      completed_at,
      ...summary,
      ...(changed.length > 0 && { changed_files: [...changed] }),
    }
    await this.recordChild(child, { ...(report && { report }), ...(end.status === 'closed' && IS_READ) })
    await this.thread.events.complete(toThreadItem(child, live.item))
  }

  private async stop(id: string, reason: string): Promise<void> {
    const live = this.live.get(id)
    if (!live) return
    live.stopped ??= reason
    live.cancel.abort(new Error(reason))
    await live.ended
  }

  private async finishCall(id: string): Promise<{ child: ChildStatus; text: string }> {
    const { child, report } = this.requireEntry(id)
    await this.recordChild(child, IS_READ)
    return { child, text: renderReport(child, report) }
  }

  private recordChild(child: ChildStatus, more: ChildEnd = {}): Promise<void> {
    return this.thread.commit({ kind: 'child', child, ...more })
  }
}
