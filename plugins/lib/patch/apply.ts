import { ok, problem, VtError, type Call, type Notice, type Result } from '../../../core/shapes/index.js'
import type { Context } from '../../../core/contract/index.js'
import { contentHash, shortenHash } from '../base/index.js'
import {
  Changes,
  clipDiff,
  countLines,
  diffChanges,
  diffTexts,
  createReadCall,
  createStaleError,
  lossNotices,
  findMissingParents,
  getReads,
  recordChange,
  refuseOtherEncoding,
  reportStaleFile,
} from '../files/index.js'
import { parsePatch } from './parse.js'
import { placeHunks } from './place.js'
import { placeInCurrent } from './place_in_current.js'
import { createSyntaxError } from './syntax_error.js'
import type { Hunk, Section } from './types.js'
import { toOperation, toStep, PatchView, type FileView } from './patch_view.js'

/** One section in the answer. */
interface Change {
  path: string
  op: 'add' | 'update' | 'delete' | 'move' | 'copy'
  to?: string
  hunks?: number
  /** Set if the patch changes the right to execute. */
  executable?: boolean
  added: number
  removed: number
  hash?: string
}

const MAX_PATCH_BYTES = 1024 * 1024
const DIFF_LIMITS = { lines: 400, bytes: 32 * 1024 }
const PASS_NAMES = ['', 'exact', 'white space at the end', 'indentation', 'quotes, dashes and spaces']

/** Applies a patch to several files, all or nothing. `only` limits the patch to one path. */
export async function applyPatch(
  call: Call<any>,
  context: Context,
  text: string,
  { dryRun, only }: { dryRun: boolean; only?: string },
): Promise<Result> {
  const { workspace, signal } = context
  if (Buffer.byteLength(text) > MAX_PATCH_BYTES)
    throw problem('VT_INPUT_TOO_LARGE', {
      size: `${Buffer.byteLength(text)} bytes of patch`,
      limit: `${MAX_PATCH_BYTES} bytes`,
    })
  const sections = parsePatch(text)
  if (sections.length === 0)
    throw new VtError({
      code: 'VT_PATCH_EMPTY',
      message: 'The patch has no sections.',
      hint: 'Add a section: *** Update File: path',
      retryable: false,
    })
  const paths = listPaths(sections, call, context)
  if (only !== undefined && paths.some((path) => path !== only))
    throw problem('VT_INPUT_CONFLICT', { fields: `'path' ${only} and the paths of the patch (${paths.join(', ')})` })

  await using _ = await workspace.lock(paths, signal)
  const view = new PatchView(context)
  const notices: Notice[] = []
  const changes: Change[] = []
  for (const section of sections) changes.push(await applySection(section, view, notices))
  const files = view.listChanged()
  const reports = files.map(({ changed }) => reportStaleFile(changed))
  notices.push(...reports.flatMap((report) => report.notices))
  const diff = clipDiff(files.map(diffFile).join(''), DIFF_LIMITS)
  if (!dryRun && files.length > 0) notices.push(...(await commit(call, context, files)))
  for (const change of changes) {
    const { now } = await view.open(change.to ?? change.path)
    if (now) change.hash = shortenHash(contentHash(now.changes.bytes))
  }
  const fuzzy = notices.filter(({ code }) => code === 'VT_PATCH_FUZZY').length
  const output = { changes, dry_run: dryRun, fuzzy, diff }
  // The author of the patch knows the changes, so the diff appears only for fuzzy matches and dry runs.
  const shownDiff = dryRun || fuzzy > 0 ? `\n${diff}` : ''
  return ok(output, {
    text: `${changes.map(formatChange).join('\n')}${shownDiff}${reports.map(({ text }) => text).join('')}`,
    ...(notices.length > 0 && { notices }),
  })
}

/**
 * Lists the paths of a patch, checked before any file is read. Throws VT_PATCH_SYNTAX, VT_PATH_OUTSIDE,
 * VT_INPUT_INVALID.
 */
function listPaths(sections: Section[], { places }: Call<any>, { workspace }: Context): string[] {
  const judged = new Set(places.map(({ given }) => given))
  const paths = sections.flatMap((section) => {
    const named = section.op === 'update' && section.to !== undefined ? [section.path, section.to] : [section.path]
    return named.map((path) => {
      const inside = workspace.normalize(path)
      if (/[\0\r\n]/.test(path)) throw createSyntaxError(section.line, path, 'a path without control characters')
      if (inside === '.' || path.endsWith('/')) throw createSyntaxError(section.line, path, 'the path of a file')
      // Policies judged only the paths that they could read, so no other path is written.
      if (!judged.has(inside)) throw createSyntaxError(section.line, path, 'a path that its header names plainly')
      return inside
    })
  })
  return [...new Set(paths)]
}

async function applySection(section: Section, view: PatchView, notices: Notice[]): Promise<Change> {
  const { path } = section
  if (section.op === 'add') {
    const file = await view.requireFree(path)
    const { lines, newline, executable } = section
    const content = lines.length === 0 ? '' : `${lines.join('\n')}${newline ? '\n' : ''}`
    file.now = {
      changes: new Changes(file.target?.bytes ?? Buffer.alloc(0), Buffer.from(content)),
      ...(executable && { mode: 0o755 }),
    }
    return { path, op: 'add', added: lines.length, removed: 0 }
  }
  if (section.op === 'delete') {
    const file = await view.requireRemovable(path)
    const removed = countLines(file.now.changes.bytes)
    // Removed lines in the patch are compared with the current file.
    if (!section.hunks && file.changed) throw createStaleError(file.changed)
    if (section.hunks) requireWholeRemoval(path, file.now.changes.bytes, section.hunks)
    delete (file as FileView).now
    return { path, op: 'delete', added: 0, removed }
  }
  return updateFile(section, view, notices)
}

/** Changes, moves or copies a file. As in git, a copy is made of the file before the patch. */
async function updateFile(
  section: Extract<Section, { op: 'update' }>,
  view: PatchView,
  notices: Notice[],
): Promise<Change> {
  const { path, isCopy, hunks, executable } = section
  const to = findNewName(section, view)
  const file = await (to === undefined ? view.requireText(path) : view.requireRemovable(path))
  const now = isCopy ? { ...file.now, changes: new Changes(file.target?.bytes ?? file.now.changes.bytes) } : file.now
  if (to !== undefined && hunks.length === 0) refuseStaleMove(file)
  const { spans, added, removed, fuzzy } = placeInCurrent(path, now.changes.bytes, hunks, file.changed)
  refuseOtherEncoding(path, now.changes.bytes, spans.map(({ by }) => by.toString()).join(''))
  now.changes.replace(spans)
  if (executable !== undefined) now.mode = setExecutable(now.mode ?? 0o644, executable)
  notices.push(
    ...fuzzy.map(({ line, pass }) => ({
      code: 'VT_PATCH_FUZZY',
      message: `'${path}' line ${line} matched only with ${PASS_NAMES[pass]} ignored.`,
    })),
  )
  const change = {
    path,
    op: 'update' as const,
    hunks: hunks.length,
    ...(executable !== undefined && { executable }),
    added,
    removed,
  }
  if (to === undefined) return change
  const target = await view.requireFree(to)
  target.now = {
    changes: new Changes(Buffer.alloc(0), now.changes.bytes),
    ...(now.mode !== undefined && { mode: now.mode }),
  }
  if (isCopy) return { ...change, op: 'copy', to }
  delete (file as FileView).now
  return { ...change, op: 'move', to }
}

/** Returns the name that a section gives a file; nothing for the own name, under which only the content changes. */
const findNewName = ({ path, to, isCopy }: Extract<Section, { op: 'update' }>, view: PatchView): string | undefined =>
  to !== undefined && !isCopy && view.isSamePath(path, to) ? undefined : to

/** Refuses to move or copy a whole file that changed since it was read, unless it only grew. Throws VT_FILE_STALE. */
function refuseStaleMove({ changed }: FileView): void {
  if (changed && !changed.hasGrown) throw createStaleError(changed)
}

/** Refuses to delete a file that has other lines than the patch removes. Throws VT_PATCH_CONTEXT. */
function requireWholeRemoval(path: string, bytes: Buffer, hunks: Hunk[]): void {
  const changes = new Changes(bytes)
  changes.replace(placeHunks(path, bytes, hunks).spans)
  if (changes.bytes.length === 0) return
  throw new VtError({
    code: 'VT_PATCH_CONTEXT',
    message: `The patch deletes '${path}', but the file has more lines than the patch removes.`,
    hint: 'Read the file again, and delete it with `*** Delete File: path` if nothing of it is needed.',
    retryable: false,
    details: { path },
    next: createReadCall(path, {}),
  })
}

/** Adds the right to execute for everyone who may read, or removes it for all. */
const setExecutable = (mode: number, executable: boolean): number =>
  executable ? mode | ((mode & 0o444) >> 2) : mode & ~0o111

/** Writes all files at once and keeps the old content for undo. */
async function commit(call: Call<any>, context: Context, files: FileView[]): Promise<Notice[]> {
  const { workspace, session } = context
  const steps = await Promise.all(
    files.map(async (file) => toStep(file, await findMissingParents(file.path, workspace))),
  )
  const written = await recordChange(call, context, steps, () => workspace.transact(files.map(toOperation)))
  const reads = getReads(session)
  const stats = new Map(written.map(({ resolved, stat }) => [resolved, stat]))
  for (const { path, now, changed } of files) {
    const stat = stats.get(path)
    if (changed && !changed.isWhole) continue
    if (now)
      reads.remember(path, {
        hash: shortenHash(contentHash(now.changes.bytes)),
        ...(stat && { stat }),
        bytes: now.changes.bytes,
      })
    else reads.forget(path)
  }
  return written.flatMap(({ resolved, lost }) => lossNotices(resolved, lost))
}

function diffFile({ path, target, now }: FileView): string {
  if (target && now && now.changes.before === target.bytes) return diffChanges(path, now.changes, DIFF_LIMITS)
  return (
    diffTexts(path, target?.bytes ?? Buffer.alloc(0), now?.changes.bytes ?? Buffer.alloc(0), DIFF_LIMITS) ??
    `[${path} is too large for a diff]\n`
  )
}

function formatChange({ op, path, to, added, removed, executable }: Change): string {
  if (op === 'add') return `A ${path}`
  if (op === 'delete') return `D ${path}`
  if (op === 'move' || op === 'copy') return `${op === 'move' ? 'R' : 'C'} ${path} -> ${to}`
  const mode = executable === undefined ? '' : executable ? ', executable' : ', not executable'
  return `M ${path} (+${added} -${removed}${mode})`
}
