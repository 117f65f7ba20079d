import { highlightLines } from './highlight.js'
import { Markdown, setCapabilities, visibleWidth, type MarkdownTheme } from './parts.js'
import { breakLongWords, type Theme } from './theme.js'
import { visible } from '../../../core/text/index.js'

// Show the address of a link; draw no images.
setCapabilities({ images: null, trueColor: false, hyperlinks: false })

const styles = new Map<Theme, MarkdownTheme>()

function toMarkdownTheme(theme: Theme): MarkdownTheme {
  const known = styles.get(theme)
  if (known) return known
  const { bold, dim, italic, underline, strike, cyan, blue } = theme
  const made: MarkdownTheme = {
    heading: blue,
    link: underline,
    linkUrl: dim,
    code: cyan,
    codeBlock: cyan,
    codeBlockBorder: dim,
    quote: dim,
    quoteBorder: dim,
    hr: dim,
    listBullet: blue,
    bold,
    italic,
    strikethrough: strike,
    underline,
    highlightCode: (code, language) => highlightLines(code, language, theme),
  }
  styles.set(theme, made)
  return made
}

/** Renders untrusted Markdown as rows of at most `columns`; `foldable`: a line of code is one row of any width. */
export function renderMarkdown(text: string, columns: number, theme: Theme, foldable = false): string[] {
  // Escape invisible characters before columns are counted.
  const shown = breakLongWords(visible(text.replaceAll('\r\n', '\n')), columns - 2)
  const styles = toMarkdownTheme(theme)
  const long: string[] = []
  const shorten = (line: string) => (visibleWidth(line) > columns - 2 ? `\ue000${long.push(line) - 1}\ue001` : line)
  const highlightCode: MarkdownTheme['highlightCode'] = (...code) => styles.highlightCode!(...code).map(shorten)
  const folds = foldable && !shown.includes('\ue000')
  const rows = new Markdown(shown, 0, 0, folds ? { ...styles, highlightCode } : styles)
    .render(columns)
    .map((row) =>
      row.replace(/\ue000(\d+)\ue001/g, (_, at: number) => long[at] ?? '').replace(/ +((?:\u001b\[[\d;]*m)*)$/, '$1'),
    )
  while (rows.at(-1) === '') rows.pop()
  return rows
}

const fence = /^ {0,3}(`{3,}|~{3,})/

/** A part of a Markdown text. */
export interface MarkdownPart {
  text: string
  /** True if the part continues a paragraph whose first rows were taken; `drawn` rows of it are on the screen. */
  continues: boolean
  drawn: number
}

/** A growing Markdown text, whose complete paragraphs and full rows can be taken: the rest is cheap to draw. */
export class StreamingMarkdown {
  private rest = ''
  /** Length of the rest that was searched for the end of a paragraph. */
  private scanned = 0
  private fenceLine: string | undefined
  /** Set if the rest continues a paragraph (empty) or a code block (its first line). */
  private begun: string | undefined
  /** Number of rows when nothing could be taken. */
  private tried = 0

  add(text: string): void {
    this.rest += text
  }

  /** Takes complete paragraphs; `whole`: everything. */
  takeParagraphs(whole = false): MarkdownPart {
    const end = whole ? this.rest.length : this.findParagraphEnd()
    const taken = this.toPart(this.rest.slice(0, end))
    this.dropText(end, end > 0 ? undefined : this.begun)
    if (whole) Object.assign(this, { scanned: 0, inside: undefined, begun: undefined })
    return taken
  }

  /** The incomplete rest, as it may be drawn now: only the end of a long code block. */
  get unfinished(): MarkdownPart {
    const { rest, fenceLine, begun } = this
    if (fenceLine === undefined || rest.length < MAX_MARKDOWN_UNITS) return this.toPart(rest)
    const tail = rest.slice(rest.indexOf('\n', rest.length - MAX_MARKDOWN_UNITS) + 1)
    return { text: `${fenceLine}\n${tail}`, continues: begun !== undefined, drawn: begun === undefined ? 0 : 1 }
  }

  /** Takes rows of the incomplete rest that cannot change any more. */
  takeRows(columns: number, theme: Theme): { rows: string[]; goes_on: boolean } {
    const goes_on = this.begun !== undefined
    if (this.rest.length > MAX_MARKDOWN_UNITS) return { rows: [], goes_on }
    return {
      rows: this.fenceLine === undefined ? this.takeParagraphRows(columns, theme) : this.takeCodeRows(columns, theme),
      goes_on,
    }
  }

  /** Takes rows of a paragraph if the rest renders the same. */
  private takeParagraphRows(columns: number, theme: Theme): string[] {
    // A table is only recognized at its second line.
    const rows = this.rest.includes('|') ? [] : renderMarkdown(this.rest, columns, theme, true)
    if (rows.length < 2 || rows.length === this.tried) return []
    this.tried = rows.length
    const spaces = [...this.rest.matchAll(/\s+/g)].map(({ index, 0: space }) => index + space.length)
    for (let most = rows.length - 1; most > Math.max(0, rows.length - 4); most--) {
      const end: number | undefined =
        spaces[
          findLastIndex(spaces, (at) => renderMarkdown(this.rest.slice(0, at), columns, theme, true).length <= most)
        ]
      if (end === undefined || end >= this.rest.length) continue
      const [head, tail] = [this.rest.slice(0, end), this.rest.slice(end)]
      // The first word after the cut becomes shorter when its mark closes, and may then fit the row above.
      if (hasOpenMark(head) || (/^\S*[`*_~[]/.test(tail) && hasOpenMark(tail))) continue
      const parts = [head, tail].map((text) => renderMarkdown(text, columns, theme, true))
      if (parts.flat().join('\n') !== rows.join('\n')) continue
      this.dropText(end, '')
      return parts[0]!
    }
    return []
  }

  /** Takes lines of a code block, up to an empty line if there is one. */
  private takeCodeRows(columns: number, theme: Theme): string[] {
    const { rest, fenceLine, begun } = this
    const first = begun ? 0 : rest.indexOf('\n', rest.indexOf(fenceLine!)) + 1
    const end = rest.lastIndexOf('\n') + 1
    const lines = rest.slice(first, end).split('\n').slice(0, -1)
    // Text before the block is not part of it.
    if (begun === '' || (!begun && !rest.startsWith(fenceLine!)) || lines.length < MIN_CODE_LINES) return []
    const empty = lines.lastIndexOf('', lines.length - 3)
    const count = empty > 2 ? empty + 1 : lines.length - 3
    const taken = lines.slice(0, count)
    const rows = renderMarkdown([fenceLine!, ...taken, fence.exec(fenceLine!)![1]!].join('\n'), columns, theme, true)
    this.dropText(first + taken.join('\n').length + 1, fenceLine)
    return rows.slice(begun ? 1 : 0, -1)
  }

  private toPart(text: string): MarkdownPart {
    const { begun } = this
    return {
      text: begun && text !== '' ? `${begun}\n${text}` : text,
      continues: begun !== undefined,
      drawn: begun && text !== '' ? 1 : 0,
    }
  }
  private dropText(end: number, begun: string | undefined): void {
    this.rest = this.rest.slice(end)
    this.scanned = Math.max(0, this.scanned - end)
    this.begun = begun
    if (end > 0) this.tried = 0
  }

  /**
   * Finds the end of the last complete paragraph: an empty line outside code, before a line without indent (no list
   * item).
   */
  private findParagraphEnd(): number {
    let end = 0
    for (;;) {
      const next = this.rest.indexOf('\n', this.scanned)
      if (next < 0) return end
      const line = this.rest.slice(this.scanned, next)
      const mark = fence.exec(line)?.[1]
      if (this.fenceLine === undefined && mark !== undefined) this.fenceLine = line
      else if (
        this.fenceLine !== undefined &&
        mark !== undefined &&
        line.trim().startsWith(fence.exec(this.fenceLine)![1]!) &&
        line.trim() === mark
      )
        this.fenceLine = undefined
      const following = this.rest[next + 1]
      if (line.trim() === '' && this.fenceLine === undefined) {
        // The next line may still belong to the paragraph.
        if (following === undefined) return end
        if (!/\s/.test(following)) end = next + 1
      }
      this.scanned = next + 1
    }
  }
}
/** UTF-16 units of an unfinished block that is drawn whole. */
const MAX_MARKDOWN_UNITS = 4000
/** Lines of code in the live part before the first ones move up. */
const MIN_CODE_LINES = 12

/** Returns whether the text opens a mark such as `**bold` without closing it. */
function hasOpenMark(text: string): boolean {
  const odd = (mark: RegExp): boolean => [...text.matchAll(mark)].length % 2 === 1
  const emphasis = /(?<![*\s])\*(?!\*)|(?<!\*)\*(?![*\s])|(?<=^|[\s(])_(?=\S)|(?<=\S)_(?=$|[\s.,;:!?)])/g
  return [/`+/g, /\*\*/g, /~~/g, emphasis].some(odd) || /\[[^\]]*$|\]$|\]\([^)]*$/.test(text)
}

/** Returns the last index for which `holds`, by binary search; -1: none. */
function findLastIndex<T>(all: readonly T[], holds: (one: T) => boolean): number {
  let [low, high] = [-1, all.length - 1]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (holds(all[middle]!)) low = middle
    else high = middle - 1
  }
  return low
}
