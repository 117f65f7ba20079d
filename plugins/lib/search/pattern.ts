export interface Pattern {
  patterns: string[]
  literal?: boolean
  /** Default: sensitive if the pattern has an upper-case letter. */
  case_sensitive?: boolean
}

export const SEARCH_TIMEOUT_SECONDS = 30

/** Returns the flags of ripgrep for a pattern. */
export function toRipgrepFlags({ patterns, literal, case_sensitive }: Pattern): string[] {
  const flags = [
    '--crlf',
    '--engine',
    'auto',
    case_sensitive === undefined ? '--smart-case' : case_sensitive ? '--case-sensitive' : '--ignore-case',
  ]
  if (literal) flags.push('--fixed-strings')
  if (canSpanLines({ patterns, ...(literal && { literal }) })) flags.push('--multiline')
  return [...flags, ...patterns.flatMap((pattern) => ['-e', pattern])]
}

/** Escapes of a newline, the flag with which a dot matches one, and classes of all characters. */
const SPANNING = new RegExp(
  [
    String.raw`(?<!\\)(?:\\\\)*\\(?:n|[xu]\{0*[aA]\}|x0[aA]|u000[aA])`,
    String.raw`\(\?[a-zA-Z]*s[a-zA-Z]*(?:-[a-zA-Z]+)?[:)]`,
    String.raw`\[(?:\\s\\S|\\S\\s|\\d\\D|\\D\\d|\\w\\W|\\W\\w)`,
  ].join('|'),
)

/**
 * Returns whether a match can span lines: a pattern holds a newline, an escape of one, the flag `s` or a class like
 * `[\s\S]`.
 */
export const canSpanLines = ({ patterns, literal = false }: Pattern): boolean =>
  patterns.some((pattern) => pattern.includes('\n') || (!literal && SPANNING.test(pattern)))
