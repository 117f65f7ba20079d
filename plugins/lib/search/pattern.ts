export interface Pattern {
  patterns: string[]
  literal?: boolean
  /** Default: sensitive if the pattern has an upper-case letter. */
  case_sensitive?: boolean
}

/** How long a search may take. */
export const SEARCH_TIMEOUT_SECONDS = 30

/** How ripgrep is told what to look for. */
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

/** Whether a match may span lines: a pattern holds a newline or means one. */
export const canSpanLines = ({ patterns, literal = false }: Pattern): boolean =>
  patterns.some((pattern) => pattern.includes('\n') || (!literal && /(?<!\\)(\\\\)*\\n/.test(pattern)))
