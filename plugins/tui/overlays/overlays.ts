import type { CursorPosition } from '../surface.js'
import { matchesKey } from '../parts.js'
import type { Theme } from '../theme.js'
import type { Action, Overlay } from '../types.js'
import { Confirm } from './confirm.js'
import type { OpenOverlay, OverlayAnswer } from './overlay.js'
import { Pager } from './pager.js'
import { Select } from './select.js'

/** Pause without a key after which the person is not typing. */
const QUIET_MS = 300

interface OpenedOverlay {
  about: Overlay
  view: OpenOverlay
  /** True if the overlay receives keys. */
  focused: boolean
}

/** Stack of overlays; the newest is on top. */
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
    // A view that the person opened gets the keys at once; a question waits for a pause.
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

  /** Handles a key. Returns whether an overlay used it. */
  handleKey(data: string, is: (action: Action) => boolean): boolean {
    const top = this.stack.at(-1)
    // Mouse events belong to the rows above.
    if (!top || data.startsWith('\u001b[<')) return false
    if (is('focus_overlay') && top.about.kind === 'confirm') top.focused = !top.focused
    else if (!top.focused) {
      this.focusWhenQuiet()
      // Escape is never part of a message, so it may answer.
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

  /** Gives a question the keys after a pause; an unfinished message keeps them until Tab. */
  private focusWhenQuiet(): void {
    this.clearTimers()
    // A program that was blocked first reads older keys, which are no answer either.
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
