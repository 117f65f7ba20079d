import { VtError } from '../../../core/shapes/index.js'

export const envelope =
  '*** Begin Patch\n*** Update File: path/to/file\n@@ a line before the change\n context\n-old line\n+new line\n*** End Patch'

/** A patch that cannot be read: where, what stands there, and what would be right. */
export function syntax(line: number, found: string, expected: string): VtError {
  const quoted = JSON.stringify(found.length > 80 ? `${found.slice(0, 80)}…` : found)
  return new VtError({
    code: 'VT_PATCH_SYNTAX',
    message: `Line ${line} of the patch is ${quoted}; expected ${expected}.`,
    hint: `Write the patch like this:\n${envelope}`,
    retryable: false,
    details: { line, found, expected },
  })
}
