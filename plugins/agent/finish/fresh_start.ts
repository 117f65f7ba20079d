import type { ResetTrigger } from '../base/index.js'
import type { Conversation } from '../session/index.js'
import type { FinishState } from '../task/index.js'

type Starting = Conversation & { state: FinishState }

/** Restarts a long conversation from its summary when a turn begins. */
export async function freshStart(thread: Starting): Promise<void> {
  const trigger = findTrigger(thread)
  if (!trigger) return
  const { plan } = thread.state.artifacts
  const text = plan && (await thread.store.read(`prompts/${plan.sha256}`))
  const stalled =
    trigger === 'stall'
      ? [
          'The last turns changed nothing in the task tracker. What was tried did not work: look again, ' +
            'and try another way.',
        ]
      : []
  await thread.context.reset(trigger, [
    ...(text === undefined ? [] : [`The plan that the user accepted:\n\n${text}`]),
    ...stalled,
  ])
}

function findTrigger(thread: Starting): ResetTrigger | undefined {
  const { state } = thread
  const { context_reset_mode: mode, context_reset_stall_threshold: most } = thread.settings.harness
  if (state.fresh === 'plan_approval') return 'plan_approval'
  if (mode === 'on_stall' && state.stalled > most) return 'stall'
  return mode === 'on_compaction' ? state.fresh : undefined
}
