import type { JsonObject } from '../../../core/shapes/index.js'
import type { Meaning, Msg, ResultPart } from '../base/index.js'

interface Slice {
  path: string
  /** Lines, from 1; `end` is Infinity for a file read to its end. */
  start: number
  end: number
}
interface Read extends Slice {
  result: ResultPart
}

/**
 * Repeated reads of the same lines: of all copies the newest stays. Returns what stands in the place of a result, by call_id: an
 * older copy, or one whose lines a newer one holds, is a note; a newest copy that was overtaken by a change says so.
 */
export function dedupe(
  messages: readonly Msg[],
  meanings: ReadonlyMap<string, Meaning>,
): { texts: Record<string, string>; reads: number } {
  const kept: Read[] = []
  const changedBy = new Map<string, string>()
  const texts: Record<string, string> = {}
  let reads = 0
  // From the newest to the oldest: what was seen already is newer.
  for (const { parts } of [...messages].reverse()) {
    for (const part of [...parts].reverse()) {
      if (part.type !== 'tool_result') continue
      for (const path of part.changed ?? []) changedBy.set(path, part.call_id)
      const slice = readOf(meanings.get(part.call_id), part)
      if (!slice) continue
      const newer = kept.find((one) => one.path === slice.path && one.start <= slice.start && one.end >= slice.end)
      if (newer) {
        reads += 1
        texts[part.call_id] = note(slice, newer.result)
        continue
      }
      kept.push({ ...slice, result: part })
      const by = changedBy.get(slice.path)
      const mark = `\n[file changed after this read by call ${by}]`
      if (by !== undefined && !part.text.endsWith(mark)) texts[part.call_id] = part.text + mark
    }
  }
  return { texts, reads }
}

const note = ({ path, start, end }: Slice, { call_id }: ResultPart): string =>
  JSON.stringify({
    deduped_read: true,
    note: 'Older copy omitted; a newer read of the same range is kept below.',
    path,
    start_line: start,
    ...(end < Infinity && { end_line: end }),
    newest_call_id: call_id,
  })

/** The lines that a result holds, if it is one whole read of one file. */
function readOf(meaning: Meaning | undefined, { text, is_error, spool_path }: ResultPart): Slice | undefined {
  if (
    !meaning?.slot ||
    is_error ||
    spool_path !== undefined ||
    /^(\[cleared |\{"deduped_read"|Same result as call )/.test(text)
  )
    return undefined
  return sources[meaning.slot.slot]?.(meaning.input, text)
}

/** The slots that give what is in a file. */
const sources: Readonly<Record<string, (input: Readonly<JsonObject>, text: string) => Slice | undefined>> = {
  'unified_file/read': fileRead,
  'unified_exec/run': ({ command }, text) =>
    typeof command === 'string' && /\bexit 0\b[^\n]*\s*$/.test(text) ? plainRead(command) : undefined,
}

function fileRead(
  { path, offset_bytes, page_size_bytes, max_bytes }: Readonly<JsonObject>,
  text: string,
): Slice | undefined {
  if (typeof path !== 'string' || [offset_bytes, page_size_bytes, max_bytes].some((value) => value !== undefined))
    return undefined
  // A page ends with the lines it holds.
  const [, start, end, total] = /\[lines (\d+)-(\d+) of (\d+)[^\]\n]*\]\s*$/.exec(text) ?? []
  return {
    path: plain(path),
    start: Number(start ?? 1),
    end: end === undefined || end === total ? Infinity : Number(end),
  }
}

const plainCommands: [RegExp, (start: number, end: number) => [number, number]][] = [
  [/^(?:cat|bat|nl -ba) (?<path>\S+)$/, () => [1, Infinity]],
  [/^head -n ?(?<a>\d+) (?<path>\S+)$/, (count) => [1, count]],
  [/^tail -n ?\+(?<a>\d+) (?<path>\S+)$/, (start) => [start, Infinity]],
  [/^sed -n (?<quote>['"]?)(?<a>\d+),(?<b>\d+)p\k<quote> (?<path>\S+)$/, (start, end) => [start, end]],
]

/** A command that is exactly one plain read of one file. */
function plainRead(command: string): Slice | undefined {
  for (const [pattern, range] of plainCommands) {
    const { path, a, b } = pattern.exec(command.trim().replace(/ +/g, ' '))?.groups ?? {}
    if (path === undefined || /[*?[\]{}$`~\\;|&<>()'"!#]/.test(path) || path.startsWith('-')) continue
    const [start, end] = range(Number(a), Number(b))
    return { path: plain(path), start, end }
  }
  return undefined
}

const plain = (path: string): string => path.replace(/^(\.\/)+/, '')
