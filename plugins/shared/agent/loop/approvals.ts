import type { Approval, Approved } from '../../../../core/index.js'
import type { AgentProviders } from '../dictionary.js'
import type { Events } from '../events/log.js'
import type { CallPart } from '../types.js'

/** Puts questions about calls to whoever can allow them: one at a time, in the order they come, each on record. */
export class Approvals {
  private tail: Promise<unknown> = Promise.resolve()

  constructor(
    private readonly events: Events,
    private readonly providers: Pick<AgentProviders, 'approval' | 'clock' | 'notify'>,
    private readonly waiting: (message: string) => void,
  ) {}

  ask(call: CallPart, request: Approval, signal: AbortSignal): Promise<Approved> {
    const answer = this.tail.then(() => this.askNow(call, request, signal))
    this.tail = answer.catch(() => {})
    return answer
  }

  private async askNow({ call_id, name }: CallPart, request: Approval, signal: AbortSignal): Promise<Approved> {
    const began = this.providers.clock.now()
    await this.events.emit({ type: 'permission.requested', tool_name: name, call_id, reason: request.reasons.join(' '), policy: 'permission' })
    const message = `${name} waits for an approval. ${request.reasons.join(' ')}`
    this.waiting(message)
    this.providers.notify.show('vtcode', message)
    let answer: Approved
    try {
      answer = signal.aborted ? undefined : await this.providers.approval.approve!(request)
      return answer
    } finally {
      const wait_ms = this.providers.clock.now() - began
      await this.events.emit({ type: 'permission.resolved', tool_name: name, call_id, decision: signal.aborted ? 'cancelled' : allows(answer) ? 'allow' : 'deny', wait_ms })
    }
  }
}

const allows = (answer: Approved): boolean => answer === true || (typeof answer === 'object' && answer?.decision === 'allow')
