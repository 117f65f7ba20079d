import { highlightedLines } from './highlight.js'
import { Markdown, setCapabilities, type MarkdownTheme } from './parts.js'
import type { Theme } from './theme.js'
import { visible } from '../../core/base/index.js'

// A link says where it leads; nothing is drawn that is no text.
setCapabilities({ images: null, trueColor: false, hyperlinks: false })

const styles = new Map<Theme, MarkdownTheme>()

function styleOf(theme: Theme): MarkdownTheme {
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
    highlightCode: (code, language) => highlightedLines(code, language, theme),
  }
  styles.set(theme, made)
  return made
}

/** Markdown of others as rows of at most so many columns. */
export function markdownRows(text: string, columns: number, theme: Theme): string[] {
  // What is invisible is made visible before anybody counts columns.
  const rows = new Markdown(visible(text.replaceAll('\r\n', '\n')), 0, 0, styleOf(theme)).render(columns).map((row) => row.replace(/ +((?:\u001b\[[\d;]*m)*)$/, '$1'))
  while (rows.at(-1) === '') rows.pop()
  return rows
}

const fence = /^ {0,3}(`{3,}|~{3,})/

/**
 * A text of Markdown while it grows. Its complete paragraphs can be taken off; what is left is short, however long the text is, and is
 * cheap to draw again and again.
 */
export class GrowingMarkdown {
  private rest = ''
  /** Behind what of the rest no paragraph ends yet. */
  private looked = 0
  private inside: string | undefined

  add(text: string): void {
    this.rest += text
  }

  /** The paragraphs that are complete; `whole`: all there is. */
  take(whole = false): string {
    const end = whole ? this.rest.length : this.paragraphs()
    const taken = this.rest.slice(0, end)
    this.rest = this.rest.slice(end)
    this.looked = whole ? 0 : this.looked - end
    if (whole) this.inside = undefined
    return taken
  }

  /** What is not complete, as it may be drawn now: of a long block of code its end. */
  get growing(): string {
    const { rest, inside } = this
    if (inside === undefined || rest.length < longest) return rest
    const tail = rest.slice(rest.indexOf('\n', rest.length - longest) + 1)
    return `${inside}\n${tail}`
  }

  /** Where the last complete paragraph ends: at an empty line outside of code, before something that is not indented, and so no part of a list. */
  private paragraphs(): number {
    let end = 0
    for (;;) {
      const next = this.rest.indexOf('\n', this.looked)
      if (next < 0) return end
      const line = this.rest.slice(this.looked, next)
      const mark = fence.exec(line)?.[1]
      if (this.inside === undefined && mark !== undefined) this.inside = line
      else if (this.inside !== undefined && mark !== undefined && line.trim().startsWith(fence.exec(this.inside)![1]!) && line.trim() === mark) this.inside = undefined
      const behind = this.rest[next + 1]
      if (line.trim() === '' && this.inside === undefined) {
        // Whether something follows that belongs to it is not known yet.
        if (behind === undefined) return end
        if (!/\s/.test(behind)) end = next + 1
      }
      this.looked = next + 1
    }
  }
}
const longest = 4000
