import { visibleLine } from '../../../core/text/index.js'
import { blockRows } from '../blocks.js'
import { matchesKey } from '../parts.js'
import type { Theme } from '../theme.js'
import type { Overlay } from '../types.js'
import type { OpenOverlay, OverlayAnswer } from './overlay.js'

/** A long text, a part of it at a time. */
export class Pager implements OpenOverlay {
  private above = 0
  private page = 1
  private made: { columns: number; theme: Theme; rows: string[] } | undefined

  constructor(private readonly about: Overlay & { kind: 'pager' }) {}

  rows(columns: number, room: number, theme: Theme): { rows: string[] } {
    // The text stays, so that its rows are made once for a width.
    if (this.made?.columns !== columns || this.made.theme !== theme)
      this.made = { columns, theme, rows: this.about.body.flatMap((block) => blockRows(block, columns, theme)) }
    const { rows } = this.made
    this.page = Math.max(1, room - 2)
    this.above = Math.max(0, Math.min(this.above, rows.length - this.page))
    const end = Math.min(rows.length, this.above + this.page)
    const title = theme.bold(visibleLine(this.about.title))
    return {
      rows: [
        title,
        ...rows.slice(this.above, end),
        theme.dim(
          `rows ${rows.length === 0 ? 0 : this.above + 1}-${end} of ${rows.length} · ↑ ↓ PgUp PgDn g G · q leaves`,
        ),
      ],
    }
  }

  key(data: string): OverlayAnswer | undefined {
    const is = (keys: Parameters<typeof matchesKey>[1][], ...letters: string[]): boolean =>
      letters.includes(data) || keys.some((key) => matchesKey(data, key))
    if (is(['escape', 'ctrl+c', 'ctrl+o'], 'q')) return { value: undefined }
    if (is(['up'], 'k')) this.above -= 1
    else if (is(['down', 'enter'], 'j')) this.above += 1
    else if (is(['pageUp'], 'b')) this.above -= this.page
    else if (is(['pageDown'], ' ')) this.above += this.page
    else if (is(['home'], 'g')) this.above = 0
    else if (is(['end'], 'G')) this.above = Infinity
    return undefined
  }
}
