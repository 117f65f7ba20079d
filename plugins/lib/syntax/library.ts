export type Library = typeof import('@ast-grep/napi')
let library: Promise<Library | undefined> | undefined

/** Loads ast-grep as a library at first use; `undefined` where its package does not support this platform. */
export function loadAstGrepLibrary(): Promise<Library | undefined> {
  return (library ??= import('@ast-grep/napi').catch(() => undefined))
}

/** Depth of brackets up to which a query takes constant time per node. */
const MAX_OPEN_BRACKETS = 256

/** UTF-16 units of a line up to which a position is computed in constant time. */
export const MAX_LINE_UNITS = 16_384

/** Returns whether nesting and lines of at most `most` units keep the time of parsing in this process linear. */
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
