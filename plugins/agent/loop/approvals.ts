import type { Approval, ApprovalAnswer } from '../../../core/contract/index.js'
import type { AgentProviders, Approve, CallPart, EventBody } from '../base/index.js'
import type { Events } from '../events/index.js'
import type { ConversationApprovals } from '../session/index.js'
import type { DeferredApprovals } from './deferred_approvals.js'

/** Requests approvals for calls: one at a time, in order, each recorded as events. */
export class Approvals implements ConversationApprovals {
  private tail: Promise<unknown> = Promise.resolve()

  constructor(
    private readonly events: Events,
    private readonly providers: Pick<AgentProviders, 'approval' | 'clock' | 'notify'>,
    private readonly notifyWaiting: (message: string) => void,
    private readonly deferred: DeferredApprovals | undefined,
  ) {}

  /** Returns whether a person or a deferred approval can answer. */
  get canAsk(): boolean {
    return this.providers.approval.approve !== undefined || this.deferred !== undefined
  }
  /** Returns whether a call of an earlier process is still pending. */
  async isPending(call_id: string): Promise<boolean> {
    return (await this.deferred?.isPending(call_id)) ?? false
  }
  async withdraw(call_id: string): Promise<void> {
    await this.deferred?.withdraw(call_id)
  }

  ask(call: CallPart, request: Approval, signal: AbortSignal): Promise<ApprovalAnswer> {
    const answer = this.tail.then(() => this.askNow(call, request, signal))
    this.tail = answer.catch(() => {})
    return answer
  }

  /** Passes on a question of delegated work, between the questions of this conversation. */
  relay(approve: Approve, request: Approval): Promise<ApprovalAnswer> {
    const answer = this.tail.then(() => approve(request))
    this.tail = answer.catch(() => {})
    return answer
  }

  private async askNow(call: CallPart, request: Approval, signal: AbortSignal): Promise<ApprovalAnswer> {
    const { call_id, name } = call
    const began = this.providers.clock.now()
    await this.events.emit({
      type: 'permission.requested',
      tool_name: name,
      call_id,
      reason: request.reasons.join(' '),
      policy: 'permission',
    })
    const message = `${name} waits for an approval. ${request.reasons.join(' ')}`
    this.notifyWaiting(message)
    this.providers.notify.show('vtcode', message)
    let answer: ApprovalAnswer
    try {
      answer = signal.aborted
        ? undefined
        : await (this.deferred ? this.deferred.ask(call, request, signal) : this.providers.approval.approve!(request))
      return answer
    } finally {
      const wait_ms = this.providers.clock.now() - began
      await this.events.emit({
        type: 'permission.resolved',
        tool_name: name,
        call_id,
        ...toDecision(signal.aborted ? 'cancelled' : answer),
        wait_ms,
      })
    }
  }
}

type Resolved = Pick<EventBody & { type: 'permission.resolved' }, 'decision' | 'scope'>

function toDecision(answer: ApprovalAnswer | 'cancelled'): Resolved {
  if (answer === 'cancelled') return { decision: 'cancelled' }
  if (typeof answer !== 'object' || answer === null) return { decision: answer === true ? 'allow' : 'deny' }
  const { decision, scope = 'once', followup } = answer
  if (decision === 'allow') return { decision, scope }
  return { decision: decision === 'cancel' ? 'cancelled' : followup === undefined ? 'deny' : 'followup' }
}
