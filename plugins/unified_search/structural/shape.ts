import { cut } from '../../lib/base/index.js'
import type { Native } from './types.js'

const MAX_TEXT = 4000

export type Match = ReturnType<typeof toMatch>

/** Converts a record of ast-grep to a match of the slot. */
export function toMatch(native: Native) {
  const text = cut(native.text, MAX_TEXT)
  const around = cut(native.lines, MAX_TEXT)
  return {
    file: native.file,
    line_number: native.range.start.line + 1,
    text: text.text,
    lines: around.text,
    language: native.language,
    range: native.range,
    ...((text.cut || around.cut) && { text_truncated: true as const }),
    ...(native.replacement !== undefined && {
      replacement: native.replacement,
      replacementOffsets: native.replacementOffsets,
    }),
    metaVariables: removeSecondary(native.metaVariables),
    charCount: native.charCount ?? { leading: 0, trailing: 0 },
  }
}

/** Removes the `secondary` nodes, which only reports of the program use. */
function removeSecondary(metaVariables: Native['metaVariables']): NonNullable<Native['metaVariables']> {
  if (!metaVariables) return { single: {}, multi: {}, transformed: {} }
  const { secondary: _, ...multi } = metaVariables.multi
  return { ...metaVariables, multi }
}
