import type { Workspace } from '../../../core/workspace/index.js'
import { findLatestChange, type Undoable } from '../../lib/files/index.js'
import type { FileChange } from '../base/index.js'

type Bytes = () => Promise<Buffer>

/**
 * Changes with the lines they added and took away, by what the last change of the session keeps for undo: whoever changed the files, a
 * tool or a command. Where nothing is kept, as of whole folders, or a file is too large to compare, the counts are left out.
 */
export async function counted(
  workspace: Workspace,
  session: string,
  changes: readonly FileChange[],
): Promise<FileChange[]> {
  if (changes.every(({ added_lines }) => added_lines !== undefined)) return [...changes]
  const last = await findLatestChange(workspace, session)
  // Most runs begin without a change, and what compares is no part of their start.
  const { countChangedLines, MAX_COMPARED_BYTES } = await import('../../lib/files/index.js')
  const sides = last ? sidesOf(workspace, last, MAX_COMPARED_BYTES + 1) : new Map<string, [Bytes, Bytes]>()
  return Promise.all(
    changes.map(async (change) => ({
      ...change,
      ...(await lines(sides.get(change.path) ?? sides.get(placeOf(workspace, change.path)), countChangedLines)),
    })),
  )
}

async function lines(
  sides: [Bytes, Bytes] | undefined,
  linesChanged: typeof import('../../lib/files/index.js').countChangedLines,
): Promise<Pick<FileChange, 'added_lines' | 'removed_lines'>> {
  if (!sides) return {}
  const both = await Promise.all(sides.map((read) => read())).catch(() => undefined)
  const found = both && linesChanged(both[0]!, both[1]!)
  return found ? { added_lines: found.added, removed_lines: found.removed } : {}
}

/** What was at each path before and is there now. */
function sidesOf(workspace: Workspace, { folder, checkpoint }: Undoable, length: number): Map<string, [Bytes, Bytes]> {
  const sides = new Map<string, [Bytes, Bytes]>()
  const nothing: Bytes = async () => Buffer.alloc(0)
  const at =
    (path: string): Bytes =>
    () =>
      workspace.read(path, { length })
  for (const [index, step] of checkpoint.steps.entries()) {
    const before = 'before' in step && step.before ? at(`${folder}/${index}`) : nothing
    if (step.op === 'write') sides.set(step.path, [before, at(step.path)])
    else if (step.op === 'remove') sides.set(step.path, [before, nothing])
    else if (step.op === 'rename') sides.set(step.from, [at(step.to), nothing]).set(step.to, [before, at(step.to)])
  }
  return sides
}

/** Where a path leads, as checkpoints name it. */
function placeOf(workspace: Workspace, path: string): string {
  try {
    return workspace.resolve(path)
  } catch {
    return path
  }
}
