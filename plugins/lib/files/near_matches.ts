import { foldTypography } from '../base/index.js'

/** A place that almost holds the wanted text. Lines are 1-based, `end_line` is inclusive. */
export interface NearMatch {
  line_number: number
  end_line: number
  similarity: number
  differs_in: string
  text: string
}

/** Differences between texts, most harmless first. Each step also ignores the earlier differences. */
const steps: [name: string, forgive: (line: string) => string][] = [
  ['line_number_prefix', (line) => line.replace(/^\s*\d+\s*(?:[:|→]|\t) ?/, '')],
  ['trailing_whitespace', (line) => line.trimEnd()],
  ['indentation', (line) => line.trimStart()],
  ['whitespace', (line) => line.replace(/\s+/g, '')],
  ['unicode', (line) => foldTypography(line)],
  ['case', (line) => line.toLowerCase()],
]

const MAX_MATCHES = 3
const MAX_SHOWN_LINES = 10
/** A larger text is searched for harmless differences only. */
const MAX_SEARCHED_CHARS = 1024 * 1024

/** Returns at most three pieces of `text` that are most similar to `wanted`, best first. */
export function findNearMatches(text: string, wanted: string): NearMatch[] {
  const lines = text.split(/\r?\n/)
  const sought = wanted.replace(/\r?\n$/, '').split(/\r?\n/)
  const found: NearMatch[] = []
  const add = (at: number, similarity: number, differs_in: string) => {
    if (found.length < MAX_MATCHES && !found.some((near) => near.line_number === at + 1)) {
      const window = lines.slice(at, at + sought.length)
      found.push({
        line_number: at + 1,
        end_line: at + window.length,
        similarity,
        differs_in,
        text: window.slice(0, MAX_SHOWN_LINES).join('\n'),
      })
    }
  }
  let [folded, target] = [lines, sought]
  for (const [index, [name, forgive]] of steps.entries()) {
    // Line numbers come from a listing: only the wanted text may have them.
    if (index > 0) folded = folded.map(forgive)
    target = target.map(forgive)
    for (
      let at = folded.indexOf(target[0]!);
      at !== -1 && found.length < MAX_MATCHES;
      at = folded.indexOf(target[0]!, at + 1)
    ) {
      if (target.every((line, offset) => folded[at + offset] === line))
        add(at, Math.round((1 - (index + 1) / 100) * 100) / 100, name)
    }
  }
  if (found.length < MAX_MATCHES && text.length <= MAX_SEARCHED_CHARS)
    for (const [at, similarity] of findSimilar(folded, target)) add(at, similarity, 'text')
  return found
}

/**
 * Returns windows that share most of their lines with the wanted text. A single line is compared by pairs of
 * characters.
 */
function findSimilar(lines: string[], target: string[]): [at: number, similarity: number][] {
  const size = target.length
  const found: [number, number][] = []
  if (size > 1) {
    const known = new Set(target.filter((line) => line !== ''))
    let shared = 0
    for (let at = 0; at < lines.length; at++) {
      if (known.has(lines[at]!)) shared++
      if (at >= size && known.has(lines[at - size]!)) shared--
      if (at >= size - 1 && known.size > 0) found.push([at - size + 1, Math.min(1, shared / known.size)])
    }
  } else {
    const known = toPairs(target[0]!)
    if (known.size === 0) return []
    for (const [at, line] of lines.entries()) {
      const own = toPairs(line)
      let shared = 0
      for (const pair of own) if (known.has(pair)) shared++
      found.push([at, (2 * shared) / (known.size + own.size)])
    }
  }
  return found
    .filter(([, similarity]) => similarity >= 0.6)
    .sort((a, b) => b[1] - a[1] || a[0] - b[0])
    .slice(0, MAX_MATCHES)
    .map(([at, similarity]) => [at, Math.round(similarity * 100) / 100])
}

const toPairs = (line: string): Set<string> =>
  new Set(Array.from({ length: Math.max(0, line.length - 1) }, (_, at) => line.slice(at, at + 2)))
