import { formatColumns, toOneLine } from '../../lib/terminal/index.js'
import { describeEnding, formatItems } from '../task/index.js'
import type { Agent } from '../index.js'

/** Formats the steps of the task for a terminal. */
export const formatTasks = ({ tracker }: Pick<Agent, 'tracker'>): string =>
  tracker ? `${[tracker.title, ...formatItems(tracker)].map(toOneLine).join('\n')}\n` : 'There are no steps.\n'

/** Formats the goal and its progress for a terminal. */
export function formatGoal({ goal, goalProgress }: Pick<Agent, 'goal' | 'goalProgress'>): string {
  if (goal === undefined || !goalProgress) return 'There is no goal.\n'
  const { turns, cost_usd, verification } = goalProgress
  const cost = cost_usd === null ? '' : `, ${cost_usd.toFixed(4)} USD`
  const proofs = verification?.commands.map((one) => `${one.command}  ${describeEnding(one)}`) ?? []
  const proved = verification ? [`last verification: ${verification.result}`, ...proofs] : ['nothing was verified yet']
  const lines = [`Goal: ${goal}`, `${turns} ${turns === 1 ? 'turn' : 'turns'}${cost}`, ...proved]
  return `${lines.map(toOneLine).join('\n')}\n`
}

type Children = Pick<Agent, 'children'>
const isOver = (status: string): boolean => status !== 'queued' && status !== 'running'

/** Formats the delegated agents: name, state, cost, subject, and below each the path of its transcript. */
export function formatChildren({ children }: Children): string {
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

const MAX_ACTIVE_ROWS = 3
/** Formats the active agents for the status line: their number and the first of them; empty if none is active. */
export function formatActiveAgents({ children }: Children): string[] {
  const listByStatus = (status: string) => children.filter((one) => one.status === status)
  const [running, queued] = [listByStatus('running'), listByStatus('queued')]
  if (running.length + queued.length === 0) return []
  const formatCount = (count: number, one: string, many: string) => `${count} ${count === 1 ? one : many}`
  const waits = queued.length === 0 ? '' : `, ${formatCount(queued.length, 'waits', 'wait')} for a place`
  const rows = running.map(({ id, agent, label, about, cost_usd }) =>
    `  ${id} ${agent}${cost_usd ? ` $${cost_usd.toFixed(4)}` : ''}: ${toOneLine(label || about)}`.slice(0, 200),
  )
  const more = rows.length > MAX_ACTIVE_ROWS ? [`  … ${rows.length - MAX_ACTIVE_ROWS} more`] : []
  return [
    `${formatCount(running.length, 'agent works', 'agents work')}${waits} · /agents shows all`,
    ...rows.slice(0, MAX_ACTIVE_ROWS),
    ...more,
  ]
}

/** Splits the argument of `/goal` into the goal and the commands of its `verify:` lines, which prove it. */
export function parseGoal(argument: string): { text: string; commands: string[] } {
  const lines = argument.split('\n').map((line) => line.trim())
  return {
    text: lines
      .filter((line) => !line.startsWith('verify:'))
      .join('\n')
      .trim(),
    commands: lines.flatMap((line) => /^verify: *(\S.*)$/.exec(line)?.[1] ?? []),
  }
}
