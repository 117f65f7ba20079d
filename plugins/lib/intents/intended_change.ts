import { resolve } from 'node:path'
import type { Kernel } from '../../../core/contract/index.js'
import { openWorkspace, type OpenWorkspace } from '../../../core/workspace/index.js'
import type { JsonObject } from '../../../core/shapes/index.js'
import { Changes } from '../files/index.js'
import { parsePatch, placeHunks } from '../patch/index.js'

const prefixLines = (mark: string, text: unknown): string =>
  typeof text === 'string' && text !== ''
    ? text
        .replace(/\n$/, '')
        .split('\n')
        .map((line) => mark + line)
        .join('\n')
    : ''
const formatReplacement = ({ old_str, new_str }: JsonObject): string =>
  [prefixLines('-', old_str), prefixLines('+', new_str)].filter(Boolean).join('\n')

/**
 * Returns the change that a call would make as a diff, or `undefined`. Reads the shape of the input, so tools of
 * plugins work too.
 */
export function buildIntendedDiff(input: unknown): string | undefined {
  const {
    old_str,
    edits,
    patch,
    input: text,
    content,
  } = (typeof input === 'object' && input !== null ? input : {}) as JsonObject
  if (typeof old_str === 'string') return formatReplacement(input as JsonObject)
  if (Array.isArray(edits))
    return edits
      .map((edit: unknown) => (typeof edit === 'object' && edit !== null ? formatReplacement(edit as JsonObject) : ''))
      .filter(Boolean)
      .join('\n@@\n')
  const patched = [patch, text, input].find(
    (one) => typeof one === 'string' && /^(?:\*\*\* Begin Patch|--- |diff )/m.test(one),
  )
  if (patched !== undefined) return patched as string
  return typeof content === 'string' ? prefixLines('+', content) : undefined
}

/** A file that a call changes. */
export interface PlannedFile {
  path: string
  /** `undefined` for a missing file. */
  before: string | undefined
  /** `undefined` for a file that is removed. */
  after: string | undefined
  /** Places of replacements that change all occurrences. */
  replaced?: number
  /** Effects of a patch besides text, such as "deletes src/a.js". */
  notes?: string[]
}

type Read = (path: string) => Promise<string | undefined>

/**
 * Plans the texts of the files that an edit, a write or a patch changes, without a change. Returns `undefined` for
 * other calls, for files over the limit, and for a change that would fail.
 */
export async function planFileChanges(
  kernel: Kernel,
  slot: string,
  fields: JsonObject,
  max_bytes: number,
): Promise<PlannedFile[] | undefined> {
  const workspace = openWorkspace(kernel.workspace, kernel.inspection)
  const read = createReader(workspace, max_bytes)
  try {
    const planned = await planSlot(slot, fields, read)
    const isSmall = planned?.every(({ after = '' }) => Buffer.byteLength(after) <= max_bytes)
    return isSmall ? planned : undefined
  } catch {
    return undefined
  } finally {
    workspace.close()
  }
}

/** Returns a reader of texts that returns `undefined` for a missing file and throws for one that cannot be shown. */
function createReader(workspace: OpenWorkspace, max_bytes: number): Read {
  return async (path) => {
    const stat = await workspace.stat(path)
    return stat === undefined ? undefined : workspace.readText(path, { max_bytes })
  }
}

async function planSlot(slot: string, fields: JsonObject, read: Read): Promise<PlannedFile[] | undefined> {
  const { path } = fields
  if (slot === 'apply_patch' || slot === 'unified_file/patch') return planPatch(fields, read)
  if (typeof path !== 'string') return undefined
  if (slot === 'unified_file/write') {
    const before = await read(path)
    const after = planWrite(before, fields)
    return typeof after === 'string' ? [{ path, before, after }] : undefined
  }
  return slot === 'unified_file/edit' ? planEdits(path, await read(path), fields) : undefined
}

/** Returns the text of a file after a write; `undefined` if the write leaves it unchanged. */
function planWrite(oldText: string | undefined, { mode, content }: JsonObject): unknown {
  if (oldText === undefined || typeof content !== 'string') return content
  return mode === 'append' ? oldText + content : mode === 'skip_if_exists' ? undefined : content
}

/** Applies the replacements of an edit; `undefined` where one has no place. */
function planEdits(path: string, before: string | undefined, fields: JsonObject): PlannedFile[] | undefined {
  const { edits = [fields] } = fields as { edits?: unknown }
  if (before === undefined || !Array.isArray(edits)) return undefined
  let after = before
  let replaced = 0
  for (const { old_str, new_str, replace_all } of edits as JsonObject[]) {
    if (typeof old_str !== 'string' || typeof new_str !== 'string' || old_str === '') return undefined
    const parts = after.split(old_str)
    if (parts.length === 1) return undefined
    if (replace_all === true) replaced += parts.length - 1
    after = replace_all === true ? parts.join(new_str) : after.replace(old_str, () => new_str)
  }
  return [{ path, before, after, ...(replaced > 0 && { replaced }) }]
}

/** Plans a patch: its sections in order, each on the texts that the earlier ones leave. Throws for one that fails. */
async function planPatch({ patch, input }: JsonObject, read: Read): Promise<PlannedFile[] | undefined> {
  const text = patch ?? input
  if (typeof text !== 'string') return undefined
  const files = new Map<string, PlannedFile>()
  const open = async (path: string): Promise<PlannedFile> => {
    const known = files.get(path)
    if (known) return known
    const before = await read(path)
    const file = { path, before, after: before }
    files.set(path, file)
    return file
  }
  for (const section of parsePatch(text)) {
    const file = await open(section.path)
    const note = describeSection(section)
    if (note.length > 0) file.notes = [...(file.notes ?? []), ...note]
    if (section.op === 'add') file.after = joinLines(section.lines, section.newline)
    else if (section.op === 'delete') file.after = undefined
    else {
      const changes = new Changes(Buffer.from(file.after ?? ''))
      changes.replace(placeHunks(section.path, changes.before, section.hunks).spans)
      const target = section.to === undefined ? file : await open(section.to)
      if (target !== file && !section.isCopy) file.after = undefined
      target.after = changes.bytes.toString()
    }
  }
  const changed = [...files.values()].filter(({ before, after, notes }) => before !== after || notes)
  // A patch without a plan is shown as the call gives it.
  return changed.length > 0 ? changed : undefined
}

/** Describes what a section does besides text. */
function describeSection(section: ReturnType<typeof parsePatch>[number]): string[] {
  const { path } = section
  if (section.op === 'delete') return [`deletes ${path}`]
  const to = section.op === 'update' && section.to !== undefined ? section.to : undefined
  const { executable } = section
  return [
    ...(to === undefined ? [] : [`${section.op === 'update' && section.isCopy ? 'copies' : 'moves'} ${path} to ${to}`]),
    ...(executable === true ? [`makes ${to ?? path} executable`] : []),
    ...(executable === false && section.op === 'update' ? [`makes ${to ?? path} no longer executable`] : []),
  ]
}

const joinLines = (lines: readonly string[], ended: boolean): string =>
  lines.length === 0 ? '' : `${lines.join('\n')}${ended ? '\n' : ''}`

/** Finds the first line that differs, 1-based. */
function findFirstChangedLine(before: string, after: string): number {
  const [old, changed] = [before.split('\n'), after.split('\n')]
  const at = changed.findIndex((line, index) => line !== old[index])
  return (at < 0 ? Math.min(old.length, changed.length) - 1 : at) + 1
}

/** Reads a file of the workspace; `undefined` if that is not possible or the file is large. */
export async function readWorkspaceText(kernel: Kernel, path: string, max_bytes: number): Promise<string | undefined> {
  const workspace = openWorkspace(kernel.workspace, kernel.inspection)
  try {
    return await workspace.readText(path, { max_bytes })
  } catch {
    return undefined
  } finally {
    workspace.close()
  }
}

/** The old and new text of the file that a call changes, and the first changed line, from 1. */
export interface IntendedChange {
  path: string
  oldText: string | undefined
  newText: string
  line: number
}

/** Plans the change of one whole file; `undefined` if the call makes none, or one of a text over the limit. */
export async function planChange(
  kernel: Kernel,
  slot: string,
  fields: JsonObject,
  max_bytes: number,
): Promise<IntendedChange | undefined> {
  if (slot !== 'unified_file/edit' && slot !== 'unified_file/write') return undefined
  const [file] = (await planFileChanges(kernel, slot, fields, max_bytes)) ?? []
  if (file?.after === undefined) return undefined
  const { path, before, after } = file
  return {
    path: resolve(kernel.workspace, path),
    oldText: before,
    newText: after,
    line: findFirstChangedLine(before ?? '', after),
  }
}
