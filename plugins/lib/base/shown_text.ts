import { visible } from '../../../core/text/index.js'

/** An escape of a shown text, `\u{200f}`: in the file it is the character, or these letters. */
export interface ShownEscape {
  escape: string
  isCharacter: boolean
}

/** A place of a shown text in the bytes of a file. */
export interface ShownPlace {
  start: number
  end: number
  /** The escapes of the text, in order. */
  escapes: ShownEscape[]
}

/** A piece of a shown text: letters, a line end, or an escape with the character that it stands for. */
type Piece = { kind: 'letters' | 'line end'; text: string } | { kind: 'escape'; text: string; character: string }

const ESCAPE = /\\u\{[0-9a-f]{1,6}\}/g
const ESCAPE_OR_LINE_END = /\\u\{[0-9a-f]{1,6}\}|\r?\n/g

/** Converts a text to its bytes as Latin-1 characters, so that any content survives unchanged. */
export const toByteCharacters = (text: string): string => Buffer.from(text).toString('latin1')

/** Lists the kinds of characters of a text that are shown as escapes, without the line end of two characters. */
export function listInvisible(text: string): { escape: string; name: string }[] {
  const whole = text.replaceAll('\r\n', '\n')
  const shown = visible(whole)
  if (shown === whole) return []
  const escapes = new Set(Array.from(shown.matchAll(ESCAPE), ([escape]) => escape))
  return [...escapes].flatMap((escape) => {
    const character = findCharacter(escape)
    if (character === undefined || !whole.includes(character)) return []
    const digits = character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')
    return [{ escape, name: `U+${digits}` }]
  })
}

/**
 * Finds a text as a reader sees it: `\n` is any line end, and an escape such as `\u{200f}` is the character or the
 * letters. All texts are bytes as Latin-1 characters, as `toByteCharacters` returns them.
 */
export function findShown(file: string, shown: string): ShownPlace[] {
  const pieces = splitShown(shown)
  const found: ShownPlace[] = []
  if (pieces.every(({ kind }) => kind === 'letters')) return found
  for (const start of listStarts(file, pieces[0]!)) {
    const place = matchPieces(file, start, pieces)
    if (place) found.push(place)
  }
  return found
}

/** Compares one line with its shown form, both as bytes. Returns the escapes, or `undefined` if they differ. */
export function matchShownLine(line: string, shown: string): ShownEscape[] | undefined {
  if (line === shown) return []
  const place = matchPieces(line, 0, splitShown(shown))
  return place?.end === line.length ? place.escapes : undefined
}

/** Returns whether a text has an escape of an invisible character. */
export const hasEscape = (shown: string): boolean => splitShown(shown).some(({ kind }) => kind === 'escape')

/**
 * Replaces the escapes of a new text by characters where those of the old text are characters. An escape that the old
 * text does not have stays. The text is bytes as Latin-1 characters.
 */
export function restoreCharacters(text: string, escapes: readonly ShownEscape[]): string {
  if (!escapes.some(({ isCharacter }) => isCharacter)) return text
  const known = new Map<string, { forms: boolean[]; used: number }>()
  for (const { escape, isCharacter } of escapes) {
    const one = known.get(escape)
    if (one) one.forms.push(isCharacter)
    else known.set(escape, { forms: [isCharacter], used: 0 })
  }
  const restored = splitShown(text).map((piece) => {
    const one = piece.kind === 'escape' ? known.get(piece.text) : undefined
    if (piece.kind !== 'escape' || !one) return piece.text
    // The last form counts for further ones.
    const isCharacter = one.forms[Math.min(one.used++, one.forms.length - 1)]
    return isCharacter ? piece.character : piece.text
  })
  return restored.join('')
}

function splitShown(shown: string): Piece[] {
  const pieces: Piece[] = []
  let from = 0
  const addLetters = (end: number) => {
    if (end > from) pieces.push({ kind: 'letters', text: shown.slice(from, end) })
  }
  for (const { 0: text, index } of shown.matchAll(ESCAPE_OR_LINE_END)) {
    const character = text.startsWith('\\') ? findCharacter(text) : undefined
    if (character === undefined && text.startsWith('\\')) continue
    addLetters(index)
    pieces.push(
      character === undefined
        ? { kind: 'line end', text }
        : { kind: 'escape', text, character: toByteCharacters(character) },
    )
    from = index + text.length
  }
  addLetters(shown.length)
  return pieces
}

/** Returns the character of an escape; `undefined` for one that is never shown as an escape. */
function findCharacter(escape: string): string | undefined {
  const point = Number.parseInt(escape.slice(3, -1), 16)
  const character = point > 0x10ffff ? '' : String.fromCodePoint(point)
  return visible(character) === escape ? character : undefined
}

/** Yields the offsets at which a piece may begin, in order. */
function* listStarts(file: string, piece: Piece): Generator<number> {
  if (piece.kind === 'line end') {
    for (let at = file.indexOf('\n'); at !== -1; at = file.indexOf('\n', at + 1))
      yield file[at - 1] === '\r' ? at - 1 : at
    return
  }
  const forms = piece.kind === 'escape' ? [piece.character, piece.text] : [piece.text]
  const next = forms.map((form) => file.indexOf(form))
  for (;;) {
    const at = Math.min(...next.filter((place) => place !== -1))
    if (at === Infinity) return
    yield at
    forms.forEach((form, index) => {
      if (next[index] === at) next[index] = file.indexOf(form, at + 1)
    })
  }
}

/** Compares the bytes at `start` with all pieces. */
function matchPieces(file: string, start: number, pieces: readonly Piece[]): ShownPlace | undefined {
  const escapes: ShownEscape[] = []
  let at = start
  for (const piece of pieces) {
    if (piece.kind === 'line end') {
      if (file[at] === '\r') at++
      if (file[at] !== '\n') return undefined
      at++
      continue
    }
    const isCharacter = piece.kind === 'escape' && file.startsWith(piece.character, at)
    const text = isCharacter ? piece.character : piece.text
    if (!file.startsWith(text, at)) return undefined
    if (piece.kind === 'escape') escapes.push({ escape: piece.text, isCharacter })
    at += text.length
  }
  return { start, end: at, escapes }
}
