import { VtError } from '../../../core/shapes/index.js'

export const ENVELOPE =
  '*** Begin Patch\n*** Update File: path/to/file\n@@ a line before the change\n' +
  ' context\n-old line\n+new line\n*** End Patch'

/** Creates the error for an invalid patch: the line, its text, and the expected text. */
export function createSyntaxError(line: number, found: string, expected: string): VtError {
  const quoted = JSON.stringify(found.length > 80 ? `${found.slice(0, 80)}…` : found)
  return new VtError({
    code: 'VT_PATCH_SYNTAX',
    message: `Line ${line} of the patch is ${quoted}; expected ${expected}.`,
    hint: `Write the patch like this:\n${ENVELOPE}`,
    retryable: false,
    details: { line, found, expected },
  })
}
