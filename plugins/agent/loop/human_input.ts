import type { ApprovalAnswer, CallOptions } from '../../../core/contract/index.js'
import type { CallPart } from '../base/index.js'
import type { Conversation } from '../session/index.js'

/** The questions of one call to a person: the decision, and the wait, which is not run time. */
export class HumanInput {
  decision: 'cancel' | 'followup' | undefined
  /** A person answered and did not allow the call. */
  denied = false
  waited_ms = 0

  constructor(
    private readonly thread: Conversation,
    private readonly call: CallPart,
    private readonly signal: AbortSignal,
  ) {}

  get options(): Pick<CallOptions, 'approve' | 'ask'> {
    const { ask } = this.thread.providers.approval
    return {
      ...(this.thread.approvals.canAsk && {
        approve: (request) =>
          this.measureWait(
            this.thread.approvals.ask(this.call, request, this.signal).then((answer) => this.noteAnswer(answer)),
          ),
      }),
      ...(ask && { ask: (request, signal) => this.measureWait(Promise.resolve(ask(request, signal))) }),
    }
  }

  private noteAnswer(answer: ApprovalAnswer): ApprovalAnswer {
    if (answer !== undefined)
      this.denied = answer !== true && (typeof answer !== 'object' || answer.decision !== 'allow')
    if (typeof answer === 'object')
      this.decision =
        answer.decision === 'cancel'
          ? 'cancel'
          : answer.decision === 'deny' && answer.followup !== undefined
            ? 'followup'
            : undefined
    return answer
  }

  private async measureWait<T>(answer: Promise<T>): Promise<T> {
    const { clock } = this.thread.providers
    const began = clock.now()
    try {
      return await answer
    } finally {
      this.waited_ms += clock.now() - began
    }
  }
}
