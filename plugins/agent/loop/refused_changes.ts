import { isQuiet, type NotApplied, type RefusedChange } from '../base/index.js'
import type { ConversationState, StatePart } from '../session/index.js'

/** What was to be changed and was not. */
export interface RefusedChanges {
  /** Since the last change that was made, and the last task. */
  not_applied: NotApplied[]
  /** Those of them that the model was not told of. */
  untold_refusals: RefusedChange[]
  /** The turn before was left as a killed process left it: what it did not do, nobody was told. */
  abandoned: boolean
}
const most = 20

export const refusedChanges: StatePart<ConversationState, RefusedChanges> = {
  begin: () => ({ not_applied: [], untold_refusals: [], abandoned: false }),
  on: {
    turn_start(state, { input: { origin = 'prompt' } }) {
      if (origin === 'prompt') keep(state, () => state.abandoned)
      if (origin === 'prompt') state.untold_refusals = []
      state.abandoned = false
    },
    turn_end(state, { code }) {
      state.abandoned = code === 'VT_SESSION_INTERRUPTED'
    },
    message(state, { tells }) {
      if (tells === 'not_applied') state.untold_refusals = []
    },
    call_end(state, { call_id, is_error, not_applied, applied, changed }) {
      const effects = state.started.get(call_id)?.effects ?? []
      if (not_applied) note(state, not_applied)
      // A command that changes nothing that is known of, such as `ls`, does not stand for a change that was refused.
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
  // The same change asked for again is not another one.
  if (
    state.not_applied.some(
      (one) => one.tool === tool && one.target === target && (one.code === code || code === 'VT_POLICY_REPEATED'),
    )
  )
    return
  state.not_applied = [...state.not_applied, refused].slice(-most)
  // Whoever said no has said it to the model too.
  if (by === undefined)
    state.untold_refusals = [...state.untold_refusals, { ...refused, ...(next !== undefined && { next }) }].slice(-most)
}

function keep(state: RefusedChanges, stays: (change: NotApplied) => boolean): void {
  state.not_applied = state.not_applied.filter(stays)
  state.untold_refusals = state.untold_refusals.filter(stays)
}
