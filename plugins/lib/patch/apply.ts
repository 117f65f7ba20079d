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
import { place } from './place.js'
import { syntax } from './syntax.js'
import type { Section } from './types.js'
import { operationOf, stepOf, View, type FileView } from './view.js'

/** One section as the answer tells it. */
interface Change {
  path: string
  op: 'add' | 'update' | 'delete' | 'move'
  to?: string
  hunks?: number
  added: number
  removed: number
  hash?: string
}

const largestPatch = 1024 * 1024
const room = { lines: 400, bytes: 32 * 1024 }
const passNames = ['', 'exact', 'white space at the end', 'indentation', 'quotes, dashes and spaces']

/** Applies a patch to several files, all or nothing. `only` is the one path it may name. */
export async function applyPatch(
  call: Call<any>,
  context: Context,
  text: string,
  { dryRun, only }: { dryRun: boolean; only?: string },
): Promise<Result> {
  const { workspace, signal } = context
  if (Buffer.byteLength(text) > largestPatch)
    throw problem('VT_INPUT_TOO_LARGE', {
      size: `${Buffer.byteLength(text)} bytes of patch`,
      limit: `${largestPatch} bytes`,
    })
  const sections = parsePatch(text)
  if (sections.length === 0)
    throw new VtError({
      code: 'VT_PATCH_EMPTY',
      message: 'The patch has no sections.',
      hint: 'Add a section: *** Update File: path',
      retryable: false,
    })
  const paths = pathsOf(sections, call, context)
  if (only !== undefined && paths.some((path) => path !== only))
    throw problem('VT_INPUT_CONFLICT', { fields: `'path' ${only} and the paths of the patch (${paths.join(', ')})` })

  await using _ = await workspace.lock(paths, signal)
  const view = new View(context)
  const notices: Notice[] = []
  const changes: Change[] = []
  for (const section of sections) changes.push(await applySection(section, view, notices))
  const files = view.changed()
  const diff = clipDiff(files.map(diffOfFile).join(''), room)
  if (!dryRun && files.length > 0) notices.push(...(await commit(call, context, files)))
  for (const change of changes) {
    const { now } = await view.at(change.to ?? change.path)
    if (now) change.hash = shortenHash(contentHash(now.changes.bytes))
  }
  const fuzzy = notices.filter(({ code }) => code === 'VT_PATCH_FUZZY').length
  const output = { changes, dry_run: dryRun, fuzzy, diff }
  // Who wrote the patch has read it: the diff tells only what it could not know.
  const told = dryRun || fuzzy > 0 ? `\n${diff}` : ''
  return ok(output, { text: `${changes.map(lineOf).join('\n')}${told}`, ...(notices.length > 0 && { notices }) })
}

/** Every path of the patch, checked before anything is read. Throws VT_PATCH_SYNTAX, VT_PATH_OUTSIDE, VT_INPUT_INVALID. */
function pathsOf(sections: Section[], { places }: Call<any>, { workspace }: Context): string[] {
  const judged = new Set(places.map(({ given }) => given))
  const paths = sections.flatMap((section) => {
    const named = section.op === 'update' && section.to !== undefined ? [section.path, section.to] : [section.path]
    return named.map((path) => {
      const inside = workspace.normalize(path)
      if (/[\0\r\n\t]|^"/.test(path) || path.startsWith('/'))
        throw syntax(section.line, path, 'a path relative to the workspace, without quotes and control characters')
      if (inside === '.') throw syntax(section.line, path, 'the path of a file')
      // Policies have judged the paths that they could read; no other is written.
      if (!judged.has(inside)) throw syntax(section.line, path, 'a path that its header names plainly')
      return inside
    })
  })
  return [...new Set(paths)]
}

async function applySection(section: Section, view: View, notices: Notice[]): Promise<Change> {
  const { path } = section
  if (section.op === 'add') {
    const file = await view.free(path)
    const { lines, newline, executable } = section
    const content = lines.length === 0 ? '' : `${lines.join('\n')}${newline ? '\n' : ''}`
    file.now = {
      changes: new Changes(file.target?.bytes ?? Buffer.alloc(0), Buffer.from(content)),
      ...(executable && { mode: 0o755 }),
    }
    return { path, op: 'add', added: lines.length, removed: 0 }
  }
  if (section.op === 'delete') {
    const file = await view.going(path)
    const removed = countLines(file.now.changes.bytes)
    delete (file as FileView).now
    return { path, op: 'delete', added: 0, removed }
  }
  const { to, hunks, executable } = section
  const file = await (to === undefined ? view.text(path) : view.going(path))
  const { spans, added, removed, fuzzy } = place(path, file.now.changes.bytes, hunks)
  file.now.changes.replace(spans)
  if (executable !== undefined) file.now.mode = withExecution(file.now.mode ?? 0o644, executable)
  notices.push(
    ...fuzzy.map(({ line, pass }) => ({
      code: 'VT_PATCH_FUZZY',
      message: `'${path}' line ${line} matched only with ${passNames[pass]} ignored.`,
    })),
  )
  const change = { path, op: 'update' as const, hunks: hunks.length, added, removed }
  if (to === undefined) return change
  const target = await view.free(to)
  target.now = {
    changes: new Changes(Buffer.alloc(0), file.now.changes.bytes),
    ...(file.now.mode !== undefined && { mode: file.now.mode }),
  }
  delete (file as FileView).now
  return { ...change, op: 'move', to }
}

/** The mode with the right to execute for whoever may read, or for nobody. */
const withExecution = (mode: number, executable: boolean): number =>
  executable ? mode | ((mode & 0o444) >> 2) : mode & ~0o111

/** Writes everything at once, kept for undo. */
async function commit(call: Call<any>, context: Context, files: FileView[]): Promise<Notice[]> {
  const { workspace, session } = context
  const steps = await Promise.all(
    files.map(async (file) => stepOf(file, await findMissingParents(file.path, workspace))),
  )
  const written = await recordChange(call, context, steps, () => workspace.transact(files.map(operationOf)))
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

function diffOfFile({ path, target, now }: FileView): string {
  if (target && now && now.changes.before === target.bytes) return diffChanges(path, now.changes, room)
  return (
    diffTexts(path, target?.bytes ?? Buffer.alloc(0), now?.changes.bytes ?? Buffer.alloc(0), room) ??
    `[${path} is too large for a diff]\n`
  )
}

function lineOf({ op, path, to, added, removed }: Change): string {
  if (op === 'add') return `A ${path}`
  if (op === 'delete') return `D ${path}`
  return op === 'move' ? `R ${path} -> ${to}` : `M ${path} (+${added} -${removed})`
}
