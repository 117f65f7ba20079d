import type { Call } from '../../../../core/index.js'
import type { AgentProviders } from '../dictionary.js'
import type { Events } from '../events/log.js'
import type { CallPart } from '../types.js'

/** Puts questions about calls to whoever can allow them: one at a time, in the order they come, each on record. */
export class Approvals {
  private tail: Promise<unknown> = Promise.resolve()

  constructor(
    private readonly events: Events,
    private readonly providers: Pick<AgentProviders, 'approve' | 'clock'>,
  ) {}

  ask(call: CallPart, request: { call: Call; reasons: string[] }, signal: AbortSignal): Promise<boolean | undefined> {
    const answer = this.tail.then(() => this.askNow(call, request, signal))
    this.tail = answer.catch(() => {})
    return answer
  }

  private async askNow({ call_id, name }: CallPart, request: { call: Call; reasons: string[] }, signal: AbortSignal): Promise<boolean | undefined> {
    const began = this.providers.clock.now()
    await this.events.emit({ type: 'permission.requested', tool_name: name, call_id, reason: request.reasons.join(' '), policy: 'permission' })
    let decision: boolean | undefined
    try {
      decision = signal.aborted ? undefined : await this.providers.approve!(request)
      return decision
    } finally {
      const wait_ms = this.providers.clock.now() - began
      await this.events.emit({ type: 'permission.resolved', tool_name: name, call_id, decision: signal.aborted ? 'cancelled' : decision === true ? 'allow' : 'deny', wait_ms })
    }
  }
}
