import type { Approved, CallOptions } from '../../../core/contract/index.js'
import type { CallPart } from '../base/index.js'
import type { Conversation } from '../session/index.js'

/** Questions of one call to people: their decision, and how long the call waited for them, which is not its run time. */
export class HumanInput {
  decision: 'cancel' | 'followup' | undefined
  /** Somebody was asked, and did not allow it. */
  said_no = false
  waited_ms = 0

  constructor(
    private readonly thread: Conversation,
    private readonly call: CallPart,
    private readonly signal: AbortSignal,
  ) {}

  get options(): Pick<CallOptions, 'approve' | 'ask'> {
    const { ask } = this.thread.providers.approval
    return {
      ...(this.thread.approvals.possible && {
        approve: (request) =>
          this.waiting(
            this.thread.approvals.ask(this.call, request, this.signal).then((answer) => this.noteAnswer(answer)),
          ),
      }),
      ...(ask && { ask: (request, signal) => this.waiting(Promise.resolve(ask(request, signal))) }),
    }
  }

  private noteAnswer(answer: Approved): Approved {
    if (answer !== undefined)
      this.said_no = answer !== true && (typeof answer !== 'object' || answer.decision !== 'allow')
    if (typeof answer === 'object')
      this.decision =
        answer.decision === 'cancel'
          ? 'cancel'
          : answer.decision === 'deny' && answer.followup !== undefined
            ? 'followup'
            : undefined
    return answer
  }

  private async waiting<T>(answer: Promise<T>): Promise<T> {
    const { clock } = this.thread.providers
    const began = clock.now()
    try {
      return await answer
    } finally {
      this.waited_ms += clock.now() - began
    }
  }
}
