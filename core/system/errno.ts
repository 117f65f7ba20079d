import { problem, VtError } from '../shapes/index.js'
import { escapePath } from './path_text.js'

/** Returns the code of a failed system call; `undefined` for any other error. */
export const errno = (error: unknown): string | undefined => (error as NodeJS.ErrnoException | undefined)?.code

/** Converts the failure of a system call on `path` (workspace-relative) to an error for the caller. A VtError stays. */
export function toPathError(error: unknown, path: string): VtError {
  if (error instanceof VtError) return error
  const code = errno(error) ?? 'unknown error'
  const named = { path: escapePath(path), reason: code }
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
      return problem('VT_FILE_IO', named, { details: { errno: code }, retryable: TRANSIENT_CODES.has(code) })
  }
}

// Conditions that may end without any action of the caller.
const TRANSIENT_CODES = new Set(['EBUSY', 'EAGAIN', 'EMFILE', 'ENFILE', 'EINTR'])
