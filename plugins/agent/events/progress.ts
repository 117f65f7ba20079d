import type { JsonObject } from '../../../core/shapes/index.js'
import type { Io } from '../../../core/contract/index.js'
import { toOneLine, createPaint } from '../../lib/terminal/index.js'
import { outcomeTable, type EventSink, type RunOutcome, type ThreadEvent, type ThreadItem } from '../base/index.js'

/** Creates a sink that prints a line for each call on stderr, after the name of a delegated agent. */
export function createProgressSink(io: Io, agent?: string): EventSink {
  const { dim, red } = createPaint(io.stderr, io.env)
  const before = agent === undefined ? '' : `${dim(`${agent}:`)} `
  const outputs = new Map<string, Output>()
  const commands = new Map<string, Command>()
  const print = (line: string) => io.stderr.write(`${before}${line}\n`)
  return (event) => {
    const part = formatPartLine(event)
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
    const line = `${good ? '✓' : '✗'} ${item.tool_name} ${describeInput(item.arguments)}${formatEnd(output, command)}`
    print(good ? line : red(line))
  }
}

type Output = ThreadItem & { type: 'tool_output' }
type Command = ThreadItem & { type: 'command_execution' }

/** Formats the end of a call: exit code, error code and time. */
function formatEnd(output: Output | undefined, command: Command | undefined): string {
  const isStopped = command && command.exit_code === undefined
  const ended = command?.status === 'in_progress' ? '  still runs' : isStopped ? '  stopped' : ''
  if (!output) return ended
  const exit = output.exit_code === undefined ? ended : `  exit ${output.exit_code}`
  const code = output.error_code ? `  ${output.error_code}` : ''
  return `${exit}${code}  ${(output.duration_ms / 1000).toFixed(1)} s`
}

/** Formats the start or end of a delegated part; `undefined` for other events. */
export function formatPartLine(event: ThreadEvent): { text: string; bad: boolean } | undefined {
  if ((event.type !== 'item.started' && event.type !== 'item.completed') || event.item.type !== 'subagent')
    return undefined
  const { agent_name, status, summary = '' } = event.item
  const words = summary === '' ? '' : `: ${toOneLine(summary)}`
  if (event.type === 'item.started') return { text: `◇ ${agent_name} begins${words}`, bad: false }
  if (status === 'completed') return { text: `◆ ${agent_name} is done${words}`, bad: false }
  return {
    text: `✗ ${agent_name} ${status === 'cancelled' ? 'was stopped' : 'failed'}${words}`,
    bad: status !== 'cancelled',
  }
}

/** Describes the input of a call: the action and the first text. */
export function describeInput(input: unknown): string {
  const { action, ...rest } = (input ?? {}) as JsonObject
  const first = Object.values(rest).find((value) => typeof value === 'string') as string | undefined
  return toOneLine([action, first].filter((word) => typeof word === 'string').join(' ')).slice(0, 100)
}

/** Formats the last line of a run: its outcome, and the reason of a failure. */
export function formatSummary(outcome: RunOutcome, done?: RunChanges): string {
  const { outcome_code, usage, total_cost_usd, num_turns, num_requests, session_id } = outcome
  const cost = total_cost_usd === null ? '' : `, ${total_cost_usd.toFixed(4)} USD`
  const turns = num_turns > 1 ? `${num_turns} turns, ` : ''
  const requests = `${num_requests} ${num_requests === 1 ? 'request' : 'requests'}`
  const tokens = `${usage.input_tokens} tokens in, ${usage.output_tokens} out`
  const changes = done ? describeChanges(done) : ''
  const head = `${outcome_code}: ${turns}${requests}${changes}, ${tokens}${cost}  (session ${session_id})`
  const reason = describeReason(outcome)
  return reason === undefined ? head : `${head}\n${reason}`
}

/** Describes the reason of a failed run, and the next action; `undefined` for a success. */
export function describeReason({
  outcome_code,
  error,
  session_id,
}: Pick<RunOutcome, 'outcome_code' | 'error' | 'session_id'>): string | undefined {
  const { description, next, exit_code } = outcomeTable[outcome_code]
  if (!error && exit_code === 0) return undefined
  const hint = error ? error.hint : next
  const reason = error ? `${error.code}: ${error.message}` : description
  return hint ? `${reason}\n  ${hint.replace('resume <id>', `resume ${session_id}`)}` : reason
}

/** Formats the refused changes of a run, a line each. */
export const formatNotApplied = ({ not_applied = [] }: Pick<RunOutcome, 'not_applied'>): string =>
  not_applied
    .map(({ tool, target, code }) => `Not applied: ${toOneLine([tool, target].filter(Boolean).join(' '))} (${code})\n`)
    .join('')

/** The changes of a run, for its last line. */
export interface RunChanges {
  files: Set<string>
  commands: number
}

export function countItem(done: RunChanges, item: ThreadItem): void {
  if (item.type === 'file_change') for (const { path } of item.changes) done.files.add(path)
  if (item.type === 'tool_invocation' && item.effects.includes('exec') && item.outcome === 'success') done.commands += 1
}

/** Describes changes, such as `, 2 files changed, 1 command`; empty if there are none. */
function describeChanges({ files, commands }: RunChanges): string {
  const formatCount = (number: number, one: string, many: string) =>
    number === 0 ? '' : `, ${number} ${number === 1 ? one : many}`
  return formatCount(files.size, 'file changed', 'files changed') + formatCount(commands, 'command', 'commands')
}
