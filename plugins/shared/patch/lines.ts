/** A file as lines. Texts are bytes as characters (Latin-1), so that whatever the file holds comes back as it was. */
export interface Lines {
  /** Without line ends. */
  texts: string[]
  /** `\n`, `\r\n`, or nothing behind the last. */
  ends: string[]
  /** Where each line begins in the bytes, and where the file ends. */
  offsets: number[]
}

export function linesOf(bytes: Buffer): Lines {
  const lines: Lines = { texts: [], ends: [], offsets: [0] }
  for (let from = 0; from < bytes.length; ) {
    const at = bytes.indexOf(10, from)
    const next = at === -1 ? bytes.length : at + 1
    const stop = at === -1 ? next : at > from && bytes[at - 1] === 13 ? at - 1 : at
    lines.texts.push(bytes.toString('latin1', from, stop))
    lines.ends.push(bytes.toString('latin1', stop, next))
    lines.offsets.push(next)
    from = next
  }
  return lines
}

/** Text of a patch in the same form. */
export const asBytes = (text: string): string => Buffer.from(text.replace(/\r$/, '')).toString('latin1')

/** The line end that most lines have. */
export function usualEnd({ ends }: Lines): string {
  let crlf = 0
  for (const end of ends) if (end === '\r\n') crlf++
  return crlf * 2 > ends.length ? '\r\n' : '\n'
}
