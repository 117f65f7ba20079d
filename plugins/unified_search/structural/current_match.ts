import type { Context } from '../../../core/index.js'
import { readNextLines, readPreviousLines, openTextSource, type TextSource } from '../../lib/search/index.js'
import type { Native } from './types.js'

/** Bytes in which the start or end of a line is searched. */
const REACH_BYTES = 262_144

/**
 * Reads a match from its file through the workspace, with whole lines around it: `scan` of the program ignores
 * `--context`. Returns `undefined` if the file has changed.
 */
export async function readCurrentMatch(
  context: Context,
  native: Native,
  context_lines: number,
): Promise<Native | undefined> {
  const handle = await context.workspace.openFile(native.file).catch(() => undefined)
  if (!handle) return undefined
  try {
    const { start, end } = native.range.byteOffset
    const isSameText = async ({ read }: Pick<TextSource, 'read'>) =>
      (await read(start, end - start)).equals(Buffer.from(native.text))
    const sources = [
      await openTextSource(handle),
      { bytes: handle.stat.bytes, read: (offset: number, length: number) => handle.read(offset, length) },
    ]
    for (const source of sources)
      if (await isSameText(source)) return context_lines === 0 ? native : await widen(source, native, context_lines)
    return undefined
  } finally {
    await handle.close()
  }
}

async function widen(source: TextSource, native: Native, count: number): Promise<Native> {
  const { start, end } = native.range.byteOffset
  const from = Math.max(0, start - REACH_BYTES)
  const first = from + (await source.read(from, start - from)).lastIndexOf(10) + 1
  const rest = (await source.read(end, Math.min(REACH_BYTES, source.bytes - end))).indexOf(10)
  const last = rest < 0 ? source.bytes : end + rest
  const before = await readPreviousLines(source, first, count)
  const after = await readNextLines(source, Math.min(source.bytes, last + 1), count)
  const lines = [...before, await source.read(first, last - first), ...after].map(String).join('\n')
  return { ...native, lines }
}
