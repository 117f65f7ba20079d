import { isQuiet, type NotApplied, type RefusedChange } from '../base/index.js'
import type { ConversationState, StatePart } from '../session/index.js'

/** Changes that were requested and not made. */
export interface RefusedChanges {
  /** Since the last change that was made, and the last task. */
  not_applied: NotApplied[]
  /** Refused changes that the model has not read. */
  unread_refusals: RefusedChange[]
  /** The last turn belongs to a killed process; its refused changes were not reported. */
  abandoned: boolean
}
const most = 20

export const refusedChanges: StatePart<ConversationState, RefusedChanges> = {
  begin: () => ({ not_applied: [], unread_refusals: [], abandoned: false }),
  on: {
    turn_start(state, { input: { origin = 'prompt' } }) {
      if (origin === 'prompt') keep(state, () => state.abandoned)
      if (origin === 'prompt') state.unread_refusals = []
      state.abandoned = false
    },
    turn_end(state, { code }) {
      state.abandoned = code === 'VT_SESSION_INTERRUPTED'
    },
    message(state, { tells }) {
      if (tells === 'not_applied') state.unread_refusals = []
    },
    call_end(state, { call_id, is_error, not_applied, applied, changed, ...ended }) {
      const effects = ended.effects ?? state.started.get(call_id)?.effects ?? []
      if (not_applied) note(state, not_applied)
      // A command without known changes, such as `ls`, does not replace a refused change.
      else if (!isQuiet(effects) && !is_error && (effects.includes('write') || changed)) keep(state, () => false)
      else if (applied !== undefined) keep(state, ({ target }) => target !== applied)
    },
    revert(state) {
      keep(state, () => false)
    },
  },
}

function note(state: RefusedChanges, { next, by, ...refused }: RefusedChange): void {
  const { tool, target, code } = refused
  // A repeated request is one change.
  if (
    state.not_applied.some(
      (one) => one.tool === tool && one.target === target && (one.code === code || code === 'VT_POLICY_REPEATED'),
    )
  )
    return
  state.not_applied = [...state.not_applied, refused].slice(-most)
  // The person's refusal reached the model already.
  if (by === undefined)
    state.unread_refusals = [...state.unread_refusals, { ...refused, ...(next !== undefined && { next }) }].slice(-most)
}

function keep(state: RefusedChanges, stays: (change: NotApplied) => boolean): void {
  state.not_applied = state.not_applied.filter(stays)
  state.unread_refusals = state.unread_refusals.filter(stays)
}
