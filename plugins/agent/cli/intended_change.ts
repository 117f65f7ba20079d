import { resolve } from 'node:path'
import type { Kernel } from '../../../core/contract/index.js'
import { openWorkspace } from '../../../core/workspace/index.js'
import type { JsonObject } from '../../../core/shapes/index.js'
import { truncateLine } from '../../../core/text/index.js'

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

const EDIT_SLOTS = ['unified_file/edit', 'unified_file/write']
const count = (text: string, mark: RegExp): number => text.split('\n').filter((line) => mark.test(line)).length

/** Formats the question about a call: "Run `npm test`?", "Edit src/a.js? (+1 −1)", else "Call tool/action?". */
export function formatQuestion(slot: string, input: JsonObject): string {
  const { command, path } = input
  if (slot === 'unified_exec/run' && typeof command === 'string') return `Run \`${truncateLine(command, 80)}\`?`
  const diff = EDIT_SLOTS.includes(slot) ? buildIntendedDiff(input) : undefined
  if (diff === undefined || typeof path !== 'string') return `Call ${slot}?`
  const [added, removed] = [count(diff, /^\+(?!\+\+ )/), count(diff, /^-(?!-- )/)]
  return `${slot === 'unified_file/write' ? 'Write' : 'Edit'} ${truncateLine(path, 80)}? (+${added} −${removed})`
}

/** Applies the replacements of an edit to a text; `undefined` where one has no place. */
function applyIntendedEdits(text: string, fields: JsonObject): string | undefined {
  const { edits = [fields] } = fields as { edits?: unknown }
  let result: string | undefined = text
  for (const { old_str, new_str, replace_all } of Array.isArray(edits) ? (edits as JsonObject[]) : []) {
    if (result === undefined || typeof old_str !== 'string' || typeof new_str !== 'string' || !result.includes(old_str))
      return undefined
    result = replace_all === true ? result.replaceAll(old_str, () => new_str) : result.replace(old_str, () => new_str)
  }
  return result
}

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

/** Plans the change of a whole file; `undefined` if the call makes none, or one of a text over the limit. */
export async function planChange(
  kernel: Kernel,
  slot: string,
  fields: JsonObject,
  max_bytes: number,
): Promise<IntendedChange | undefined> {
  const { path } = fields
  if (typeof path !== 'string' || !EDIT_SLOTS.includes(slot)) return undefined
  const oldText = await readWorkspaceText(kernel, path, max_bytes)
  const newText =
    slot === 'unified_file/write' ? planWrite(oldText, fields) : oldText && applyIntendedEdits(oldText, fields)
  if (typeof newText !== 'string' || newText.length > max_bytes) return undefined
  const line = findFirstChangedLine(oldText ?? '', newText)
  return { path: resolve(kernel.workspace, path), oldText, newText, line }
}

/** Returns the text of a file after a write; `undefined` if the write leaves it unchanged. */
function planWrite(oldText: string | undefined, { mode, content }: JsonObject): unknown {
  if (oldText === undefined || typeof content !== 'string') return content
  return mode === 'append' ? oldText + content : mode === 'skip_if_exists' ? undefined : content
}
