import { problem } from '../../../core/shapes/index.js'
import type { Context } from '../../../core/contract/index.js'
import type { Operation } from '../../../core/workspace/index.js'
import { contentHash, detectTextForm } from '../base/index.js'
import {
  Changes,
  createReadCall,
  findStaleFile,
  loadTarget,
  createMissingPathError,
  type StaleFile,
  type FileTarget,
} from '../files/index.js'

/** A file of the workspace after the sections so far. */
export interface FileView {
  readonly path: string
  /** File on disk; absent if missing. */
  readonly target: FileTarget | undefined
  /** Present if the file changed since this session read it. */
  readonly changed?: StaleFile
  /** Planned content; absent if the file is to be removed. */
  now?: { changes: Changes; mode?: number }
}

type ExistingFile = FileView & { now: NonNullable<FileView['now']> }

/** The workspace during a patch: sections change it in memory, in order. */
export class PatchView {
  private readonly files = new Map<string, FileView>()
  constructor(private readonly context: Context) {}

  /** Returns the file at a path. Throws VT_PATH_IS_DIRECTORY, VT_PATH_OUTSIDE and other path errors. */
  async open(path: string): Promise<FileView> {
    const { workspace } = this.context
    const known = this.files.get(workspace.normalize(path))
    if (known) return known
    const target = await loadTarget(path, this.context)
    const key = target?.resolved ?? workspace.resolve(path)
    const changed = findStaleFile(path, target, undefined, this.context)
    const file = this.files.get(key) ?? createFileView(key, target, changed)
    this.files.set(key, file)
    this.files.set(workspace.normalize(path), file)
    return file
  }

  isSamePath(one: string, other: string): boolean {
    const { workspace } = this.context
    return workspace.normalize(one) === workspace.normalize(other)
  }

  /**
   * Returns the file of a free path. Throws VT_PATH_EXISTS if any entry exists, a link included, unless an earlier
   * section removed it.
   */
  async requireFree(path: string): Promise<FileView> {
    const file = await this.open(path)
    const taken = file.now !== undefined || (!file.target && (await this.context.workspace.stat(path)) !== undefined)
    if (!taken) return file
    const hint =
      'Change the existing file with `*** Update File: path`. ' +
      'Or choose another name, or delete the file in an earlier section of the patch.'
    throw problem('VT_PATH_EXISTS', { path }, { hint, details: { path }, next: createReadCall(path) })
  }

  /** Returns an existing text file. Throws VT_PATH_NOT_FOUND, VT_FILE_BINARY. */
  async requireText(path: string): Promise<ExistingFile> {
    const file = await this.open(path)
    if (!file.now)
      throw file.target
        ? problem('VT_PATH_NOT_FOUND', { path }, { details: { path } })
        : await createMissingPathError(path, this.context)
    const { binary, encoding } = detectTextForm(file.now.changes.bytes)
    if (!binary && encoding === 'utf-8') return file as ExistingFile
    const hint = 'Use {slot:unified_file/edit} for a UTF-16 text. Change other files with a command.'
    throw problem('VT_FILE_BINARY', { path }, { hint, details: { path } })
  }

  /** Returns a text file to remove. Throws VT_PATH_SPECIAL for a link, because its target would be removed. */
  async requireRemovable(path: string): Promise<ExistingFile> {
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

const createFileView = (path: string, target: FileTarget | undefined, changed: StaleFile | undefined): FileView => ({
  path,
  target,
  ...(changed && { changed }),
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

/** Returns the step for the change record. `newFolders`: directories that the step creates. */
export function toStep({ path, target, now }: FileView, newFolders: string[]) {
  const before = target && { sha256: target.version.sha256, mode: target.version.stat.mode, bytes: target.bytes.length }
  if (!now) return { op: 'remove' as const, path, before: before! }
  return {
    op: 'write' as const,
    path,
    ...(before && { before }),
    after: contentHash(now.changes.bytes),
    made: newFolders,
  }
}
