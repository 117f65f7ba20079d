import { formatColumns, toOneLine } from '../../lib/terminal/index.js'
import { describeEnding, formatItems } from '../task/index.js'
import type { Agent } from '../index.js'

/** The steps of the task as lines for a terminal. */
export const tasksText = ({ tracker }: Pick<Agent, 'tracker'>): string =>
  tracker ? `${[tracker.title, ...formatItems(tracker)].map(toOneLine).join('\n')}\n` : 'There are no steps.\n'

/** The goal as lines for a terminal, with how far the run is with it. */
export function goalText({ goal, goalProgress }: Pick<Agent, 'goal' | 'goalProgress'>): string {
  if (goal === undefined || !goalProgress) return 'There is no goal.\n'
  const { turns, cost_usd, verification } = goalProgress
  const cost = cost_usd === null ? '' : `, ${cost_usd.toFixed(4)} USD`
  const proofs = verification?.commands.map((one) => `${one.command}  ${describeEnding(one)}`) ?? []
  const proved = verification ? [`last verification: ${verification.result}`, ...proofs] : ['nothing was verified yet']
  return `${[`Goal: ${goal}`, `${turns} ${turns === 1 ? 'turn' : 'turns'}${cost}`, ...proved].map(toOneLine).join('\n')}\n`
}

type Children = Pick<Agent, 'children'>
const isOver = (status: string): boolean => status !== 'queued' && status !== 'running'

/** The agents that do or did parts of the work: who, how far, what it cost, about what, and below it where its transcript is. */
export function childrenText({ children }: Children): string {
  if (children.length === 0) return 'No agent works for this conversation; its model starts them.\n'
  const rows = children.map(({ id, agent, label, about, status, summary, error, cost_usd }) => {
    const words = [label, isOver(status) ? (summary ?? error?.message ?? '') : about].filter(Boolean).join(': ')
    return [
      id,
      agent,
      error ? `${status} (${error.code})` : status,
      cost_usd === null ? '?' : `$${cost_usd.toFixed(4)}`,
      toOneLine(words).slice(0, 200),
    ]
  })
  return formatColumns(rows)
    .trimEnd()
    .split('\n')
    .map((line, at) => `${line}\n    ${toOneLine(children[at]!.transcript_path)}\n`)
    .join('')
}

const shownAtWork = 3
/** The agents at work for a line that is always seen: how many run, and what the first of them do; nothing while there are none. */
export function atWork({ children }: Children): string[] {
  const at = (status: string) => children.filter((one) => one.status === status)
  const [running, queued] = [at('running'), at('queued')]
  if (running.length + queued.length === 0) return []
  const counted = (count: number, one: string, many: string) => `${count} ${count === 1 ? one : many}`
  const waits = queued.length === 0 ? '' : `, ${counted(queued.length, 'waits', 'wait')} for a place`
  const rows = running.map(({ id, agent, label, about, cost_usd }) =>
    `  ${id} ${agent}${cost_usd ? ` $${cost_usd.toFixed(4)}` : ''}: ${toOneLine(label || about)}`.slice(0, 200),
  )
  const more = rows.length > shownAtWork ? [`  … ${rows.length - shownAtWork} more`] : []
  return [
    `${counted(running.length, 'agent works', 'agents work')}${waits} · /agents shows all`,
    ...rows.slice(0, shownAtWork),
    ...more,
  ]
}
