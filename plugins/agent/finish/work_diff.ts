import { truncateLine } from '../../../core/text/index.js'
import { diffTexts, countChangedLines } from '../../lib/files/index.js'
import { planRewind } from '../history/index.js'
import { type Conversation } from '../session/index.js'

const room = { lines: 4000, bytes: 60 * 1024 }
/** With fewer bytes left, the remaining files are only counted. */
const least = 512
const mostCounted = 500

/**
 * Diffs the files of a session against its start: unified diffs while they fit, line counts for the others. `counts`
 * has every file.
 */
export async function diffWork(
  { kernel, workspace, session_id, mode, only }: Conversation,
  bytes = room.bytes,
): Promise<{ diff: string; counts: string[] }> {
  const { operations } = await planRewind(workspace, session_id, '', [])
  let left = Math.min(bytes, room.bytes)
  const diffs: string[] = []
  const counts: string[] = []
  const uncounted: string[] = []
  for (const operation of [...operations].sort((a, b) => (a.path < b.path ? -1 : 1))) {
    const { path } = operation
    const before = operation.op === 'write' ? Buffer.from(operation.bytes) : Buffer.alloc(0)
    const after =
      operation.expected === 'nothing' ? Buffer.alloc(0) : await workspace.read(path).catch(() => Buffer.alloc(0))
    const binary = before.includes(0) || after.includes(0)
    const lines = binary ? undefined : countChangedLines(before, after)
    const change = lines
      ? `+${lines.added} -${lines.removed} lines`
      : `${before.length} bytes before, ${after.length} now`
    counts.push(`${truncateLine(path, 400)}: ${change}`)
    // The evaluator reads no file that the model may not read.
    const readable =
      lines &&
      left > least &&
      (await kernel.explain(READER_SLOT, { path }, { mode, ...(only && { only }) })).verdict === 'run'
    const diff = readable ? diffTexts(path, before, after, { ...room, bytes: left }) : undefined
    if (diff === undefined) uncounted.push(counts.at(-1)!)
    else {
      diffs.push(diff)
      left -= Buffer.byteLength(diff)
    }
  }
  const rest = uncounted.length > 0 ? [`Counted only:`, ...limitLines(uncounted)] : []
  return { diff: [...diffs, ...rest].join('\n') || '(No file is different.)', counts: limitLines(counts) }
}

/** The slot whose policy decides whether a file may be read. */
const READER_SLOT = 'unified_file/read'
const limitLines = (lines: readonly string[]): string[] => [
  ...lines.slice(0, mostCounted),
  ...(lines.length > mostCounted ? [`and ${lines.length - mostCounted} more files`] : []),
]
