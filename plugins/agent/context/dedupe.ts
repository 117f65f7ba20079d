import type { JsonObject } from '../../../core/shapes/index.js'
import type { CallMeaning, Msg, ResultPart } from '../base/index.js'

interface Slice {
  path: string
  /** Lines, from 1; `end` is Infinity for a file read to its end. */
  start: number
  end: number
}
interface FileRead extends Slice {
  result: ResultPart
}

/**
 * Removes repeated reads of lines. Returns replacement texts by call_id: a note for a read whose lines a newer read
 * contains, and a mark for a newest read whose file changed later.
 */
export function dedupe(
  messages: readonly Msg[],
  meanings: ReadonlyMap<string, CallMeaning>,
): { texts: Record<string, string>; reads: number } {
  const kept: FileRead[] = []
  const changedBy = new Map<string, string>()
  const texts: Record<string, string> = {}
  let reads = 0
  // From the newest to the oldest, so that earlier entries of `kept` are newer.
  for (const { parts } of [...messages].reverse()) {
    for (const part of [...parts].reverse()) {
      if (part.type !== 'tool_result') continue
      for (const path of part.changed ?? []) changedBy.set(path, part.call_id)
      const slice = parseRead(meanings.get(part.call_id), part)
      if (!slice) continue
      const newer = kept.find((one) => one.path === slice.path && one.start <= slice.start && one.end >= slice.end)
      if (newer) {
        reads += 1
        texts[part.call_id] = formatNote(slice, newer.result)
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

const formatNote = ({ path, start, end }: Slice, { call_id }: ResultPart): string =>
  JSON.stringify({
    deduped_read: true,
    note: 'Older copy omitted; a newer read of the same range is kept below.',
    path,
    start_line: start,
    ...(end < Infinity && { end_line: end }),
    newest_call_id: call_id,
  })

/** Returns the lines of a result, if it is a complete read of one file. */
function parseRead(meaning: CallMeaning | undefined, { text, is_error, spool_path }: ResultPart): Slice | undefined {
  if (
    !meaning?.slot ||
    is_error ||
    spool_path !== undefined ||
    /^(\[cleared |\{"deduped_read"|Same result as call )/.test(text)
  )
    return undefined
  return READ_PARSERS[meaning.slot.slot]?.(meaning.input, text)
}

/** Parsers of the slots that read files. */
const READ_PARSERS: Readonly<Record<string, (input: Readonly<JsonObject>, text: string) => Slice | undefined>> = {
  'unified_file/read': parseFileRead,
  'unified_exec/run': ({ command }, text) =>
    typeof command === 'string' && /\bexit 0\b[^\n]*\s*$/.test(text) ? parsePlainRead(command) : undefined,
}

function parseFileRead(
  { path, offset_bytes, page_size_bytes, max_bytes }: Readonly<JsonObject>,
  text: string,
): Slice | undefined {
  if (typeof path !== 'string' || [offset_bytes, page_size_bytes, max_bytes].some((value) => value !== undefined))
    return undefined
  // A page ends with its range of lines.
  const [, start, end, total] = /\[lines (\d+)-(\d+) of (\d+)[^\]\n]*\]\s*$/.exec(text) ?? []
  return {
    path: normalizePath(path),
    start: Number(start ?? 1),
    end: end === undefined || end === total ? Infinity : Number(end),
  }
}

const PLAIN_COMMANDS: [RegExp, (start: number, end: number) => [number, number]][] = [
  [/^(?:cat|bat|nl -ba) (?<path>\S+)$/, () => [1, Infinity]],
  [/^head -n ?(?<a>\d+) (?<path>\S+)$/, (count) => [1, count]],
  [/^tail -n ?\+(?<a>\d+) (?<path>\S+)$/, (start) => [start, Infinity]],
  [/^sed -n (?<quote>['"]?)(?<a>\d+),(?<b>\d+)p\k<quote> (?<path>\S+)$/, (start, end) => [start, end]],
]

/** Parses a command that only reads one file. */
function parsePlainRead(command: string): Slice | undefined {
  for (const [pattern, range] of PLAIN_COMMANDS) {
    const { path, a, b } = pattern.exec(command.trim().replace(/ +/g, ' '))?.groups ?? {}
    if (path === undefined || /[*?[\]{}$`~\\;|&<>()'"!#]/.test(path) || path.startsWith('-')) continue
    const [start, end] = range(Number(a), Number(b))
    return { path: normalizePath(path), start, end }
  }
  return undefined
}

const normalizePath = (path: string): string => path.replace(/^(\.\/)+/, '')
