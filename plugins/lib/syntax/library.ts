export type Library = typeof import('@ast-grep/napi')
let library: Promise<Library | undefined> | undefined

/** ast-grep as a library, loaded at its first use; `undefined` where its package brings nothing for this platform. */
export function loadAstGrepLibrary(): Promise<Library | undefined> {
  return (library ??= import('@ast-grep/napi').catch(() => undefined))
}

/** Brackets that are open at a time, up to which what is asked of each node takes the same time. */
const MAX_OPEN_BRACKETS = 256

/** Units of a line up to which a place in it is told in the same time. */
export const MAX_LINE_UNITS = 16_384

/** Whether no nesting, and no line of more units than these, makes the time that a tree takes in this process go by the square of a text. */
export function isLinearToParse(text: string, most = Infinity): boolean {
  let [open, start] = [0, 0]
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at)
    if (unit === 0x0a) start = at + 1
    // Round, square and curly ones.
    else if (unit === 0x28 || unit === 0x5b || unit === 0x7b) open += 1
    else if (unit === 0x29 || unit === 0x5d || unit === 0x7d) open -= 1
    if (open > MAX_OPEN_BRACKETS || at - start > most) return false
  }
  return true
}
