import type { Next } from '../../../core/shapes/index.js'
import { cut, createSlotError } from '../base/index.js'

/** The engine rejects the pattern; the message is that of the engine. */
export class PatternProblem extends Error {}

/** Converts a PatternProblem to a refusal for the caller; returns any other error unchanged. */
export function toPatternRefusal(patterns: string[], error: unknown, next?: Next): unknown {
  if (!(error instanceof PatternProblem)) return error
  const lines = error.message.split('\n').filter((line) => /[^~\s]/.test(line))
  const reason = lines.find((line) => line.startsWith('error: '))?.slice(7) ?? lines.at(-1) ?? 'the engine rejects it'
  const quoted = patterns.map((pattern) => `'${cut(pattern, 80).text}'`).join(', ')
  return createSlotError(
    'VT_SEARCH_PATTERN',
    `${cut(quoted, 100).text} is not a valid pattern: ${cut(reason, 180).text}.`,
    {
      details: { stderr: lines.slice(0, 20).map((line) => cut(line, 400).text) },
      ...(next && { next }),
    },
  )
}
