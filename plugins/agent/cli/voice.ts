import type { Io } from '../../../core/contract/index.js'
import { createTerminalStream, createPaint } from '../../lib/terminal/index.js'
import type { AgentOptions } from '../index.js'
import type { ThreadEvent } from '../base/index.js'

const marks = { cancelled: 'stopped', discarded: 'broken off' } as const

/** What the model says, word by word, for a person in front of a terminal; each text once. */
export class Voice {
  /** The text that was said last, to its end. */
  last = ''
  /** How much of each text stands on the terminal, until it is complete. */
  private readonly shown = new Map<string, number>()
  private current: string | undefined
  private fit = createTerminalStream()
  private line_open = false

  constructor(private readonly io: Io) {}

  readonly onDelta: NonNullable<AgentOptions['onDelta']> = ({ kind, item_id, at, text }) => {
    // What does not follow what is there waits for the whole.
    if (kind !== 'text' || at !== (this.shown.get(item_id) ?? 0)) return
    if (this.current !== item_id) this.endText()
    this.current = item_id
    this.shown.set(item_id, at + text.length)
    this.write(this.fit(text))
  }

  /** Ends a text that was begun here. Returns whether the event was its end, so that nobody needs to print it. */
  ended(event: ThreadEvent): boolean {
    if (event.type !== 'item.completed' || event.item.type !== 'agent_message') return false
    const { id, text, status } = event.item
    const at = this.shown.get(id)
    if (at === undefined) return false
    this.shown.delete(id)
    if (at < text.length && this.current !== id) this.endText()
    this.write(this.fit(text.slice(at), true))
    if (status === 'cancelled' || status === 'discarded')
      this.write(createPaint(this.io.stdout, this.io.env).dim(` … (${marks[status]})`))
    this.endText()
    this.last = text
    return true
  }

  private endText(): void {
    this.write(this.fit('', true))
    if (this.line_open) this.write('\n')
    this.current = undefined
    this.fit = createTerminalStream()
  }

  private write(text: string): void {
    if (text === '') return
    this.line_open = !text.endsWith('\n')
    this.io.stdout.write(text)
  }
}
