import { problem } from '../../../core/shapes/index.js'
import type { Context } from '../../../core/contract/index.js'
import type { Operation } from '../../../core/workspace/index.js'
import { contentHash, detectTextForm } from '../base/index.js'
import { Changes, loadTarget, createMissingPathError, refuseStale, type FileTarget } from '../files/index.js'

/** A file of the workspace as the sections so far have left it. */
export interface FileView {
  readonly path: string
  /** As it is on disk; absent if there is none. */
  readonly target: FileTarget | undefined
  /** As it is to be; absent if there is to be none. */
  now?: { changes: Changes; mode?: number }
}

type Present = FileView & { now: NonNullable<FileView['now']> }

/** The workspace as a patch sees it: sections change it in memory, in order. */
export class View {
  private readonly files = new Map<string, FileView>()
  constructor(private readonly context: Context) {}

  /** The file at a path. Throws VT_PATH_IS_DIRECTORY, VT_PATH_OUTSIDE, VT_FILE_STALE and the like. */
  async at(path: string): Promise<FileView> {
    const { workspace } = this.context
    const known = this.files.get(workspace.normalize(path))
    if (known) return known
    const target = await loadTarget(path, this.context)
    if (target) refuseStale(path, target, undefined, this.context)
    const key = target?.resolved ?? workspace.resolve(path)
    const file = this.files.get(key) ?? fresh(key, target)
    this.files.set(key, file)
    this.files.set(workspace.normalize(path), file)
    return file
  }

  /** Throws VT_PATH_EXISTS unless nothing is at the path, not even a link. */
  async free(path: string): Promise<FileView> {
    const file = await this.at(path)
    const taken = file.now !== undefined || (!file.target && (await this.context.workspace.stat(path)) !== undefined)
    if (taken) throw problem('VT_PATH_EXISTS', { path }, { details: { path } })
    return file
  }

  /** The text file that must be there. Throws VT_PATH_NOT_FOUND, VT_FILE_BINARY. */
  async text(path: string): Promise<Present> {
    const file = await this.at(path)
    if (!file.now)
      throw file.target
        ? problem('VT_PATH_NOT_FOUND', { path }, { details: { path } })
        : await createMissingPathError(path, this.context)
    const { binary, encoding } = detectTextForm(file.now.changes.bytes)
    if (!binary && encoding === 'utf-8') return file as Present
    const hint = 'Use {slot:unified_file/edit} or {slot:unified_file/write} for a file that is not UTF-8 text.'
    throw problem('VT_FILE_BINARY', { path }, { hint, details: { path } })
  }

  /** The same for one that is to go. Throws VT_PATH_SPECIAL for a link: what would go is the file behind it. */
  async going(path: string): Promise<Present> {
    if ((await this.context.workspace.stat(path))?.kind === 'link')
      throw problem('VT_PATH_SPECIAL', { path, kind: 'link' }, { details: { path } })
    return this.text(path)
  }

  /** Every file that is to be other than it is. */
  changed(): FileView[] {
    return [...new Set(this.files.values())].filter(({ target, now }) => {
      if (!target || !now) return target !== undefined || now !== undefined
      return newMode({ target, now }) !== undefined || !now.changes.bytes.equals(target.bytes)
    })
  }
}

const fresh = (path: string, target: FileTarget | undefined): FileView => ({
  path,
  target,
  ...(target && { now: { changes: new Changes(target.bytes), mode: target.version.stat.mode } }),
})

const newMode = ({ target, now }: Pick<FileView, 'target' | 'now'>): number | undefined =>
  now?.mode === target?.version.stat.mode ? undefined : now?.mode

/** What makes the file what it is to be. */
export function operationOf(file: FileView): Operation {
  const { path, target, now } = file
  if (!now) return { op: 'remove', path, expected: target!.version }
  const mode = newMode(file)
  return {
    op: 'write',
    path,
    bytes: now.changes.bytes,
    expected: target?.version ?? 'nothing',
    ...(mode !== undefined && { mode }),
  }
}

/** What the record of it says. `made` are the directories it needs. */
export function stepOf({ path, target, now }: FileView, made: string[]) {
  const before = target && { sha256: target.version.sha256, mode: target.version.stat.mode, bytes: target.bytes.length }
  if (!now) return { op: 'remove' as const, path, before: before! }
  return { op: 'write' as const, path, ...(before && { before }), after: contentHash(now.changes.bytes), made }
}
