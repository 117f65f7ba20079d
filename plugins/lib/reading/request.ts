import { problem, VtError, type Call } from '../../../core/shapes/index.js'

export interface ReadInput {
  path: string
  max_bytes?: number
  offset_lines?: number
  page_size_lines?: number
  end_line?: number
  offset_bytes?: number
  page_size_bytes?: number
  /** Pages of a PDF: `3`, `1-5`, `7-`. */
  pages?: string
}

/** Requested part of a file. */
export type WantedPart =
  | { by: 'bytes'; offset: number; size: number }
  | { by: 'start'; size: number }
  | { by: 'pages' }
  /** At most `max` bytes; without `size` up to the end. */
  | { by: 'lines'; first: number; size?: number; max: number }

/** Limit of text in one answer in bytes. */
const MAX_READ_BYTES = 1024 * 1024

/** Parses the requested part. Throws VT_INPUT_CONFLICT for line and byte fields together, VT_INPUT_INVALID. */
export function parseWantedPart({ input }: Pick<Call<ReadInput>, 'input'>): WantedPart {
  const { max_bytes: max = MAX_READ_BYTES, offset_bytes: offset = 0, page_size_bytes: bytes = 8192 } = input
  const isGiven = (name: keyof ReadInput): boolean => input[name] !== undefined
  const line = ['offset_lines', 'page_size_lines', 'end_line'].find((name) => isGiven(name as keyof ReadInput))
  const byte = ['offset_bytes', 'page_size_bytes'].find((name) => isGiven(name as keyof ReadInput))
  if (line && byte) throw conflict(line, byte)
  const ranged = line ?? byte
  if (isGiven('pages') && ranged) throw conflict('pages', ranged)
  if (isGiven('page_size_lines') && isGiven('end_line')) throw conflict('page_size_lines', 'end_line')
  if (isGiven('pages')) return { by: 'pages' }
  if (byte) return { by: 'bytes', offset, size: Math.min(bytes, max) }
  if (line) return parseWantedLines(input, max)
  return isGiven('max_bytes') ? { by: 'start', size: max } : WHOLE_FILE
}

function parseWantedLines(input: ReadInput, max: number): WantedPart {
  const { offset_lines: first, page_size_lines: page, end_line: end } = input
  const start = first ?? 1
  if (end !== undefined && end < start) {
    throw problem('VT_INPUT_INVALID', {
      problem: `'end_line' is ${end}; it must be at least 'offset_lines', which is ${start}.`,
    })
  }
  const size = end !== undefined ? end - start + 1 : (page ?? (first === undefined ? undefined : 400))
  return { by: 'lines', first: start, ...(size !== undefined && { size }), max }
}

export const WHOLE_FILE = { by: 'lines', first: 1, max: MAX_READ_BYTES } as const

const conflict = (one: string, other: string): VtError =>
  problem('VT_INPUT_CONFLICT', { fields: `'${one}' and '${other}'` })
