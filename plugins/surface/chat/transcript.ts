import { briefly, partLine, type EventSink } from '../../agent/cli/index.js'
import type { Delta, Item, ThreadEvent } from '../../agent/index.js'
import type { Block, UiHandle } from '../../tui/index.js'
import { intendedDiff, readablePart } from './changes.js'

type ItemOf<T extends Item['type']> = Item & { type: T }
const lastLines = 8
const marks: Record<string, string> = { cancelled: '(stopped)', discarded: '(broken off)' }

/** What happens in a conversation, as a person sees it: what is finished once, what grows below. */
export class Transcript {
  /** The last long output, as a whole. */
  detail: { title: string; body: Block[] } | undefined
  /** The last text of the model. */
  answer = ''
  /** What is under way, for the line that says so. */
  onState: (state: string) => void = () => {}
  private readonly outputs = new Map<string, ItemOf<'tool_output'>>()
  private readonly commands = new Map<string, ItemOf<'command_execution'>>()
  /** How much of each text is shown. */
  private readonly told = new Map<string, number>()
  /** An answer that came as a whole: it may be only why a turn ended, which is said otherwise. */
  private whole: ItemOf<'agent_message'> | undefined
  private stopped = false

  constructor(private readonly send: UiHandle['send']) {}

  readonly event: EventSink = (event) => {
    const { whole } = this
    this.whole = undefined
    if (whole && !(event.type === 'turn.failed' && event.message === whole.text)) this.live(whole)
    const part = partLine(event)
    if (part) this.send({ type: 'commit', block: { kind: part.bad ? 'error' : 'text', text: part.text } })
    if (event.type === 'item.started') this.started(event.item)
    else if (event.type === 'item.completed') this.completed(event.item)
    else if (event.type === 'turn.started') {
      this.stopped = false
      this.onState('Working')
    } else this.ended(event)
  }

  readonly delta = ({ kind, item_id, at, text, tool_name }: Delta): void => {
    const id = `${kind}:${item_id}`
    const before = this.told.get(id) ?? 0
    if (kind === 'reasoning') return this.onState('Thinking')
    if (kind === 'arguments') return this.onState(`Writing a call${tool_name === undefined ? '' : ` of ${tool_name}`}`)
    // Of a text what does not follow waits for the whole; of output the last lines are shown in any case.
    if (kind === 'text' && at !== before) return
    this.onState(kind === 'text' ? 'Answering' : 'Running')
    this.told.set(id, at + text.length)
    if (before === 0) this.send({ type: 'live', id, block: { kind: kind === 'text' ? 'markdown' : 'output', text } })
    else this.send({ type: 'live', id, append: text })
  }

  private started(item: Item): void {
    // What a model is told of a stop the person knows.
    if (item.type === 'user_message' && item.origin === 'harness' && this.stopped) return
    if (item.type === 'user_message' && (item.origin === 'queue' || item.origin === 'schedule'))
      this.send({ type: 'commit', block: { kind: 'user', text: readablePart(item.text) } })
    else if (item.type === 'user_message' && item.origin !== 'prompt')
      this.send({ type: 'commit', block: { kind: 'note', text: `· ${firstLines(item.text, 3)}` } })
    if (item.type !== 'tool_invocation') return
    this.onState(`Running ${item.tool_name}`)
    this.send({
      type: 'live',
      id: item.id,
      block: { kind: 'note', text: `● ${item.tool_name} ${briefly(item.arguments)}` },
    })
  }

  private completed(item: Item): void {
    if (item.type === 'agent_message') this.said(item)
    // A person decides on it: it is shown as it was written, before the question.
    else if (item.type === 'plan') this.send({ type: 'commit', block: { kind: 'markdown', text: item.text } })
    else if (item.type === 'tool_output') this.outputs.set(item.call_id, item)
    else if (item.type === 'command_execution') this.commands.set(item.call_id, item)
    else if (item.type === 'tool_invocation') this.called(item)
    else if (item.type === 'error') this.send({ type: 'commit', block: { kind: 'note', text: `· ${item.message}` } })
    else if (item.type === 'harness' && item.message)
      this.send({ type: 'commit', block: { kind: 'note', text: `· ${item.event}: ${item.message}` } })
  }

  private said(item: ItemOf<'agent_message'>): void {
    this.stopped = item.status === 'cancelled'
    // An answer without words is none.
    if (this.told.has(`text:${item.id}`)) this.live(item)
    else if (item.text.trim() !== '') this.whole = item
  }

  private live({ id, text, status }: ItemOf<'agent_message'>): void {
    const key = `text:${id}`
    if (text.trim() !== '') this.answer = text
    const at = this.told.get(key)
    this.told.delete(key)
    if (at === undefined) this.send({ type: 'live', id: key, block: { kind: 'markdown', text }, done: true })
    else this.send({ type: 'live', id: key, append: text.slice(at), done: true })
    const mark = marks[status]
    if (mark !== undefined) this.send({ type: 'commit', block: { kind: 'note', text: mark } })
  }

  private called(item: ItemOf<'tool_invocation'>): void {
    const [output, command] = [this.outputs.get(item.call_id), this.commands.get(item.call_id)]
    this.outputs.delete(item.call_id)
    this.commands.delete(item.call_id)
    this.told.delete(`output:${item.id}`)
    for (const id of [item.id, `output:${item.id}`])
      this.send({ type: 'live', id, block: { kind: 'text', text: '' }, done: true })
    const good = item.outcome === 'success' && command?.status !== 'failed'
    const words = [item.tool_name, briefly(item.arguments), ...endOf(output, command)].filter(Boolean).join('  ')
    this.send({ type: 'commit', block: { kind: good ? 'text' : 'error', text: `${good ? '✓' : '✗'} ${words}` } })
    const diff = good ? intendedDiff(item.arguments) : undefined
    const text: Block | undefined = output && { kind: 'text', text: output.output }
    const shown = good && item.tool_name !== 'task_tracker' ? undefined : text
    const body: Block | undefined = command ? { kind: 'output', text: command.aggregated_output } : shown
    if (diff) this.excerpt(item.tool_name, { kind: 'diff', text: diff })
    else if (body) this.excerpt(item.tool_name, body)
    else if (text) this.detail = { title: words, body: [text] }
  }

  /** The last lines that a program printed, or the first of another result. */
  private excerpt(title: string, body: Block): void {
    const lines = body.text.replace(/\n+$/, '').split('\n')
    const most = body.kind === 'diff' ? lastLines * 5 : lastLines
    this.detail = { title, body: [body] }
    const part = body.kind === 'output' ? lines.slice(-most) : lines.slice(0, most)
    this.send({
      type: 'commit',
      block: { kind: body.kind, text: part.map((line) => `  ${line}`.replace(/^ {2}([-+@])/, '$1 ')).join('\n') },
    })
    if (lines.length > most)
      this.send({
        type: 'commit',
        block: { kind: 'note', text: `  ${lines.length - most} lines more: Ctrl-O shows all` },
      })
  }

  /** What was begun and is not said to its end stays on the screen, marked. */
  private ended(event: ThreadEvent): void {
    if (event.type !== 'turn.completed' && event.type !== 'turn.failed') return
    for (const id of this.told.keys()) this.send({ type: 'live', id, append: '', done: true })
    this.told.clear()
  }
}

function endOf(output: ItemOf<'tool_output'> | undefined, command: ItemOf<'command_execution'> | undefined): string[] {
  const ended =
    command?.status === 'in_progress' ? 'still runs' : command && command.exit_code === undefined ? 'stopped' : ''
  return [
    output?.exit_code === undefined ? ended : `exit ${output.exit_code}`,
    output?.error_code ?? '',
    output ? `${(output.duration_ms / 1000).toFixed(1)} s` : '',
  ]
}
const firstLines = (text: string, most: number): string => text.split('\n').slice(0, most).join('\n')
