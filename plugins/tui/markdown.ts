import { highlightLines } from './highlight.js'
import { Markdown, setCapabilities, type MarkdownTheme } from './parts.js'
import { breakLongWords, type Theme } from './theme.js'
import { visible } from '../../core/text/index.js'

// A link says where it leads; nothing is drawn that is no text.
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

/** Markdown of others as rows of at most so many columns. */
export function renderMarkdown(text: string, columns: number, theme: Theme): string[] {
  // What is invisible is made visible before anybody counts columns.
  const rows = new Markdown(
    breakLongWords(visible(text.replaceAll('\r\n', '\n')), columns - 2),
    0,
    0,
    toMarkdownTheme(theme),
  )
    .render(columns)
    .map((row) => row.replace(/ +((?:\u001b\[[\d;]*m)*)$/, '$1'))
  while (rows.at(-1) === '') rows.pop()
  return rows
}

const fence = /^ {0,3}(`{3,}|~{3,})/

/** A part of a text of Markdown. */
export interface MarkdownPart {
  text: string
  /** It goes on with a paragraph whose first rows are taken off; so many of its rows were drawn with them. */
  continues: boolean
  drawn: number
}

/**
 * A text of Markdown while it grows. Its complete paragraphs can be taken off, and of a long one the rows that are full; what is left is
 * short, however long the text is, and is cheap to draw again and again.
 */
export class StreamingMarkdown {
  private rest = ''
  /** Behind what of the rest no paragraph ends yet. */
  private scanned = 0
  private fenceLine: string | undefined
  /** The rest goes on with a paragraph, or with a block of code, which begins so. */
  private begun: string | undefined
  /** How many rows there were when nothing could be cut. */
  private tried = 0

  add(text: string): void {
    this.rest += text
  }

  /** The paragraphs that are complete; `whole`: all there is. */
  takeParagraphs(whole = false): MarkdownPart {
    const end = whole ? this.rest.length : this.findParagraphEnd()
    const taken = this.toPart(this.rest.slice(0, end))
    this.dropText(end, end > 0 ? undefined : this.begun)
    if (whole) Object.assign(this, { scanned: 0, inside: undefined, begun: undefined })
    return taken
  }

  /** What is not complete, as it may be drawn now: of a long block of code its end. */
  get unfinished(): MarkdownPart {
    const { rest, fenceLine, begun } = this
    if (fenceLine === undefined || rest.length < MAX_MARKDOWN_UNITS) return this.toPart(rest)
    const tail = rest.slice(rest.indexOf('\n', rest.length - MAX_MARKDOWN_UNITS) + 1)
    return { text: `${fenceLine}\n${tail}`, continues: begun !== undefined, drawn: begun === undefined ? 0 : 1 }
  }

  /** Rows of what is not complete that nothing changes any more; they are taken off. */
  takeRows(columns: number, theme: Theme): { rows: string[]; goes_on: boolean } {
    const goes_on = this.begun !== undefined
    if (this.rest.length > MAX_MARKDOWN_UNITS) return { rows: [], goes_on }
    return {
      rows: this.fenceLine === undefined ? this.takeParagraphRows(columns, theme) : this.takeCodeRows(columns, theme),
      goes_on,
    }
  }

  /** All but the last row of a paragraph, where what is left is drawn as before. */
  private takeParagraphRows(columns: number, theme: Theme): string[] {
    // What is a table is not known before its second line.
    const rows = this.rest.includes('|') ? [] : renderMarkdown(this.rest, columns, theme)
    if (rows.length < 2 || rows.length === this.tried) return []
    this.tried = rows.length
    const spaces = [...this.rest.matchAll(/\s+/g)].map(({ index, 0: space }) => index + space.length)
    for (let most = rows.length - 1; most > Math.max(0, rows.length - 4); most--) {
      const end: number | undefined =
        spaces[findLastIndex(spaces, (at) => renderMarkdown(this.rest.slice(0, at), columns, theme).length <= most)]
      if (end === undefined || end >= this.rest.length || hasOpenMark(this.rest.slice(0, end))) continue
      const parts = [this.rest.slice(0, end), this.rest.slice(end)].map((text) => renderMarkdown(text, columns, theme))
      if (parts.flat().join('\n') !== rows.join('\n')) continue
      this.dropText(end, '')
      return parts[0]!
    }
    return []
  }

  /** Lines of a block of code, up to an empty one if there is one. */
  private takeCodeRows(columns: number, theme: Theme): string[] {
    const { rest, fenceLine, begun } = this
    const first = begun ? 0 : rest.indexOf('\n', rest.indexOf(fenceLine!)) + 1
    const end = rest.lastIndexOf('\n') + 1
    const lines = rest.slice(first, end).split('\n').slice(0, -1)
    // What stands before the block is no part of it; what was begun otherwise neither.
    if (begun === '' || (!begun && !rest.startsWith(fenceLine!)) || lines.length < MIN_CODE_LINES) return []
    const empty = lines.lastIndexOf('', lines.length - 3)
    const count = empty > 2 ? empty + 1 : lines.length - 3
    const taken = lines.slice(0, count)
    const rows = renderMarkdown([fenceLine!, ...taken, fence.exec(fenceLine!)![1]!].join('\n'), columns, theme)
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

  /** Where the last complete paragraph ends: at an empty line outside of code, before something that is not indented, and so no part of a list. */
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
        // Whether something follows that belongs to it is not known yet.
        if (following === undefined) return end
        if (!/\s/.test(following)) end = next + 1
      }
      this.scanned = next + 1
    }
  }
}
/** UTF-16 units of an unfinished block that is drawn as Markdown; of a longer one only the end is. */
const MAX_MARKDOWN_UNITS = 4000
/** So many lines of code stand below before those above move up. */
const MIN_CODE_LINES = 12

/** Whether something such as `**bold` begins here that may end behind it. */
function hasOpenMark(text: string): boolean {
  const odd = (mark: RegExp): boolean => [...text.matchAll(mark)].length % 2 === 1
  const emphasis = /(?<![*\s])\*(?!\*)|(?<!\*)\*(?![*\s])|(?<=^|[\s(])_(?=\S)|(?<=\S)_(?=$|[\s.,;:!?)])/g
  return [/`+/g, /\*\*/g, /~~/g, emphasis].some(odd) || /\[[^\]]*$|\]\([^)]*$/.test(text)
}

/** The last one for which that holds, which holds for all before it; -1: for none. */
function findLastIndex<T>(all: readonly T[], holds: (one: T) => boolean): number {
  let [low, high] = [-1, all.length - 1]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (holds(all[middle]!)) low = middle
    else high = middle - 1
  }
  return low
}
