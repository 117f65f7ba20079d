import type { Pos } from '@ast-grep/napi'
import { languageByName, type Language } from './languages.js'

/** The code of one language in a page: its pieces, each on separate lines. */
export interface EmbeddedCode {
  text: string
  pieces: Piece[]
  /** End of the last piece, in UTF-16 units of the text. */
  end: number
}
interface Piece {
  /** Start in the text of the code, and in the page. */
  code: Pos
  page: Pos
}

/** Limit of UTF-16 units of code parsed in this process, where a parser cannot be stopped. */
const MAX_CODE_UNITS = 262_144

/** Returns whether embedded code can be searched in this process; only the program knows the root node of pieces. */
export const canSearchPages = ({ kind, selector }: { kind?: string; selector?: string }): boolean =>
  !/\b(program|stylesheet)\b/.test(`${kind ?? ''} ${selector ?? ''}`)

const attributes = /\s+([^\s"'<>/=]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|((?:[^\s"'<>=/]|\/(?!>))+)))?/g
// Tokens of a well-formed page. Groups: the name of an opening tag, its attributes, a slash.
const opening = `<([a-z][a-z\\d:-]*)((?:${attributes.source.replace(/\((?=\[|\(\?:\[)/g, '(?:')})*)\\s*(/?)>`
const token = new RegExp(
  [
    '[^<>&]+',
    '&(?:#x[\\da-f]{1,6}|#\\d{1,5}|[a-z]{1,30});?',
    '<!--[^]*?-->',
    '<!doctype\\s[^>]*>',
    '</[a-z][a-z\\d:-]*\\s*>',
    opening,
  ].join('|'),
  'iy',
)

/**
 * Extracts the scripts or styles of a language from a page, by the attribute `lang` or the tag, as ast-grep does.
 * Returns `none` if there are none, and `undefined` for a page that is malformed or too large.
 */
export function extractCode(page: string, language: Language): EmbeddedCode | 'none' | undefined {
  const lines = createLineCounter(page)
  const pieces: Piece[] = []
  let [text, line, end] = ['', 0, 0]
  for (let at = 0; at < page.length;) {
    token.lastIndex = at
    const match = token.exec(page)
    if (!match) return undefined
    at += match[0].length
    const [, tag, attributes = '', slash] = match
    const name = tag?.toLowerCase()
    if (name !== 'script' && name !== 'style') continue
    const close = slash === '' ? findRawEnd(page, at, name) : -1
    if (close < 0) return undefined
    if (close > at && languageByName(readLang(attributes) ?? (name === 'script' ? 'js' : 'css'))?.id === language.id) {
      const place = lines(at)
      pieces.push({ code: { line, column: 0, index: text.length }, page: place })
      text += `${page.slice(at, close)}\n`
      line += lines(close).line - place.line + 1
      end = text.length - 1
    }
    at = close
  }
  if (text.length > MAX_CODE_UNITS) return undefined
  return pieces.length > 0 ? { text, pieces, end } : 'none'
}

const RAW_ENDS = { script: /<\/script/gi, style: /<\/style/gi }
function findRawEnd(page: string, from: number, name: keyof typeof RAW_ENDS): number {
  RAW_ENDS[name].lastIndex = from
  return RAW_ENDS[name].exec(page)?.index ?? -1
}

const readLang = (text: string): string | undefined =>
  [...text.matchAll(attributes)]
    .map(([, name, ...values]) => (name === 'lang' ? values.find(Boolean) : undefined))
    .find((value) => value !== undefined)

/** Creates a function that returns line and column of increasing indices. */
function createLineCounter(text: string): (index: number) => Pos {
  let [line, begin] = [0, 0]
  return (index) => {
    for (let next = text.indexOf('\n', begin); next >= 0 && next < index; next = text.indexOf('\n', begin))
      [line, begin] = [line + 1, next + 1]
    return { line, column: index - begin, index }
  }
}

/** Converts a position in the code to one in the page. */
export function toPagePosition({ pieces }: EmbeddedCode, { line, column, index }: Pos): Pos {
  let [low, high] = [0, pieces.length - 1]
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if (pieces[middle]!.code.index <= index) low = middle
    else high = middle - 1
  }
  const { code, page } = pieces[low]!
  return {
    line: page.line + line - code.line,
    column: line === code.line ? page.column + column : column,
    index: page.index + index - code.index,
  }
}
