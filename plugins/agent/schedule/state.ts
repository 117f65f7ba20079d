import type { SessionTask } from '../base/index.js'
import type { ConversationState, StatePart } from '../session/index.js'

/** The scheduled tasks of a session. */
export interface ScheduledState {
  tasks: readonly SessionTask[]
}

export const scheduling: StatePart<ConversationState, ScheduledState> = {
  begin: () => ({ tasks: [] }),
  on: {
    task(state, { task }) {
      const others = state.tasks.filter(({ id }) => id !== task.id)
      state.tasks = 'gone' in task ? others : [...others, task]
    },
  },
  reverted: ['tasks'],
}
