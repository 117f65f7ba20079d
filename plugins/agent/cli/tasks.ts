import { oneLine } from '../../lib/terminal/index.js'
import { endingOf, itemLines } from '../finish/index.js'
import type { Agent } from '../index.js'

/** The steps of the task as lines for a terminal. */
export const tasksText = ({ tracker }: Pick<Agent, 'tracker'>): string =>
  tracker ? `${[tracker.title, ...itemLines(tracker)].map(oneLine).join('\n')}\n` : 'There are no steps.\n'

/** The goal as lines for a terminal, with how far the run is with it. */
export function goalText({ goal, goalProgress }: Pick<Agent, 'goal' | 'goalProgress'>): string {
  if (goal === undefined || !goalProgress) return 'There is no goal.\n'
  const { turns, cost_usd, verification } = goalProgress
  const cost = cost_usd === null ? '' : `, ${cost_usd.toFixed(4)} USD`
  const proofs = verification?.commands.map((one) => `${one.command}  ${endingOf(one)}`) ?? []
  const proved = verification ? [`last verification: ${verification.result}`, ...proofs] : ['nothing was verified yet']
  return `${[`Goal: ${goal}`, `${turns} ${turns === 1 ? 'turn' : 'turns'}${cost}`, ...proved].map(oneLine).join('\n')}\n`
}
