import { VtError, type Notice } from '../../../core/shapes/index.js'
import type { Context } from '../../../core/contract/index.js'
import type { FileVersion } from '../../../core/workspace/index.js'
import { contentHash } from '../base/index.js'

/** A file to change, with its current content. */
export interface FileTarget {
  path: string
  resolved: string
  bytes: Buffer
  version: FileVersion
}

/** Size limit of a file to change in bytes. */
export const MAX_CHANGED_BYTES = 64 * 1024 * 1024

/**
 * Loads the file at `path`; `undefined` if missing. Throws VT_PATH_IS_DIRECTORY, VT_PATH_SPECIAL, VT_INPUT_TOO_LARGE
 * and other path errors.
 */
export async function loadTarget(path: string, { workspace }: Context): Promise<FileTarget | undefined> {
  let file
  try {
    file = await workspace.openFile(path)
  } catch (error) {
    if (error instanceof VtError && error.code === 'VT_PATH_NOT_FOUND') return undefined
    throw error
  }
  await using opened = file
  const { stat } = opened
  if (stat.bytes > MAX_CHANGED_BYTES) throw createTooLargeError(opened.path, stat.bytes)
  const bytes = await opened.read(0, stat.bytes)
  return { path: opened.path, resolved: opened.resolved, bytes, version: { stat, sha256: contentHash(bytes), bytes } }
}

/** Returns notices about attributes of the old file that the new one could not keep. */
export function lossNotices(path: string, lost: readonly string[]): Notice[] {
  const texts: Record<string, Notice> = {
    hardlinks: {
      code: 'VT_FILE_HARDLINK',
      message: `'${path}' had other hard links; they keep the old content.`,
    },
    attributes: {
      code: 'VT_FILE_ATTRIBUTES',
      message: `Some extended attributes or the access list of '${path}' could not be kept.`,
    },
    owner: {
      code: 'VT_FILE_OWNER',
      message: `'${path}' now belongs to this user; its earlier owner could not be kept.`,
    },
  }
  return lost.flatMap((loss) => texts[loss] ?? [])
}

/** Limits of a diff in the answer about a single file. */
export const DIFF_LIMITS = { lines: 200, bytes: 16 * 1024 }

export const createTooLargeError = (path: string, size: number): VtError =>
  new VtError({
    code: 'VT_INPUT_TOO_LARGE',
    message: `'${path}' has ${size} bytes; files up to ${MAX_CHANGED_BYTES} are changed in place.`,
    hint: 'Read a part of it, and change the file with a program in {slot:unified_exec/run}.',
    retryable: false,
    details: { size_bytes: size, limit_bytes: MAX_CHANGED_BYTES },
  })
