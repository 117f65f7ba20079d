export type Library = typeof import('@ast-grep/napi')
let library: Promise<Library | undefined> | undefined

/** ast-grep as a library, loaded at its first use; `undefined` where its package brings nothing for this platform. */
export function astGrepLibrary(): Promise<Library | undefined> {
  return (library ??= import('@ast-grep/napi').catch(() => undefined))
}

/** Brackets that are open at a time, up to which what is asked of each node takes the same time. */
const mostOpen = 256

/** Whether no nesting, and no line of more bytes than these, makes the time that a tree takes in this process go by the square of a text. */
export function isEven(bytes: Buffer, mostInLine = Infinity): boolean {
  let [open, start] = [0, 0]
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at]!
    if (byte === 0x0a) start = at + 1
    // Round, square and curly ones.
    else if (byte === 0x28 || byte === 0x5b || byte === 0x7b) open += 1
    else if (byte === 0x29 || byte === 0x5d || byte === 0x7d) open -= 1
    if (open > mostOpen || at - start > mostInLine) return false
  }
  return true
}
