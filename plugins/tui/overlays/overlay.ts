import type { Theme } from '../theme.js'
import type { CursorPlace } from '../surface.js'

/** What came of an overlay; no value: it was left. */
export interface OverlayAnswer {
  value: string | undefined
  text?: string
}
/** Something over the editor that has the keys while it is open. */
export interface OpenOverlay {
  rows(columns: number, room: number, theme: Theme, focused: boolean): { rows: string[]; cursor?: CursorPlace }
  /** A key; an answer closes it. */
  key(data: string): OverlayAnswer | undefined
}
