import { ok, problem, VtError, type Call, type Notice, type Result } from '../../../core/shapes/index.js'
import type { Context } from '../../../core/contract/index.js'
import { contentHash, shortenHash } from '../base/index.js'
import {
  Changes,
  clipDiff,
  countLines,
  diffChanges,
  diffTexts,
  lossNotices,
  findMissingParents,
  getReads,
  recordChange,
} from '../files/index.js'
import { parsePatch } from './parse.js'
import { placeHunks } from './place.js'
import { createSyntaxError } from './syntax_error.js'
import type { Section } from './types.js'
import { toOperation, toStep, PatchView, type FileView } from './patch_view.js'

/** One section in the answer. */
interface Change {
  path: string
  op: 'add' | 'update' | 'delete' | 'move'
  to?: string
  hunks?: number
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
    text: `${changes.map(formatChange).join('\n')}${shownDiff}`,
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
      if (/[\0\r\n\t]|^"/.test(path) || path.startsWith('/'))
        throw createSyntaxError(
          section.line,
          path,
          'a path relative to the workspace, without quotes and control characters',
        )
      if (inside === '.') throw createSyntaxError(section.line, path, 'the path of a file')
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
    delete (file as FileView).now
    return { path, op: 'delete', added: 0, removed }
  }
  const { to, hunks, executable } = section
  const file = await (to === undefined ? view.requireText(path) : view.requireRemovable(path))
  const { spans, added, removed, fuzzy } = placeHunks(path, file.now.changes.bytes, hunks)
  file.now.changes.replace(spans)
  if (executable !== undefined) file.now.mode = setExecutable(file.now.mode ?? 0o644, executable)
  notices.push(
    ...fuzzy.map(({ line, pass }) => ({
      code: 'VT_PATCH_FUZZY',
      message: `'${path}' line ${line} matched only with ${PASS_NAMES[pass]} ignored.`,
    })),
  )
  const change = { path, op: 'update' as const, hunks: hunks.length, added, removed }
  if (to === undefined) return change
  const target = await view.requireFree(to)
  target.now = {
    changes: new Changes(Buffer.alloc(0), file.now.changes.bytes),
    ...(file.now.mode !== undefined && { mode: file.now.mode }),
  }
  delete (file as FileView).now
  return { ...change, op: 'move', to }
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
  for (const { path, now } of files) {
    const stat = stats.get(path)
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

function formatChange({ op, path, to, added, removed }: Change): string {
  if (op === 'add') return `A ${path}`
  if (op === 'delete') return `D ${path}`
  return op === 'move' ? `R ${path} -> ${to}` : `M ${path} (+${added} -${removed})`
}
