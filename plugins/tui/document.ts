import {
  type Block,
  type MarkdownPart,
  StreamingMarkdown,
  type Theme,
  renderBlock,
  truncateToWidth,
} from './text/index.js'
import { visible, visibleLine } from '../../core/text/index.js'
import type { UiCommand } from './types.js'

interface Growing {
  block: Block
  /** Incomplete paragraphs of a Markdown text. */
  text?: StreamingMarkdown
}
/** A finished block; the first rows of a `part` may be drawn already. */
interface Finished {
  block: Block
  part?: MarkdownPart
}
type Command<K extends UiCommand['type']> = UiCommand & { type: K }
const SPINNER = '⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏'
const MAX_OUTPUT_LINES = 8
/** Limit for a growing block; a finished block is whole. */
const MAX_GROWING_CHARACTERS = 64 * 1024
const MAX_QUEUED_ROWS = 3
/** Limit of a row of the queue before it is cut to the width. */
const MAX_QUEUED_CHARACTERS = 1000

/** Content of a session: unwritten finished blocks, and the live part. */
export class UiDocument {
  private finished: Finished[] = []
  /** All finished blocks, if the surface may need them again. */
  private kept: Finished[] | undefined
  private readonly growing = new Map<string, Growing>()
  private previousKind: 'nothing' | 'line' | 'paragraph' = 'nothing'
  private activity: { state: string; detail: string; since: number } | undefined
  private queue: readonly string[] = []
  private subagents: readonly string[] = []
  private left = ''
  private right = ''

  get busy(): boolean {
    return this.activity !== undefined
  }
  get moving(): boolean {
    return this.busy || this.growing.size > 0
  }
  get queued(): number {
    return this.queue.length
  }

  commit(block: Block, part?: MarkdownPart): void {
    if (block.text.trim() !== '') this.finished.push({ block, ...(part && { part }) })
  }

  /** Keeps finished blocks from now on, for `replayFinished`. */
  keepFinished(): void {
    this.kept ??= []
  }
  replayFinished(): void {
    this.finished = [...(this.kept ?? []), ...this.finished]
    this.kept = []
    this.previousKind = 'nothing'
  }

  updateLive({ id, block, append, done }: Command<'live'>): void {
    let one = this.growing.get(id)
    if (block) {
      const text = block.kind === 'markdown' ? new StreamingMarkdown() : undefined
      text?.add(block.text)
      one = { block: { ...block }, ...(text && { text }) }
      this.growing.set(id, one)
    }
    if (!one) return
    if (append !== undefined) {
      if (one.text) one.text.add(append)
      else one.block.text = (one.block.text + append).slice(-MAX_GROWING_CHARACTERS)
    }
    if (one.text) {
      const part = one.text.takeParagraphs(done)
      this.commit({ kind: 'markdown', text: part.text }, part)
    }
    if (done) {
      this.growing.delete(id)
      if (!one.text) this.commit(one.block)
    }
  }

  setActivity({ state, detail = '' }: Command<'activity'>, now: number): void {
    this.activity = state === undefined ? undefined : { state, detail, since: this.activity?.since ?? now }
  }
  setQueue(items: readonly string[]): void {
    this.queue = items
  }
  setSubagents(lines: readonly string[]): void {
    this.subagents = lines
  }
  setStatus({ left, right = '' }: Command<'status'>): void {
    this.left = left
    this.right = right
  }

  /** Takes and renders finished blocks. */
  takeFinished(columns: number, theme: Theme): string[] {
    const rows = this.finished.splice(0).flatMap((one) => {
      this.kept?.push(one)
      const { block, part } = one
      return this.separateRows(
        block.kind === 'markdown' || block.kind === 'user' ? 'paragraph' : 'line',
        renderBlock(block, columns, theme, this.kept === undefined).slice(part?.drawn),
        part?.continues,
      )
    })
    // Keep paragraphs whole if they may be drawn again for another width.
    const [first] = this.kept ? [] : this.growing.values()
    if (!first?.text) return rows
    const full = first.text.takeRows(columns, theme)
    return full.rows.length > 0 ? [...rows, ...this.separateRows('paragraph', full.rows, full.goes_on)] : rows
  }

  /** Adds a blank row before these rows unless they continue others. */
  private separateRows(kind: 'line' | 'paragraph', rows: string[], goes_on = false): string[] {
    const apart = this.hasGap(kind, goes_on)
    this.previousKind = kind
    return apart ? ['', ...rows] : rows
  }
  private hasGap(kind: 'line' | 'paragraph', goes_on: boolean): boolean {
    const { previousKind } = this
    return (
      previousKind !== 'nothing' &&
      !(goes_on && previousKind === 'paragraph') &&
      (kind === 'paragraph' || previousKind === 'paragraph')
    )
  }

  /** Renders the last rows of growing blocks, at most `room`. */
  renderGrowing(columns: number, room: number, theme: Theme): string[] {
    const rows = [...this.growing.values()].flatMap(({ block, text }) => {
      if (!text) return renderLastRows(block, columns, theme)
      const { text: part, drawn, continues } = text.unfinished
      const growing = renderBlock({ kind: 'markdown', text: part }, columns, theme).slice(drawn)
      return growing.length > 0 && this.hasGap('paragraph', continues) ? ['', ...growing] : growing
    })
    return room <= 0 ? [] : rows.slice(-room)
  }

  renderActivity(columns: number, theme: Theme, now: number): string[] {
    const rows = this.subagents.map((line) => theme.dim(visibleLine(line)))
    const { activity, queue } = this
    if (activity) {
      const seconds = Math.max(0, Math.floor((now - activity.since) / 1000))
      const spin = SPINNER[Math.floor(now / SPINNER_MS) % SPINNER.length]!
      const time = seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`
      const detail = activity.detail && ` · ${visibleLine(activity.detail)}`
      const end = theme.dim(`${time}${detail} · Esc interrupts`)
      rows.push(`${theme.cyan(spin)} ${visibleLine(activity.state)} ${end}`)
    }
    const shown = queue.slice(0, MAX_QUEUED_ROWS)
    for (const [at, text] of shown.entries())
      rows.push(
        theme.dim(
          truncateToWidth(
            `  ${at + 1}. ${visibleLine(visible(text.slice(0, MAX_QUEUED_CHARACTERS)).replace(/\s+/g, ' '))}`,
            columns,
            '…',
          ),
        ),
      )
    if (queue.length > shown.length) rows.push(theme.dim(`  … ${queue.length - shown.length} more queued`))
    return rows
  }

  renderStatus(columns: number, theme: Theme, instead?: string): string {
    // A row as wide as the terminal would wrap in a narrower one.
    const [left, right] = [visibleLine(instead ?? this.left), visibleLine(this.right)]
    return theme.dim(truncateToWidth(right === '' ? left : `${left} · ${right}`, columns, '…'))
  }
}
export const SPINNER_MS = 250

/** Renders the last lines of program output, and all lines of other blocks. */
function renderLastRows(block: Block, columns: number, theme: Theme): string[] {
  if (block.kind !== 'output') return renderBlock(block, columns, theme)
  const lines = block.text.replace(/\n$/, '').split('\n')
  const rows = renderBlock(
    { kind: 'output', text: lines.slice(-MAX_OUTPUT_LINES).join('\n') },
    columns - 2,
    theme,
  ).slice(-MAX_OUTPUT_LINES)
  return rows.map((row) => `  ${row}`)
}
