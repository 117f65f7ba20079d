/** One line of a hunk; text without a line end. */
export interface HunkLine {
  kind: ' ' | '-' | '+'
  text: string
}
export interface Hunk {
  /** Lines that stand before the place, in this order. */
  anchors: string[]
  lines: HunkLine[]
  /** The old lines end where the file ends. */
  atEnd: boolean
  /** The line (1-based) where the old lines were, if the patch says so. */
  hint?: number
  /** Whether the file ends with a line end afterwards, if the patch says so. */
  newline?: boolean
  /** Line of the patch where it begins, 1-based. */
  line: number
}
/** One file of a patch. Lines of the patch are 1-based. */
export type Section =
  | { op: 'add'; path: string; lines: string[]; newline: boolean; executable: boolean; line: number }
  | { op: 'delete'; path: string; line: number }
  /** `executable` where the patch changes that. */
  | { op: 'update'; path: string; to?: string; hunks: Hunk[]; executable?: boolean; line: number }
