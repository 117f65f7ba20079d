import type { JsonObject } from '../../../core/shapes/index.js'
import type { Io } from '../../../core/contract/index.js'
import { toOneLine, createPaint } from '../../lib/terminal/index.js'
import { outcomeTable, type EventSink, type RunOutcome, type ThreadEvent, type ThreadItem } from '../base/index.js'

/** Prints a line for each call on stderr, after the name of an agent that works on a part. */
export function progress(io: Io, agent?: string): EventSink {
  const { dim, red } = createPaint(io.stderr, io.env)
  const before = agent === undefined ? '' : `${dim(`${agent}:`)} `
  const outputs = new Map<string, Output>()
  const commands = new Map<string, Command>()
  const print = (line: string) => io.stderr.write(`${before}${line}\n`)
  return (event) => {
    const part = partLine(event)
    if (part) print(part.bad ? red(part.text) : part.text)
    if (event.type !== 'item.completed') return
    const { item } = event
    if (item.type === 'tool_output') outputs.set(item.call_id, item)
    if (item.type === 'command_execution') commands.set(item.call_id, item)
    if (item.type === 'error') print(dim(`· ${toOneLine(item.message)}`))
    if (item.type === 'harness' && item.message) print(dim(`· ${item.event}: ${toOneLine(item.message)}`))
    if (item.type !== 'tool_invocation') return
    const output = outputs.get(item.call_id)
    const command = commands.get(item.call_id)
    outputs.delete(item.call_id)
    commands.delete(item.call_id)
    const good = item.outcome === 'success' && command?.status !== 'failed'
    const line = `${good ? '✓' : '✗'} ${item.tool_name} ${briefly(item.arguments)}${endText(output, command)}`
    print(good ? line : red(line))
  }
}

type Output = ThreadItem & { type: 'tool_output' }
type Command = ThreadItem & { type: 'command_execution' }

/** How a call ended: exit code, error code and time. */
function endText(output: Output | undefined, command: Command | undefined): string {
  const isStopped = command && command.exit_code === undefined
  const ended = command?.status === 'in_progress' ? '  still runs' : isStopped ? '  stopped' : ''
  if (!output) return ended
  const exit = output.exit_code === undefined ? ended : `  exit ${output.exit_code}`
  const code = output.error_code ? `  ${output.error_code}` : ''
  return `${exit}${code}  ${(output.duration_ms / 1000).toFixed(1)} s`
}

/** An agent that begins a part of the work, or is done with it; nothing for any other event. */
export function partLine(event: ThreadEvent): { text: string; bad: boolean } | undefined {
  if ((event.type !== 'item.started' && event.type !== 'item.completed') || event.item.type !== 'subagent')
    return undefined
  const { agent_name, status, summary = '' } = event.item
  const words = summary === '' ? '' : `: ${toOneLine(summary)}`
  if (event.type === 'item.started') return { text: `◇ ${agent_name} begins${words}`, bad: false }
  if (status === 'completed') return { text: `◆ ${agent_name} is done${words}`, bad: false }
  return {
    text: `✗ ${agent_name} ${status === 'cancelled' ? 'was ended' : 'failed'}${words}`,
    bad: status !== 'cancelled',
  }
}

/** The action and the first text of a call. */
export function briefly(input: unknown): string {
  const { action, ...rest } = (input ?? {}) as JsonObject
  const first = Object.values(rest).find((value) => typeof value === 'string') as string | undefined
  return toOneLine([action, first].filter((word) => typeof word === 'string').join(' ')).slice(0, 100)
}

/** The last line of a run: how it ended, and why where it failed. */
export function summary(outcome: RunOutcome, done?: RunChanges): string {
  const { outcome_code, usage, total_cost_usd, num_turns, num_requests, session_id } = outcome
  const cost = total_cost_usd === null ? '' : `, ${total_cost_usd.toFixed(4)} USD`
  const counts = `${num_turns > 1 ? `${num_turns} turns, ` : ''}${num_requests} ${num_requests === 1 ? 'request' : 'requests'}`
  const head = `${outcome_code}: ${counts}${done ? describeChanges(done) : ''}, ${usage.input_tokens} tokens in, ${usage.output_tokens} out${cost}  (session ${session_id})`
  const reason = reasonOf(outcome)
  return reason === undefined ? head : `${head}\n${reason}`
}

/** Why a run is no success, and what to do next. */
export function reasonOf({
  outcome_code,
  error,
  session_id,
}: Pick<RunOutcome, 'outcome_code' | 'error' | 'session_id'>): string | undefined {
  const { says, next, exit_code } = outcomeTable[outcome_code]
  if (!error && exit_code === 0) return undefined
  const hint = error ? error.hint : next
  return `${error ? `${error.code}: ${error.message}` : says}${hint ? `\n  ${hint.replace('resume <id>', `resume ${session_id}`)}` : ''}`
}

/** The changes that a run was asked for and did not make, a line each. */
export const notAppliedLines = ({ not_applied = [] }: Pick<RunOutcome, 'not_applied'>): string =>
  not_applied
    .map(({ tool, target, code }) => `Not applied: ${toOneLine([tool, target].filter(Boolean).join(' '))} (${code})\n`)
    .join('')

/** What a run did, for its last line. */
export interface RunChanges {
  files: Set<string>
  commands: number
}

export function countItem(done: RunChanges, item: ThreadItem): void {
  if (item.type === 'file_change') for (const { path } of item.changes) done.files.add(path)
  if (item.type === 'tool_invocation' && item.effects.includes('exec') && item.outcome === 'success') done.commands += 1
}

/** `, 2 files changed, 1 command`; nothing where nothing was done. */
function describeChanges({ files, commands }: RunChanges): string {
  const counted = (number: number, one: string, many: string) =>
    number === 0 ? '' : `, ${number} ${number === 1 ? one : many}`
  return counted(files.size, 'file changed', 'files changed') + counted(commands, 'command', 'commands')
}
