import { describeInput, formatPartLine, type EventSink } from '../../agent/cli/index.js'
import { buildIntendedDiff, formatAction, formatDiffCounts } from '../../lib/intents/index.js'
import type { Delta, Item, ThreadEvent } from '../../agent/index.js'
import type { Block, UiHandle } from '../../tui/index.js'
import { truncateForDisplay } from './call_blocks.js'

type ItemOf<T extends Item['type']> = Item & { type: T }
const MAX_EXCERPT_LINES = 8
const REFUSED = 'VT_POLICY_NEEDS_APPROVAL'
const STATUS_MARKS: Record<string, string> = { cancelled: '(stopped)', discarded: '(broken off)' }

/** Writes events of a conversation to the screen: finished items once, growing ones live. */
export class Transcript {
  /** The whole of the last shortened output. */
  detail: { title: string; body: Block[] } | undefined
  /** The last text of the model. */
  answer = ''
  /** Receives the current activity for the status. */
  onState: (state: string) => void = () => {}
  private readonly outputs = new Map<string, ItemOf<'tool_output'>>()
  private readonly commands = new Map<string, ItemOf<'command_execution'>>()
  /** Characters of each text that are shown. */
  private readonly shownLengths = new Map<string, number>()
  /** An answer that was not streamed; it may only repeat the error of the turn. */
  private unshownAnswer: ItemOf<'agent_message'> | undefined
  private stopped = false

  constructor(private readonly send: UiHandle['send']) {}

  readonly onEvent: EventSink = (event) => {
    const { unshownAnswer } = this
    this.unshownAnswer = undefined
    if (unshownAnswer && !(event.type === 'turn.failed' && event.message === unshownAnswer.text))
      this.showAnswer(unshownAnswer)
    const part = formatPartLine(event)
    if (part) this.send({ type: 'commit', block: { kind: part.bad ? 'error' : 'text', text: part.text } })
    if (event.type === 'item.started') this.handleStarted(event.item)
    else if (event.type === 'item.completed') this.handleCompleted(event.item)
    else if (event.type === 'turn.started') {
      this.stopped = false
      this.onState('Working')
    } else this.endLiveTexts(event)
  }

  readonly onDelta = ({ kind, item_id, at, text, tool_name }: Delta): void => {
    const id = `${kind}:${item_id}`
    const before = this.shownLengths.get(id) ?? 0
    if (kind === 'reasoning') return this.onState('Thinking')
    if (kind === 'arguments') return this.onState(`Writing a call${tool_name === undefined ? '' : ` of ${tool_name}`}`)
    // A gap in a text waits for the whole text; output shows its last lines anyway.
    if (kind === 'text' && at !== before) return
    this.onState(kind === 'text' ? 'Answering' : 'Running')
    this.shownLengths.set(id, at + text.length)
    if (before === 0) this.send({ type: 'live', id, block: { kind: kind === 'text' ? 'markdown' : 'output', text } })
    else this.send({ type: 'live', id, append: text })
  }

  private handleStarted(item: Item): void {
    // The person knows that they stopped the turn.
    if (item.type === 'user_message' && item.origin === 'harness' && this.stopped) return
    if (item.type === 'user_message' && (item.origin === 'queue' || item.origin === 'schedule'))
      this.send({ type: 'commit', block: { kind: 'user', text: truncateForDisplay(item.text) } })
    else if (item.type === 'user_message' && item.origin !== 'prompt')
      this.send({ type: 'commit', block: { kind: 'note', text: `· ${takeLines(item.text, 3)}` } })
    if (item.type !== 'tool_invocation') return
    this.onState(describeCall(item))
    this.send({
      type: 'live',
      id: item.id,
      block: { kind: 'note', text: `● ${describeCall(item)}` },
    })
  }

  private handleCompleted(item: Item): void {
    if (item.type === 'agent_message') this.handleAnswer(item)
    // Show a plan whole before the question about it.
    else if (item.type === 'plan') this.send({ type: 'commit', block: { kind: 'markdown', text: item.text } })
    else if (item.type === 'tool_output') this.outputs.set(item.call_id, item)
    else if (item.type === 'command_execution') this.commands.set(item.call_id, item)
    else if (item.type === 'tool_invocation') this.showCall(item)
    else if (item.type === 'error') this.send({ type: 'commit', block: { kind: 'note', text: `· ${item.message}` } })
    else if (item.type === 'harness' && item.message)
      this.send({ type: 'commit', block: { kind: 'note', text: `· ${item.event}: ${item.message}` } })
  }

  private handleAnswer(item: ItemOf<'agent_message'>): void {
    this.stopped = item.status === 'cancelled'
    // Ignore an empty answer.
    if (this.shownLengths.has(`text:${item.id}`)) this.showAnswer(item)
    else if (item.text.trim() !== '') this.unshownAnswer = item
  }

  private showAnswer({ id, text, status }: ItemOf<'agent_message'>): void {
    const key = `text:${id}`
    if (text.trim() !== '') this.answer = text
    const at = this.shownLengths.get(key)
    this.shownLengths.delete(key)
    if (at === undefined) this.send({ type: 'live', id: key, block: { kind: 'markdown', text }, done: true })
    else this.send({ type: 'live', id: key, append: text.slice(at), done: true })
    const mark = STATUS_MARKS[status]
    if (mark !== undefined) this.send({ type: 'commit', block: { kind: 'note', text: mark } })
  }

  private showCall(item: ItemOf<'tool_invocation'>): void {
    const [output, command] = [this.outputs.get(item.call_id), this.commands.get(item.call_id)]
    this.outputs.delete(item.call_id)
    this.commands.delete(item.call_id)
    this.shownLengths.delete(`output:${item.id}`)
    for (const id of [item.id, `output:${item.id}`])
      this.send({ type: 'live', id, block: { kind: 'text', text: '' }, done: true })
    const good = item.outcome === 'success' && command?.status !== 'failed'
    const diff = good ? buildIntendedDiff(item.arguments) : undefined
    const counts = diff === undefined ? '' : formatDiffCounts(diff)
    const words = [describeCall(item), counts, ...describeEnd(output, command)].filter(Boolean).join('  ')
    this.send({ type: 'commit', block: { kind: good ? 'text' : 'error', text: `${good ? '✓' : '✗'} ${words}` } })
    const text: Block | undefined = output && { kind: 'text', text: output.output }
    // The text of an error is for the model; a person gets its first sentence, and none after an own refusal.
    if (text && output?.error_code !== undefined) return this.showFailure(words, text, output.error_code)
    if (diff) return this.showExcerpt(item.tool_name, { kind: 'diff', text: diff })
    if (command) return this.showExcerpt(item.tool_name, { kind: 'output', text: command.aggregated_output })
    if (!text) return
    if (!good || item.tool_name === 'task_tracker') this.showExcerpt(item.tool_name, text)
    else this.detail = { title: words, body: [text] }
  }

  private showFailure(title: string, text: Block, code: string): void {
    this.detail = { title, body: [text] }
    if (code === REFUSED) return
    const [first = ''] = text.text.replace(`ERROR ${code}: `, '').split('\n')
    this.send({ type: 'commit', block: { kind: 'text', text: `  ${first}` } })
  }

  /** Shows the last lines of program output, or the first lines of another result. */
  private showExcerpt(title: string, body: Block): void {
    const lines = body.text.replace(/\n+$/, '').split('\n')
    const most = body.kind === 'diff' ? MAX_EXCERPT_LINES * 5 : MAX_EXCERPT_LINES
    this.detail = { title, body: [body] }
    const part = body.kind === 'output' ? lines.slice(-most) : lines.slice(0, most)
    this.send({
      type: 'commit',
      block: { kind: body.kind, text: part.map((line) => `  ${line}`.replace(/^ {2}([-+@])/, '$1 ')).join('\n') },
    })
    if (lines.length > most)
      this.send({
        type: 'commit',
        block: { kind: 'note', text: `  ${lines.length - most} more lines: Ctrl-O shows all` },
      })
  }

  /** Finishes unfinished texts, which stay on the screen. */
  private endLiveTexts(event: ThreadEvent): void {
    if (event.type !== 'turn.completed' && event.type !== 'turn.failed') return
    for (const id of this.shownLengths.keys()) this.send({ type: 'live', id, append: '', done: true })
    this.shownLengths.clear()
  }
}

/** Names a call by what it does, else by its tool and first input. */
const describeCall = ({ tool_name, arguments: input }: ItemOf<'tool_invocation'>): string =>
  formatAction(tool_name, input) ?? `${tool_name} ${describeInput(input)}`

function describeEnd(
  output: ItemOf<'tool_output'> | undefined,
  command: ItemOf<'command_execution'> | undefined,
): string[] {
  const ended =
    command?.status === 'in_progress' ? 'still running' : command && command.exit_code === undefined ? 'stopped' : ''
  return [
    output?.exit_code === undefined ? ended : `exit ${output.exit_code}`,
    output?.error_code === REFUSED ? 'not approved' : (output?.error_code ?? ''),
    output ? `${(output.duration_ms / 1000).toFixed(1)} s` : '',
  ]
}
const takeLines = (text: string, most: number): string => text.split('\n').slice(0, most).join('\n')
