import { SelectList, type Theme, matchesKey } from '../text/index.js'
import { visibleLine } from '../../../core/text/index.js'
import type { OverlayChoice, Overlay } from '../types.js'
import type { OpenOverlay, OverlayAnswer } from './overlay.js'

const MAX_ROWS = 10

/** A list to choose from; typing filters it. */
export class Select implements OpenOverlay {
  private typed = ''
  private list: SelectList | undefined
  private selected: string | undefined

  constructor(private readonly overlay: Overlay & { kind: 'select' }) {
    this.selected = overlay.selected
  }

  render(columns: number, room: number, theme: Theme): { rows: string[] } {
    const list = (this.list ??= this.createList(Math.max(1, Math.min(MAX_ROWS, room - 2)), theme))
    const help = theme.dim('type to filter, Enter selects, Esc closes')
    const filter = this.typed === '' ? help : visibleLine(this.typed)
    const title = `${theme.bold(visibleLine(this.overlay.title))} ${filter}`
    return { rows: [title, ...list.render(columns)] }
  }

  handleKey(data: string): OverlayAnswer | undefined {
    if (matchesKey(data, 'escape') || matchesKey(data, 'ctrl+c')) return { value: undefined }
    if (matchesKey(data, 'enter'))
      return this.fitting.length > 0 ? { value: (this.list?.getSelectedItem() ?? this.fitting[0])!.value } : undefined
    if (matchesKey(data, 'backspace')) this.narrow(this.typed.slice(0, -1))
    else if (!/\p{Cc}/u.test(data)) this.narrow(this.typed + data)
    else this.list?.handleInput(data)
    return undefined
  }

  private narrow(typed: string): void {
    this.typed = typed
    this.list = undefined
    this.selected = undefined
  }

  private get fitting(): readonly OverlayChoice[] {
    const words = this.typed.toLowerCase().split(/\s+/).filter(Boolean)
    return this.overlay.choices.filter(({ label, description = '' }) =>
      words.every((word) => `${label} ${description}`.toLowerCase().includes(word)),
    )
  }

  private createList(most: number, theme: Theme): SelectList {
    const { fitting } = this
    const items = fitting.map(({ value, label, description }) => ({
      value,
      label: visibleLine(label),
      ...(description !== undefined && { description: visibleLine(description) }),
    }))
    const list = new SelectList(items, most, {
      selectedPrefix: theme.cyan,
      selectedText: theme.cyan,
      description: theme.dim,
      scrollInfo: theme.dim,
      noMatch: theme.dim,
    })
    const at = fitting.findIndex(({ value }) => value === this.selected)
    if (at > 0) list.setSelectedIndex(at)
    return list
  }
}
