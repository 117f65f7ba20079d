/** Pattern length up to which its text is searched, in UTF-16 units. */
const MAX_PATTERN_UNITS = 2000

/**
 * Returns a regular expression for text like the pattern: the same words and signs with any space between them, and
 * any short text for a metavariable. `undefined` for a pattern without a word that identifies it.
 */
export function toTextTrace(pattern: string): string | undefined {
  if (pattern.length > MAX_PATTERN_UNITS) return undefined
  const parts = pattern.split(/\$+\w*/)
  if (!parts.some((part) => /[A-Za-z_]\w{2,}/.test(part))) return undefined
  const literals = parts.map((part) =>
    (part.match(/\w+|[^\w\s]/g) ?? []).map((token) => token.replace(/[\\.+*?()|[\]{}^$#&~-]/, '\\$&')),
  )
  // `\n` lets a match span lines.
  return literals.map((tokens) => tokens.join('[\\s\\n]*')).join('(?:.|\\n){0,300}?')
}

/** Returns whether a pattern consists of words only, as a question or a name with spaces does. */
export const isProse = (pattern: string): boolean =>
  /^\s*[\p{L}\d_'’-]+(?:[ \t,]+[\p{L}\d_'’-]+)+[.?!]?\s*$/u.test(pattern)
