import type { Theme } from '../text/index.js'
import type { CursorPosition } from '../surface.js'

/** Result of an overlay; `undefined`: the person left it. */
export interface OverlayAnswer {
  value: string | undefined
  text?: string
}
/** A view above the editor that receives keys while it is open. */
export interface OpenOverlay {
  /** `keysAnswer`: single keys answer. */
  render(columns: number, room: number, theme: Theme, keysAnswer: boolean): { rows: string[]; cursor?: CursorPosition }
  /** Handles a key; an answer closes the overlay, and an unused key is text for the editor. */
  handleKey(data: string): OverlayAnswer | 'unused' | undefined
}
