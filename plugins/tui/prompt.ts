import { CURSOR_MARKER, Editor, type EditorTheme, type TUI, type Theme, visibleWidth } from './text/index.js'
import { visible } from '../../core/text/index.js'
import { MenuCompletion } from './completion.js'
import type { CursorPosition } from './surface.js'
import type { SessionOptions } from './types.js'

const BORDER = '\u0000'
const MARK = '> '
const MAX_OFFERED = 8

/** The editor with its prompt mark, without the frame of the library. */
export class PromptEditor {
  placeholder = ''
  private readonly editor: Editor
  private readonly menu: MenuCompletion

  constructor(
    { slashCommands, files }: Pick<SessionOptions, 'slashCommands' | 'files'>,
    private theme: () => Theme,
    private readonly terminal: { rows(): number; changed(): void },
  ) {
    // The part of the renderer that the editor uses.
    const host = {
      requestRender: () => terminal.changed(),
      terminal: {
        get rows() {
          return terminal.rows()
        },
      },
    }
    this.editor = new Editor(host as unknown as TUI, createEditorTheme(theme), { autocompleteMaxVisible: MAX_OFFERED })
    this.editor.focused = true
    this.menu = new MenuCompletion(slashCommands, files)
    this.editor.setAutocompleteProvider(this.menu)
  }

  set onSubmit(take: (text: string) => void) {
    this.editor.onSubmit = take
  }
  get text(): string {
    return this.editor.getExpandedText()
  }
  set text(text: string) {
    this.editor.setText(text)
  }
  get isEmpty(): boolean {
    return this.editor.getText() === ''
  }
  /** True if the menu is open. */
  get completing(): boolean {
    return this.editor.isShowingAutocomplete()
  }

  offer({
    slashCommands = this.menu.commands,
    files = this.menu.files,
    history = [],
  }: Partial<Pick<SessionOptions, 'slashCommands' | 'files' | 'history'>>): void {
    Object.assign(this.menu, { commands: slashCommands, files })
    for (const text of history) this.addHistory(text)
  }
  insert(text: string): void {
    this.editor.insertTextAtCursor(text)
  }
  addHistory(text: string): void {
    this.editor.addToHistory(text)
  }
  handleKey(data: string): void {
    this.editor.handleInput(data)
  }

  /** Renders rows and the position of the cursor; `drawn`: draw a cursor, because the terminal's is elsewhere. */
  render(columns: number, drawn = false): { rows: string[]; cursor: CursorPosition } {
    const { bold, cyan, dim, inverse } = this.theme()
    // Shorten the menu in a low terminal, so that the typed text stays visible.
    this.editor.setAutocompleteMaxVisible(Math.min(MAX_OFFERED, this.terminal.rows() - 5))
    let cursor: CursorPosition = { row: 0, column: MARK.length }
    const rows: string[] = []
    let below = false
    for (const line of this.editor.render(Math.max(1, columns - MARK.length))) {
      if (line.startsWith(BORDER)) {
        below = rows.length > 0
        if (/more/.test(line)) rows.push(dim(line.slice(1)))
        continue
      }
      if (below) {
        rows.push(`  ${line}`)
        continue
      }
      const plain = line.replace(CURSOR_MARKER, '')
      const at = plain.indexOf('\u001b[7m')
      if (at >= 0) cursor = { row: rows.length, column: MARK.length + visibleWidth(visible(plain.slice(0, at))) }
      rows.push(
        (rows.length === 0 ? bold(cyan(MARK)) : '  ') +
          (drawn ? plain : plain.replace('\u001b[7m', '').replace('\u001b[0m', '')),
      )
    }
    if (this.isEmpty && rows.length === 1) {
      const [first, others] = [this.placeholder.slice(0, 1), this.placeholder.slice(1)]
      rows[0] = bold(cyan(MARK)) + (drawn ? inverse(first || ' ') + dim(others) : dim(this.placeholder))
    }
    return { rows, cursor }
  }
}

function createEditorTheme(theme: () => Theme): EditorTheme {
  const style = (name: 'inverse' | 'dim' | 'cyan') => (text: string) => theme()[name](text)
  return {
    borderColor: (text) => BORDER + text,
    selectList: {
      selectedPrefix: style('cyan'),
      selectedText: style('cyan'),
      description: style('dim'),
      scrollInfo: style('dim'),
      noMatch: style('dim'),
    },
  }
}
