import type { Pos } from '@ast-grep/napi'
import { languageByName, type Language } from '../../lib/syntax/index.js'
import type { StructuralInput } from './types.js'

/** The code of one language in a page: its pieces, each on lines of its own. */
export interface EmbeddedCode {
  text: string
  pieces: Piece[]
  /** Where the last piece ends, in UTF-16 units of the text. */
  end: number
}
interface Piece {
  /** Where it begins in the text of the code, and in the page. */
  code: Pos
  page: Pos
}

/** UTF-16 units of code that are parsed at once in this process, where nothing could stop a parser. */
const mostCode = 262_144

/** Whether embedded code can be searched without the program, which alone knows the root of pieces. */
export const asksPages = ({ kind, selector }: StructuralInput): boolean =>
  !/\b(program|stylesheet)\b/.test(`${kind ?? ''} ${selector ?? ''}`)

const attributes = /\s+([^\s"'<>/=]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|((?:[^\s"'<>=/]|\/(?!>))+)))?/g
// What a sound page is made of; the groups: the name of an opening tag, its attributes, a slash.
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
 * The scripts or styles of a language in a page, as ast-grep tells them: by the tag, else by its attribute `lang`. `none` where there are none;
 * `undefined` for a page that is not sound or holds too much, of which only the program knows what it embeds.
 */
export function codeIn(page: string, language: Language): EmbeddedCode | 'none' | undefined {
  const lines = lineCounter(page)
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
    const close = slash === '' ? endOfRaw(page, at, name) : -1
    if (close < 0) return undefined
    if (close > at && languageByName(namedBy(attributes) ?? (name === 'script' ? 'js' : 'css'))?.id === language.id) {
      const place = lines(at)
      pieces.push({ code: { line, column: 0, index: text.length }, page: place })
      text += `${page.slice(at, close)}\n`
      line += lines(close).line - place.line + 1
      end = text.length - 1
    }
    at = close
  }
  if (text.length > mostCode) return undefined
  return pieces.length > 0 ? { text, pieces, end } : 'none'
}

const rawEnds = { script: /<\/script/gi, style: /<\/style/gi }
function endOfRaw(page: string, from: number, name: keyof typeof rawEnds): number {
  rawEnds[name].lastIndex = from
  return rawEnds[name].exec(page)?.index ?? -1
}

const namedBy = (text: string): string | undefined =>
  [...text.matchAll(attributes)]
    .map(([, name, ...values]) => (name === 'lang' ? values.find(Boolean) : undefined))
    .find((value) => value !== undefined)

/** Tells the line and column of places in a text, which are asked for in their order. */
function lineCounter(text: string): (index: number) => Pos {
  let [line, begin] = [0, 0]
  return (index) => {
    for (let next = text.indexOf('\n', begin); next >= 0 && next < index; next = text.indexOf('\n', begin))
      [line, begin] = [line + 1, next + 1]
    return { line, column: index - begin, index }
  }
}

/** The place in the page of one in the code. */
export function placeIn({ pieces }: EmbeddedCode, { line, column, index }: Pos): Pos {
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
