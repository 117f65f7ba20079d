import type { CursorPosition } from '../surface.js'
import { matchesKey } from '../parts.js'
import type { Theme } from '../theme.js'
import type { Action, Overlay } from '../types.js'
import { Confirm } from './confirm.js'
import type { OpenOverlay, OverlayAnswer } from './overlay.js'
import { Pager } from './pager.js'
import { Select } from './select.js'

/** Without a key for this long nobody is in the middle of a word. */
const QUIET_MS = 300

interface OpenedOverlay {
  about: Overlay
  view: OpenOverlay
  /** It has the keys. */
  focused: boolean
}

/** What lies over the editor, the one that was opened last on top. */
export class Overlays {
  private readonly stack: OpenedOverlay[] = []
  private timer: NodeJS.Timeout | undefined
  private turn: NodeJS.Immediate | undefined

  constructor(
    private readonly host: { draw(): void; isEmpty(): boolean; answer(id: string, answer: OverlayAnswer): void },
  ) {}

  open(about: Overlay): void {
    const view =
      about.kind === 'select' ? new Select(about) : about.kind === 'pager' ? new Pager(about) : new Confirm(about)
    // What the person asked for has the keys at once; a question waits until they do not type.
    this.stack.push({ about, view, focused: about.kind !== 'confirm' })
    if (about.kind === 'confirm') this.focusWhenQuiet()
  }

  close(id: string): void {
    const at = this.stack.findIndex(({ about }) => about.id === id)
    if (at >= 0) this.stack.splice(at, 1)
  }
  closeAll(): void {
    this.clearTimers()
    this.stack.length = 0
  }

  /** Returns whether the key was for the overlay. */
  handleKey(data: string, is: (action: Action) => boolean): boolean {
    const top = this.stack.at(-1)
    // The mouse has what is above.
    if (!top || data.startsWith('\u001b[<')) return false
    if (is('focus_overlay') && top.about.kind === 'confirm') top.focused = !top.focused
    else if (!top.focused) {
      this.focusWhenQuiet()
      // Leaving is no letter of a message.
      if (!matchesKey(data, 'escape')) return false
      this.closeWith(top, { value: undefined })
    } else {
      const answer = top.view.handleKey(data)
      if (answer) this.closeWith(top, answer)
    }
    return true
  }

  render(
    columns: number,
    room: number,
    theme: Theme,
  ): { rows: string[]; cursor?: CursorPosition; alone: boolean } | undefined {
    const top = this.stack.at(-1)
    if (!top) return undefined
    const alone = top.about.kind !== 'confirm'
    const drawn = top.view.render(columns, Math.max(3, room - (alone ? 0 : 4)), theme, top.focused)
    return { ...drawn, alone: alone || drawn.cursor !== undefined }
  }

  private closeWith(opened: OpenedOverlay, answer: OverlayAnswer): void {
    this.close(opened.about.id)
    this.host.answer(opened.about.id, answer)
  }

  /** Gives a question the keys when nobody types; a message that is half written keeps them, until Tab. */
  private focusWhenQuiet(): void {
    this.clearTimers()
    // A program that stood still reads first what was typed meanwhile: that is no answer either.
    this.timer = setTimeout(() => (this.turn = setImmediate(() => this.focusTop())), QUIET_MS)
  }
  private clearTimers(): void {
    clearTimeout(this.timer)
    clearImmediate(this.turn)
  }
  private focusTop(): void {
    const top = this.stack.at(-1)
    if (!top || top.focused || !this.host.isEmpty()) return
    top.focused = true
    this.host.draw()
  }
}
