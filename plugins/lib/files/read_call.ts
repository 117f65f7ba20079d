import type { Next } from '../../../core/shapes/index.js'
import { nextCall } from '../base/index.js'

/** Limit of lines in a suggested read. */
const MAX_LINES = 400

/** Returns the call that reads a file, or a part of it. */
export const createReadCall = (path: string, fields: Record<string, unknown> = {}): Next =>
  nextCall('read', { path, ...fields })

/** Returns the call that reads the lines `first` to `last` (1-based) of a file, with `margin` lines around them. */
export function createLinesCall(path: string, first: number, last: number, margin = 3): Next {
  const offset_lines = Math.max(1, first - margin)
  return createReadCall(path, {
    offset_lines,
    page_size_lines: Math.min(MAX_LINES, last + margin - offset_lines + 1),
  })
}
