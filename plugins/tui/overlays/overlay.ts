import type { Theme } from '../theme.js'
import type { CursorPosition } from '../surface.js'

/** What came of an overlay; no value: it was left. */
export interface OverlayAnswer {
  value: string | undefined
  text?: string
}
/** Something over the editor that has the keys while it is open. */
export interface OpenOverlay {
  render(columns: number, room: number, theme: Theme, focused: boolean): { rows: string[]; cursor?: CursorPosition }
  /** A key; an answer closes it. */
  handleKey(data: string): OverlayAnswer | undefined
}
