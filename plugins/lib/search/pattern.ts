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

/** Returns whether a match can span lines: a pattern holds a newline or an escape of one. */
export const canSpanLines = ({ patterns, literal = false }: Pattern): boolean =>
  patterns.some((pattern) => pattern.includes('\n') || (!literal && /(?<!\\)(\\\\)*\\n/.test(pattern)))
