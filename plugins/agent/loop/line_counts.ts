import type { Workspace } from '../../../core/workspace/index.js'
import { findLatestChange, readKept, type Undoable } from '../../lib/files/index.js'
import type { FileChange } from '../base/index.js'

type Bytes = () => Promise<Buffer>

/**
 * Counts the added and removed lines of changes, from the last undo checkpoint of the session. Whole folders and
 * large files get no counts.
 */
export async function countChangedFileLines(
  workspace: Workspace,
  session: string,
  changes: readonly FileChange[],
): Promise<FileChange[]> {
  if (changes.every(({ added_lines }) => added_lines !== undefined)) return [...changes]
  const last = await findLatestChange(workspace, session)
  // Loaded on demand: most runs start without a change.
  const { countChangedLines, MAX_COMPARED_BYTES } = await import('../../lib/files/index.js')
  const sides = last ? listSides(workspace, last, MAX_COMPARED_BYTES + 1) : new Map<string, [Bytes, Bytes]>()
  return Promise.all(
    changes.map(async (change) => ({
      ...change,
      ...(await compareSides(
        sides.get(change.path) ?? sides.get(resolvePath(workspace, change.path)),
        countChangedLines,
      )),
    })),
  )
}

async function compareSides(
  sides: [Bytes, Bytes] | undefined,
  linesChanged: typeof import('../../lib/files/index.js').countChangedLines,
): Promise<Pick<FileChange, 'added_lines' | 'removed_lines'>> {
  if (!sides) return {}
  const both = await Promise.all(sides.map((read) => read())).catch(() => undefined)
  const found = both && linesChanged(both[0]!, both[1]!)
  return found ? { added_lines: found.added, removed_lines: found.removed } : {}
}

/** Lists readers of the former and the present content of each path. */
function listSides(
  workspace: Workspace,
  { folder, checkpoint }: Undoable,
  length: number,
): Map<string, [Bytes, Bytes]> {
  const sides = new Map<string, [Bytes, Bytes]>()
  const nothing: Bytes = async () => Buffer.alloc(0)
  const at =
    (path: string): Bytes =>
    () =>
      workspace.read(path, { length })
  for (const [index, step] of checkpoint.steps.entries()) {
    const old = 'before' in step ? step.before : undefined
    const before: Bytes = old ? () => readKept(workspace, `${folder}/${index}`, old.sha256, { length }) : nothing
    if (step.op === 'write') sides.set(step.path, [before, at(step.path)])
    else if (step.op === 'remove') sides.set(step.path, [before, nothing])
    else if (step.op === 'rename') sides.set(step.from, [at(step.to), nothing]).set(step.to, [before, at(step.to)])
  }
  return sides
}

/** Resolves a path to the form that checkpoints use. */
function resolvePath(workspace: Workspace, path: string): string {
  try {
    return workspace.resolve(path)
  } catch {
    return path
  }
}
