/** A table header or a pair of a TOML text, with the lines that it takes. */
export interface TomlStatement {
  kind: 'header' | 'list header' | 'pair'
  /** The path of a table from the root, or the key of a pair in its table. */
  path: string[]
  /** Offsets of its first line and after its last one, with the line end. */
  start: number
  end: number
  /** Offsets of the value of a pair. */
  value: [number, number]
}

const QUOTES = ['"""', "'''", '"', "'"]

/** Splits a valid TOML text (version 1.0) into its statements. Throws for a form that it does not know. */
export function readStatements(text: string): TomlStatement[] {
  const found: TomlStatement[] = []
  let at = 0
  while (at < text.length) {
    const start = at
    at = skipBlank(text, at)
    if (!isLineEnd(text, at)) {
      const isHeader = text[at] === '['
      const isList = text.startsWith('[[', at)
      const key = readKey(text, at + (isList ? 2 : isHeader ? 1 : 0))
      if (isHeader) at = key.end + (isList ? 2 : 1)
      else if (text[key.end] !== '=') throw new Error('a line is neither a table nor a pair')
      const from = isHeader ? at : skipBlank(text, key.end + 1)
      const to = isHeader ? at : findValueEnd(text, from)
      at = skipBlank(text, to)
      if (!isLineEnd(text, at)) throw new Error('text follows a value')
      const kind = isList ? 'list header' : isHeader ? 'header' : 'pair'
      found.push({ kind, path: key.path, start, end: findNextLine(text, at), value: [from, to] })
    }
    at = findNextLine(text, at)
  }
  return found
}

const skipBlank = (text: string, at: number): number => at + /^[ \t]*/.exec(text.slice(at, at + 1000))![0].length
const isLineEnd = (text: string, at: number): boolean => at >= text.length || /[\r\n#]/.test(text[at]!)
const findNextLine = (text: string, at: number): number => {
  const end = text.indexOf('\n', at)
  return end < 0 ? text.length : end + 1
}

/** Reads a dotted key; `end` is the offset of the sign after it. */
function readKey(text: string, from: number): { path: string[]; end: number } {
  const path: string[] = []
  for (let at = skipBlank(text, from); ; at = skipBlank(text, at + 1)) {
    const quoted = text[at] === '"' || text[at] === "'"
    const end = quoted ? findStringEnd(text, at, text[at]!) : at + /^[\w-]*/.exec(text.slice(at, at + 1000))![0].length
    if (end === at) throw new Error('a key is missing')
    const name = text.slice(at, end)
    path.push(text[at] === '"' ? (JSON.parse(name) as string) : quoted ? name.slice(1, -1) : name)
    at = skipBlank(text, end)
    if (text[at] !== '.') return { path, end: at }
  }
}

function findStringEnd(text: string, from: number, quote: string): number {
  for (let at = from + quote.length; at < text.length; at++) {
    if (text[at] === '\\' && quote.startsWith('"')) at++
    else if (text.startsWith(quote, at)) {
      let end = at + quote.length
      // Up to two quotes may stand before the closing three.
      while (quote.length === 3 && text[end] === quote[0]) end++
      return end
    }
  }
  throw new Error('a string has no end')
}

function findValueEnd(text: string, from: number): number {
  let depth = 0
  for (let at = from; at < text.length;) {
    const sign = text[at]!
    const quote = QUOTES.find((one) => text.startsWith(one, at))
    if (quote !== undefined) at = findStringEnd(text, at, quote)
    else if (sign === '#' && depth > 0) at = findNextLine(text, at)
    else if (depth === 0 && /[\r\n#]/.test(sign)) return trimEnd(text, at)
    else {
      depth += '[{'.includes(sign) ? 1 : ']}'.includes(sign) ? -1 : 0
      at++
    }
    if (depth === 0 && (quote !== undefined || ']}'.includes(sign))) return at
  }
  return trimEnd(text, text.length)
}

const trimEnd = (text: string, at: number): number => text.slice(0, at).trimEnd().length
