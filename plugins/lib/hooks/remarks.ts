import type { Call, Notice } from '../../../core/shapes/index.js'
import type { Session } from '../../../core/contract/index.js'

const most = 1000

/** What hooks said before a call, until its answer takes it along. */
class Remarks {
  private readonly byCall = new Map<string, Notice[]>()

  add({ id }: Call, notice: Notice): void {
    this.byCall.set(id, [...(this.byCall.get(id) ?? []), notice])
    // Calls that are issued once more never come to take theirs.
    if (this.byCall.size > most) this.byCall.delete(this.byCall.keys().next().value!)
  }

  take({ id }: Call): Notice[] {
    const notices = this.byCall.get(id) ?? []
    this.byCall.delete(id)
    return notices
  }
}

export const hookRemarks = (session: Session): Remarks => session.state('hook_remarks', () => new Remarks())
