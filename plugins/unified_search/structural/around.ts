import type { Context } from '../../../core/index.js'
import { readLinesAfter, readLinesBefore, openTextSource, type TextSource } from '../../lib/search/index.js'
import type { Native } from './types.js'

/** Bytes in which the beginning of a line is looked for. */
const reach = 262_144

/**
 * A match as it stands in its file, opened once more because the program walked by itself, with whole lines around it: `scan` of the program takes
 * no notice of its `--context`. `undefined` where the file says something else now.
 */
export async function standing(context: Context, native: Native, context_lines: number): Promise<Native | undefined> {
  const handle = await context.workspace.openFile(native.file).catch(() => undefined)
  if (!handle) return undefined
  try {
    const { start, end } = native.range.byteOffset
    const says = async ({ read }: Pick<TextSource, 'read'>) =>
      (await read(start, end - start)).equals(Buffer.from(native.text))
    const sources = [
      await openTextSource(handle),
      { bytes: handle.stat.bytes, read: (offset: number, length: number) => handle.read(offset, length) },
    ]
    for (const source of sources)
      if (await says(source)) return context_lines === 0 ? native : await widened(source, native, context_lines)
    return undefined
  } finally {
    await handle.close()
  }
}

async function widened(source: TextSource, native: Native, count: number): Promise<Native> {
  const { start, end } = native.range.byteOffset
  const from = Math.max(0, start - reach)
  const first = from + (await source.read(from, start - from)).lastIndexOf(10) + 1
  const rest = (await source.read(end, Math.min(reach, source.bytes - end))).indexOf(10)
  const last = rest < 0 ? source.bytes : end + rest
  const before = await readLinesBefore(source, first, count)
  const after = await readLinesAfter(source, Math.min(source.bytes, last + 1), count)
  const lines = [...before, await source.read(first, last - first), ...after].map(String).join('\n')
  return { ...native, lines }
}
