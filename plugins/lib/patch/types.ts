/** One line of a hunk, without a line end. */
export interface HunkLine {
  kind: ' ' | '-' | '+'
  text: string
  /** Line end of an added line, if the lines of the hunk have different ones. */
  end?: string
  /** The line is the last one of the old file and has no line end, so a carriage return belongs to its text. */
  isUnended?: boolean
}
export interface Hunk {
  /** Lines that precede the place, in this order. */
  anchors: string[]
  lines: HunkLine[]
  /** The old lines end at the end of the file. */
  atEnd: boolean
  /** Line (1-based) of the old lines, if the patch gives it. */
  hint?: number
  /** `true` if the file ends with a line end afterwards, if the patch defines it. */
  newline?: boolean
  /** First line in the patch, 1-based. */
  line: number
}
/** One file of a patch. Lines of the patch are 1-based. */
export type Section =
  | { op: 'add'; path: string; lines: string[]; newline: boolean; executable: boolean; line: number }
  /** `hunks` if the patch has the removed lines, which must be those of the whole file. */
  | { op: 'delete'; path: string; hunks?: Hunk[]; line: number }
  /** `executable` if the patch changes the mode; `isCopy` if the file at `path` stays. */
  | { op: 'update'; path: string; to?: string; isCopy?: boolean; hunks: Hunk[]; executable?: boolean; line: number }
