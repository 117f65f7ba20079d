import type { Theme } from '../text/index.js'
import type { CursorPosition } from '../surface.js'
import type { Action, Overlay } from '../types.js'
import { Confirm } from './confirm.js'
import type { OpenOverlay, OverlayAnswer } from './overlay.js'
import { Pager } from './pager.js'
import { Select } from './select.js'

/** Pause without a key after which the person is not typing. */
const QUIET_MS = 300
/** Pause after a key that answers: a letter of a text is followed by others. */
const ALONE_MS = 700
const DOWN = '\u001b[B'

interface OpenedOverlay {
  about: Overlay
  view: OpenOverlay | Confirm
  /** True if single keys answer the question: the person is not typing. */
  keysAnswer: boolean
}

/** Stack of overlays; the newest is on top and receives all keys. */
export class Overlays {
  private readonly stack: OpenedOverlay[] = []
  private readonly quiet = new Pause()
  private readonly alone = new Pause()
  /** A key that answers if no other key follows it. */
  private held: string | undefined

  constructor(
    private readonly host: { draw(): void; isEmpty(): boolean; answer(id: string, answer: OverlayAnswer): void },
  ) {}

  open(about: Overlay): void {
    const view =
      about.kind === 'select' ? new Select(about) : about.kind === 'pager' ? new Pager(about) : new Confirm(about)
    this.dropHeld()
    this.stack.push({ about, view, keysAnswer: false })
    this.allowKeysWhenQuiet()
  }

  close(id: string): void {
    const at = this.stack.findIndex(({ about }) => about.id === id)
    if (at >= 0) this.stack.splice(at, 1)
    this.dropHeld()
  }
  closeAll(): void {
    this.quiet.cancel()
    this.dropHeld()
    this.stack.length = 0
  }

  /** Handles a key. Returns the keys that are text for the editor; `undefined` if no overlay used the key. */
  handleKey(data: string, is: (action: Action) => boolean): string[] | undefined {
    const top = this.stack.at(-1)
    // Mouse events belong to the rows above; other keys of the screen work at all times.
    if (!top || data.startsWith('\u001b[<') || is('redraw') || is('pause')) return undefined
    const held = this.dropHeld()
    // With a text, the key completes it in the editor.
    const selects = is('focus_overlay') && (top.about.kind !== 'confirm' || this.host.isEmpty())
    const answer = top.view.handleKey(selects ? DOWN : data)
    if (answer !== 'unused') {
      if (answer) this.closeWith(top, answer)
      return []
    }
    if (held === undefined && this.holdKey(top, data)) return []
    if (top.view instanceof Confirm) top.view.clearSelection()
    top.keysAnswer = false
    this.allowKeysWhenQuiet()
    return held === undefined ? [data] : [held, data]
  }

  render(
    columns: number,
    room: number,
    theme: Theme,
  ): { rows: string[]; cursor?: CursorPosition; below(editor: string[]): string[] } | undefined {
    const top = this.stack.at(-1)
    if (!top) return undefined
    // The editor is shown while it keeps a text.
    const alone = top.about.kind !== 'confirm' || this.host.isEmpty()
    const drawn = top.view.render(columns, Math.max(3, room - (alone ? 0 : 4)), theme, top.keysAnswer)
    return { ...drawn, below: (editor) => (alone || drawn.cursor ? [] : editor.map(theme.dim)) }
  }

  private closeWith(opened: OpenedOverlay, answer: OverlayAnswer): void {
    this.close(opened.about.id)
    this.host.answer(opened.about.id, answer)
  }

  /** Holds a key that answers until a pause shows that it is no letter of a text. Returns whether it is such a key. */
  private holdKey({ view, keysAnswer, about: { id } }: OpenedOverlay, data: string): boolean {
    if (!keysAnswer || !this.host.isEmpty() || !(view instanceof Confirm) || view.selectByKey(data) === undefined)
      return false
    this.held = data
    this.alone.start(ALONE_MS, () => {
      this.held = undefined
      const answer = view.answerSelected()
      const opened = this.stack.find(({ about }) => about.id === id)
      if (answer && opened) this.closeWith(opened, answer)
      this.host.draw()
    })
    return true
  }
  private dropHeld(): string | undefined {
    const { held } = this
    this.alone.cancel()
    this.held = undefined
    return held
  }

  /** Lets single keys answer after a pause; an unfinished message keeps them. */
  private allowKeysWhenQuiet(): void {
    this.quiet.start(QUIET_MS, () => {
      const top = this.stack.at(-1)
      if (!top || top.keysAnswer || !this.host.isEmpty()) return
      top.keysAnswer = true
      this.host.draw()
    })
  }
}

/** A pause without a key. A program that was blocked first reads the keys of that time. */
class Pause {
  private timer: NodeJS.Timeout | undefined
  private turn: NodeJS.Immediate | undefined

  start(ms: number, end: () => void): void {
    this.cancel()
    this.timer = setTimeout(() => (this.turn = setImmediate(end)), ms)
  }
  cancel(): void {
    clearTimeout(this.timer)
    clearImmediate(this.turn)
  }
}
