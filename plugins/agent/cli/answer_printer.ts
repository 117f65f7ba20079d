import type { Io } from '../../../core/contract/index.js'
import { createTerminalStream, createPaint } from '../../lib/terminal/index.js'
import type { AgentOptions } from '../index.js'
import type { ThreadEvent } from '../base/index.js'

const END_MARKS = { cancelled: 'stopped', discarded: 'broken off' } as const

/** Prints the growing answers of the model to a terminal; each text once. */
export class AnswerPrinter {
  /** The last complete text. */
  last = ''
  /** The number of printed characters of each incomplete text. */
  private readonly printed = new Map<string, number>()
  private current: string | undefined
  private fit = createTerminalStream()
  private line_open = false

  constructor(private readonly io: Io) {}

  readonly onDelta: NonNullable<AgentOptions['onDelta']> = ({ kind, item_id, at, text }) => {
    // After a gap, the rest is printed with the complete text.
    if (kind !== 'text' || at !== (this.printed.get(item_id) ?? 0)) return
    if (this.current !== item_id) this.endText()
    this.current = item_id
    this.printed.set(item_id, at + text.length)
    this.write(this.fit(text))
  }

  /** Completes a text that this printer began. Returns whether the event was its end and needs no further printing. */
  finishText(event: ThreadEvent): boolean {
    if (event.type !== 'item.completed' || event.item.type !== 'agent_message') return false
    const { id, text, status } = event.item
    const at = this.printed.get(id)
    if (at === undefined) return false
    this.printed.delete(id)
    if (at < text.length && this.current !== id) this.endText()
    this.write(this.fit(text.slice(at), true))
    if (status === 'cancelled' || status === 'discarded')
      this.write(createPaint(this.io.stdout, this.io.env).dim(` … (${END_MARKS[status]})`))
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
