import { resolve } from 'node:path'
import type { ToolCallContent, ToolCallLocation, ToolKind } from '@agentclientprotocol/sdk'
import { isObject, type Effect, type JsonObject } from '../../../core/shapes/index.js'
import { listPatchedPaths } from '../../../core/input/index.js'
import type { Kernel } from '../../../core/index.js'
import { describeInput } from '../../agent/cli/index.js'
import { buildIntendedDiff, planChange, type IntendedChange } from '../../lib/intents/index.js'
import { fenceBlock, printable, toOneLine } from '../../lib/terminal/index.js'

/** A call of a tool in the terms of an editor. */
export interface EditorCall {
  title: string
  kind: ToolKind
  content: ToolCallContent[]
  locations: ToolCallLocation[]
  rawInput: unknown
}

/** The largest file whose old and new text are sent, in bytes. */
const MAX_DIFF_BYTES = 1024 * 1024
const MAX_TEXT_CHARACTERS = 20_000

/** The kinds of the slots whose effects do not show them. */
const SLOT_KINDS: Readonly<Record<string, ToolKind>> = {
  'unified_file/delete': 'delete',
  'unified_file/move': 'move',
  'unified_file/read': 'read',
  'unified_file/inspect': 'read',
  propose_plan: 'switch_mode',
}

export function chooseKind(slot: string, effects: readonly Effect[]): ToolKind {
  const known = SLOT_KINDS[slot]
  if (known) return known
  if (slot.startsWith('task_tracker/')) return 'think'
  if (effects.includes('exec')) return 'execute'
  if (effects.includes('net')) return 'fetch'
  if (effects.includes('write')) return 'edit'
  return effects.includes('read') ? 'search' : 'other'
}

export const toTextContent = (text: string): ToolCallContent => ({
  type: 'content',
  content: { type: 'text', text: printable(truncate(text)) },
})
const toDiffContent = ({ path, oldText, newText }: IntendedChange): ToolCallContent => ({
  type: 'diff',
  path,
  oldText: oldText ?? null,
  newText,
})
const truncate = (text: string): string =>
  text.length <= MAX_TEXT_CHARACTERS
    ? text
    : `${text.slice(0, MAX_TEXT_CHARACTERS)}\n… ${text.length - MAX_TEXT_CHARACTERS} characters more`

interface DescribedCall {
  slot: string
  input: unknown
  effects: readonly Effect[]
  name?: string
  /** The call was made earlier, so that the files show no longer what it changed. */
  isPast?: boolean
}

/** Describes a call for an editor: its exact command, change or address, and the places that it concerns. */
export async function describeForEditor(
  kernel: Kernel,
  { slot, input, effects, name = slot, isPast = false }: DescribedCall,
): Promise<EditorCall> {
  const fields: JsonObject = isObject(input) ? input : {}
  const change = isPast ? undefined : await planChange(kernel, slot, fields, MAX_DIFF_BYTES)
  return {
    title: createTitle(name, fields),
    kind: chooseKind(slot, effects),
    content: change ? [toDiffContent(change)] : describeFields(fields),
    locations: change ? [{ path: change.path, line: change.line }] : listLocations(kernel, fields),
    rawInput: input,
  }
}

/** Creates the title: the command itself, else the tool with its action and main field. */
const createTitle = (name: string, { command, ...fields }: JsonObject): string =>
  typeof command === 'string' ? toOneLine(command) : toOneLine(`${name} ${describeInput(fields)}`.trim()).slice(0, 200)

function describeFields(fields: JsonObject): ToolCallContent[] {
  const { command, url } = fields
  if (typeof command === 'string') return [toTextContent(fenceBlock('sh', `$ ${command}`))]
  if (typeof url === 'string') return [toTextContent(url)]
  const diff = buildIntendedDiff(fields)
  return diff ? [toTextContent(fenceBlock('diff', diff))] : []
}

function listLocations({ workspace }: Kernel, fields: JsonObject): ToolCallLocation[] {
  const { path, paths, offset_lines: line } = fields
  const found = [
    path,
    ...(Array.isArray(paths) ? (paths as unknown[]) : []),
    ...listPatchedPaths(fields).map((one) => one.path),
  ]
  return found.flatMap((one) =>
    typeof one === 'string' && one !== ''
      ? [{ path: resolve(workspace, one), ...(typeof line === 'number' && line > 0 && { line }) }]
      : [],
  )
}
