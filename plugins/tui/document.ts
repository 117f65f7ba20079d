import { visible, visibleLine } from '../../core/text/index.js'
import { blockRows } from './blocks.js'
import { GrowingMarkdown, type MarkdownPart } from './markdown.js'
import { truncateToWidth } from './parts.js'
import type { Theme } from './theme.js'
import type { Block, UiCommand } from './types.js'

interface Growing {
  block: Block
  /** The paragraphs of a text of Markdown that are not complete. */
  text?: GrowingMarkdown
}
/** A block that is finished; `part`: of a text of Markdown, of which rows may stand above already. */
interface Finished {
  block: Block
  part?: MarkdownPart
}
type Command<K extends UiCommand['type']> = UiCommand & { type: K }
const spins = '⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏'
const lastLines = 8
/** So many characters of what grows are kept; what is finished is told as a whole. */
const mostKept = 64 * 1024
const mostQueued = 3
/** So many characters of what waits can stand in its row. */
const mostShown = 1000

/** What a session shows: what is finished and not written yet, and what is under way. */
export class UiDocument {
  private finished: Finished[] = []
  /** All that was finished, where it has to be drawn again. */
  private kept: Finished[] | undefined
  private readonly growing = new Map<string, Growing>()
  private above: 'nothing' | 'line' | 'paragraph' = 'nothing'
  private activity: { state: string; detail: string; since: number } | undefined
  private queue: readonly string[] = []
  private subagents: readonly string[] = []
  private left = ''
  private right = ''

  get busy(): boolean {
    return this.activity !== undefined
  }
  /** Something changes by itself. */
  get moving(): boolean {
    return this.busy || this.growing.size > 0
  }
  get queued(): number {
    return this.queue.length
  }

  commit(block: Block, part?: MarkdownPart): void {
    if (block.text.trim() !== '') this.finished.push({ block, ...(part && { part }) })
  }

  /** From now on what is finished is kept, to come `again`. */
  keep(): void {
    this.kept ??= []
  }
  again(): void {
    this.finished = [...(this.kept ?? []), ...this.finished]
    this.kept = []
    this.above = 'nothing'
  }

  live({ id, block, append, done }: Command<'live'>): void {
    let one = this.growing.get(id)
    if (block) {
      const text = block.kind === 'markdown' ? new GrowingMarkdown() : undefined
      text?.add(block.text)
      one = { block: { ...block }, ...(text && { text }) }
      this.growing.set(id, one)
    }
    if (!one) return
    if (append !== undefined) {
      if (one.text) one.text.add(append)
      else one.block.text = (one.block.text + append).slice(-mostKept)
    }
    if (one.text) {
      const part = one.text.take(done)
      this.commit({ kind: 'markdown', text: part.text }, part)
    }
    if (done) {
      this.growing.delete(id)
      if (!one.text) this.commit(one.block)
    }
  }

  act({ state, detail = '' }: Command<'activity'>, now: number): void {
    this.activity = state === undefined ? undefined : { state, detail, since: this.activity?.since ?? now }
  }
  wait(items: readonly string[]): void {
    this.queue = items
  }
  work(lines: readonly string[]): void {
    this.subagents = lines
  }
  status({ left, right = '' }: Command<'status'>): void {
    this.left = left
    this.right = right
  }

  /** The rows of what is finished; they are taken off. */
  takeFinished(columns: number, theme: Theme): string[] {
    const rows = this.finished.splice(0).flatMap((one) => {
      this.kept?.push(one)
      const { block, part } = one
      return this.below(
        block.kind === 'markdown' || block.kind === 'user' ? 'paragraph' : 'line',
        blockRows(block, columns, theme).slice(part?.drawn),
        part?.goes_on,
      )
    })
    // Where it has to be drawn again for another width, a paragraph stays one.
    const [first] = this.kept ? [] : this.growing.values()
    if (!first?.text) return rows
    const full = first.text.takeRows(columns, theme)
    return full.rows.length > 0 ? [...rows, ...this.below('paragraph', full.rows, full.goes_on)] : rows
  }

  /** These rows, apart from what stands above them unless they go on with that. */
  private below(kind: 'line' | 'paragraph', rows: string[], goes_on = false): string[] {
    const apart = this.isApart(kind, goes_on)
    this.above = kind
    return apart ? ['', ...rows] : rows
  }
  private isApart(kind: 'line' | 'paragraph', goes_on: boolean): boolean {
    const { above } = this
    return above !== 'nothing' && !(goes_on && above === 'paragraph') && (kind === 'paragraph' || above === 'paragraph')
  }

  /** What grows, in at most so many rows: its end. */
  growingRows(columns: number, room: number, theme: Theme): string[] {
    const rows = [...this.growing.values()].flatMap(({ block, text }) => {
      if (!text) return lastRows(block, columns, theme)
      const { text: part, drawn, goes_on } = text.growing
      const growing = blockRows({ kind: 'markdown', text: part }, columns, theme).slice(drawn)
      return growing.length > 0 && this.isApart('paragraph', goes_on) ? ['', ...growing] : growing
    })
    return room <= 0 ? [] : rows.slice(-room)
  }

  activityRows(columns: number, theme: Theme, now: number): string[] {
    const rows = this.subagents.map((line) => theme.dim(visibleLine(line)))
    const { activity, queue } = this
    if (activity) {
      const seconds = Math.max(0, Math.floor((now - activity.since) / 1000))
      const spin = spins[Math.floor(now / spin_ms) % spins.length]!
      const time = seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`
      rows.push(
        `${theme.cyan(spin)} ${visibleLine(activity.state)} ${theme.dim(`${time}${activity.detail && ` · ${visibleLine(activity.detail)}`} · Esc interrupts`)}`,
      )
    }
    const shown = queue.slice(0, mostQueued)
    for (const [at, text] of shown.entries())
      rows.push(
        theme.dim(
          truncateToWidth(
            `  ${at + 1}. ${visibleLine(visible(text.slice(0, mostShown)).replace(/\s+/g, ' '))}`,
            columns,
            '…',
          ),
        ),
      )
    if (queue.length > shown.length) rows.push(theme.dim(`  … ${queue.length - shown.length} more wait`))
    return rows
  }

  statusRow(columns: number, theme: Theme, instead?: string): string {
    // A row as wide as the terminal is folded when the terminal becomes narrower, so what belongs to the right stands behind the rest.
    const [left, right] = [visibleLine(instead ?? this.left), visibleLine(this.right)]
    return theme.dim(truncateToWidth(right === '' ? left : `${left} · ${right}`, columns, '…'))
  }
}
export const spin_ms = 250

/** The last lines of what a program prints; of everything else all. */
function lastRows(block: Block, columns: number, theme: Theme): string[] {
  if (block.kind !== 'output') return blockRows(block, columns, theme)
  const lines = block.text.replace(/\n$/, '').split('\n')
  const rows = blockRows({ kind: 'output', text: lines.slice(-lastLines).join('\n') }, columns - 2, theme).slice(
    -lastLines,
  )
  return rows.map((row) => `  ${row}`)
}
