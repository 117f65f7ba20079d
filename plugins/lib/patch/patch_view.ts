import { problem } from '../../../core/shapes/index.js'
import type { Context } from '../../../core/contract/index.js'
import type { Operation } from '../../../core/workspace/index.js'
import { contentHash, detectTextForm } from '../base/index.js'
import { Changes, loadTarget, createMissingPathError, refuseStale, type FileTarget } from '../files/index.js'

/** A file of the workspace after the sections so far. */
export interface FileView {
  readonly path: string
  /** File on disk; absent if missing. */
  readonly target: FileTarget | undefined
  /** Planned content; absent if the file is to be removed. */
  now?: { changes: Changes; mode?: number }
}

type Present = FileView & { now: NonNullable<FileView['now']> }

/** The workspace during a patch: sections change it in memory, in order. */
export class PatchView {
  private readonly files = new Map<string, FileView>()
  constructor(private readonly context: Context) {}

  /** Returns the file at a path. Throws VT_PATH_IS_DIRECTORY, VT_PATH_OUTSIDE, VT_FILE_STALE and other path errors. */
  async open(path: string): Promise<FileView> {
    const { workspace } = this.context
    const known = this.files.get(workspace.normalize(path))
    if (known) return known
    const target = await loadTarget(path, this.context)
    if (target) refuseStale(path, target, undefined, this.context)
    const key = target?.resolved ?? workspace.resolve(path)
    const file = this.files.get(key) ?? createFileView(key, target)
    this.files.set(key, file)
    this.files.set(workspace.normalize(path), file)
    return file
  }

  /**
   * Returns the file of a free path. Throws VT_PATH_EXISTS if any entry exists, a link included, unless an earlier
   * section removed it.
   */
  async requireFree(path: string): Promise<FileView> {
    const file = await this.open(path)
    const taken = file.now !== undefined || (!file.target && (await this.context.workspace.stat(path)) !== undefined)
    if (taken) throw problem('VT_PATH_EXISTS', { path }, { details: { path } })
    return file
  }

  /** Returns an existing text file. Throws VT_PATH_NOT_FOUND, VT_FILE_BINARY. */
  async requireText(path: string): Promise<Present> {
    const file = await this.open(path)
    if (!file.now)
      throw file.target
        ? problem('VT_PATH_NOT_FOUND', { path }, { details: { path } })
        : await createMissingPathError(path, this.context)
    const { binary, encoding } = detectTextForm(file.now.changes.bytes)
    if (!binary && encoding === 'utf-8') return file as Present
    const hint = 'Use {slot:unified_file/edit} or {slot:unified_file/write} for a file that is not UTF-8 text.'
    throw problem('VT_FILE_BINARY', { path }, { hint, details: { path } })
  }

  /** Returns a text file to remove. Throws VT_PATH_SPECIAL for a link, because its target would be removed. */
  async requireRemovable(path: string): Promise<Present> {
    if ((await this.context.workspace.stat(path))?.kind === 'link')
      throw problem('VT_PATH_SPECIAL', { path, kind: 'link' }, { details: { path } })
    return this.requireText(path)
  }

  /** Lists all changed files. */
  listChanged(): FileView[] {
    return [...new Set(this.files.values())].filter(({ target, now }) => {
      if (!target || !now) return target !== undefined || now !== undefined
      return findNewMode({ target, now }) !== undefined || !now.changes.bytes.equals(target.bytes)
    })
  }
}

const createFileView = (path: string, target: FileTarget | undefined): FileView => ({
  path,
  target,
  ...(target && { now: { changes: new Changes(target.bytes), mode: target.version.stat.mode } }),
})

const findNewMode = ({ target, now }: Pick<FileView, 'target' | 'now'>): number | undefined =>
  now?.mode === target?.version.stat.mode ? undefined : now?.mode

/** Returns the operation that writes the planned content. */
export function toOperation(file: FileView): Operation {
  const { path, target, now } = file
  if (!now) return { op: 'remove', path, expected: target!.version }
  const mode = findNewMode(file)
  return {
    op: 'write',
    path,
    bytes: now.changes.bytes,
    expected: target?.version ?? 'nothing',
    ...(mode !== undefined && { mode }),
  }
}

/** Returns the step for the record. `made` are the directories to create. */
export function toStep({ path, target, now }: FileView, made: string[]) {
  const before = target && { sha256: target.version.sha256, mode: target.version.stat.mode, bytes: target.bytes.length }
  if (!now) return { op: 'remove' as const, path, before: before! }
  return { op: 'write' as const, path, ...(before && { before }), after: contentHash(now.changes.bytes), made }
}
