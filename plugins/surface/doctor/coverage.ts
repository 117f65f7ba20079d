import type { readCoverage } from '../../lib/checkpoints/index.js'
import { toOneLine } from '../../lib/terminal/index.js'

/** Formats the size of what is kept before commands, and names what is not covered. */
export function formatCoverage({ bytes, uncovered }: ReturnType<typeof readCoverage>): string[] {
  if (bytes === 0) return []
  const named = uncovered.slice(0, 5).map(({ path, reason }) => `${toOneLine(path)} (${reason})`)
  const more = uncovered.length > named.length ? ` and ${uncovered.length - named.length} more` : ''
  const rest = named.length > 0 ? `; not covered: ${named.join(', ')}${more}` : ''
  return [`kept       ${Math.ceil(bytes / 1024 / 1024)} MB before commands, for \`vtcode revert\`${rest}`]
}
