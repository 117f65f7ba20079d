import { type Theme, matchesKey, renderBlock } from '../text/index.js'
import { visibleLine } from '../../../core/text/index.js'
import type { Overlay } from '../types.js'
import type { OpenOverlay, OverlayAnswer } from './overlay.js'

/** A long text, shown page by page. */
export class Pager implements OpenOverlay {
  private scrolledRows = 0
  private page = 1
  private rendered: { columns: number; theme: Theme; rows: string[] } | undefined

  constructor(private readonly overlay: Overlay & { kind: 'pager' }) {}

  render(columns: number, room: number, theme: Theme): { rows: string[] } {
    // The text does not change, so rows are rendered once for each width.
    if (this.rendered?.columns !== columns || this.rendered.theme !== theme)
      this.rendered = { columns, theme, rows: this.overlay.body.flatMap((block) => renderBlock(block, columns, theme)) }
    const { rows } = this.rendered
    this.page = Math.max(1, room - 2)
    this.scrolledRows = Math.max(0, Math.min(this.scrolledRows, rows.length - this.page))
    const end = Math.min(rows.length, this.scrolledRows + this.page)
    const first = rows.length === 0 ? 0 : this.scrolledRows + 1
    const title = theme.bold(visibleLine(this.overlay.title))
    return {
      rows: [
        title,
        ...rows.slice(this.scrolledRows, end),
        theme.dim(`rows ${first}-${end} of ${rows.length} · ↑ ↓ PgUp PgDn g G · q closes`),
      ],
    }
  }

  handleKey(data: string): OverlayAnswer | undefined {
    const is = (keys: Parameters<typeof matchesKey>[1][], ...letters: string[]): boolean =>
      letters.includes(data) || keys.some((key) => matchesKey(data, key))
    if (is(['escape', 'ctrl+c', 'ctrl+o'], 'q')) return { value: undefined }
    if (is(['up'], 'k')) this.scrolledRows -= 1
    else if (is(['down', 'enter'], 'j')) this.scrolledRows += 1
    else if (is(['pageUp'], 'b')) this.scrolledRows -= this.page
    else if (is(['pageDown'], ' ')) this.scrolledRows += this.page
    else if (is(['home'], 'g')) this.scrolledRows = 0
    else if (is(['end'], 'G')) this.scrolledRows = Infinity
    return undefined
  }
}
