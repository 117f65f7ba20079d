/** A name where one line is one entry: what would end the line, move a cursor or turn the reading becomes a visible escape. */
export const inOneLine = (name: string): string => name.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, (char) => `\\u{${char.codePointAt(0)!.toString(16)}}`)
