import type { Call, Notice } from '../../../core/shapes/index.js'
import type { Session } from '../../../core/contract/index.js'

const MAX_CALLS = 1000

/** Notices of hooks for calls that have no answer yet. */
class HookNotices {
  private readonly byCall = new Map<string, Notice[]>()

  add({ id }: Call, notice: Notice): void {
    this.byCall.set(id, [...(this.byCall.get(id) ?? []), notice])
    // Calls that are issued again never take their notices.
    if (this.byCall.size > MAX_CALLS) this.byCall.delete(this.byCall.keys().next().value!)
  }

  take({ id }: Call): Notice[] {
    const notices = this.byCall.get(id) ?? []
    this.byCall.delete(id)
    return notices
  }
}

export const getHookNotices = (session: Session): HookNotices => session.state('hook_remarks', () => new HookNotices())
