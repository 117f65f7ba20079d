import { problem, VtError } from '../shapes/index.js'
import { shownPath } from './path_text.js'

/** The code of a failed system call; `undefined` for any other error. */
export const errno = (error: unknown): string | undefined => (error as NodeJS.ErrnoException | undefined)?.code

/** Translates the failure of a system call on `path` (workspace-relative) into an error for the caller. Our own errors pass through. */
export function systemRefusal(error: unknown, path: string): VtError {
  if (error instanceof VtError) return error
  const code = errno(error) ?? 'unknown error'
  const named = { path: shownPath(path), reason: code }
  switch (code) {
    case 'ENOENT':
      return problem('VT_PATH_NOT_FOUND', named)
    case 'ENOTDIR':
      return problem('VT_PATH_NOT_DIRECTORY', named)
    case 'EISDIR':
      return problem('VT_PATH_IS_DIRECTORY', named)
    case 'EEXIST':
      return problem('VT_PATH_EXISTS', named)
    case 'ENOTEMPTY':
      return problem('VT_PATH_NOT_EMPTY', named)
    case 'EACCES':
    case 'EPERM':
      return problem('VT_PATH_PERMISSION', named)
    case 'ELOOP':
      return problem('VT_PATH_LOOP', named)
    case 'ENAMETOOLONG':
      return problem('VT_INPUT_INVALID', { problem: `The path '${named.path}' is too long.` })
    default:
      return problem('VT_FILE_IO', named, { details: { errno: code }, retryable: passing.has(code) })
  }
}

// Conditions that may pass without the caller's doing.
const passing = new Set(['EBUSY', 'EAGAIN', 'EMFILE', 'ENFILE', 'EINTR'])
