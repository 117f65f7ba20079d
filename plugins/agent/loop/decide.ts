import type { RefusedChanges } from './refused_changes.js'

/** What follows an answer without calls. */
export type Decision = { then: 'end' } | { then: 'tell'; text: string }

/**
 * What follows the answer of a model that asks for nothing more, from the state of the conversation alone. A change that was not made is
 * told to the model once a turn, so that its answer does not call it done; whatever it answers then is the end.
 */
export function decide({ untold }: Pick<RefusedChanges, 'untold'>, told: boolean): Decision {
  if (told || untold.length === 0) return { then: 'end' }
  const lines = untold.map(({ tool, target, code }) => `Not applied: ${[tool, target && `'${target}'`].filter(Boolean).join(' ')} (${code}).`)
  const { next } = untold.at(-1)!
  return { then: 'tell', text: [...lines, `Say in your answer what was not done and why${next === undefined ? '.' : `; next action: ${next}`}`].join('\n') }
}

/** Said where no more calls are possible, and changes were asked for that were not made. */
export const notAppliedInRecovery =
  'Not applied. Tools were disabled or denied during recovery, so no additional tool call ran. ' +
  'Latest verified evidence is above; next action: re-enable the needed tool or switch to /mode auto.'
