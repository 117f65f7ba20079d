import { resolve } from 'node:path'
import { fail, type PreparedCall, type Result } from '../../../core/shapes/index.js'
import { withTimeout } from '../../../core/system/index.js'
import { listPatchedPaths } from '../../../core/input/index.js'
import type { CallOptions, Kernel } from '../../../core/index.js'
import { readWorkspaceText } from '../../lib/intents/index.js'
import { addNotes, readTextPart, type ReadInput } from '../../lib/reading/index.js'

/** Returns the text of the editor's buffer for an absolute path. Contract: rejects if there is none. */
export type ReadBuffer = (path: string) => Promise<unknown>

/** The largest file whose buffer is compared, in bytes. */
const MAX_BUFFER_BYTES = 4 * 1024 * 1024
/** Time that an editor has to return a buffer, in milliseconds. */
const BUFFER_TIMEOUT_MS = 3_000

/**
 * Makes the calls of an agent with the unsaved buffers of an editor in view: a read of a file returns the text of its
 * buffer, and a change of a file whose buffer differs from the disk is refused, because it would be lost in the editor
 * or on disk. Paths are confined first: the editor is asked only for files that the workspace can read.
 */
async function callWithBuffers(
  kernel: Kernel,
  readBuffer: ReadBuffer,
  prepared: PreparedCall,
  call: () => Promise<Result>,
): Promise<Result> {
  const { slot, effects, input } = prepared
  const { path } = input
  if (effects.includes('write') && !effects.includes('exec')) {
    for (const one of listChangedPaths(input)) {
      if ((await findUnsavedText(kernel, readBuffer, one)) === undefined) continue
      return fail('VT_FILE_STALE', `'${one}' has unsaved changes in the editor. Nothing was changed.`, {
        hint: 'Ask the user to save it first, then read it again.',
        details: { path: one },
      })
    }
  }
  const result = await call()
  if (!result.ok || slot.slot !== 'unified_file/read' || typeof path !== 'string') return result
  const unsaved = await findUnsavedText(kernel, readBuffer, path)
  return unsaved === undefined ? result : showUnsaved(result, unsaved, input)
}

const listChangedPaths = (input: PreparedCall['input']): string[] => [
  ...new Set(
    [input['path'], input['to'], input['destination'], ...listPatchedPaths(input).map((one) => one.path)].filter(
      (one): one is string => typeof one === 'string' && one !== '',
    ),
  ),
]

/** Returns the text of a buffer that differs from the file on disk. */
async function findUnsavedText(kernel: Kernel, readBuffer: ReadBuffer, path: string): Promise<string | undefined> {
  const saved = await readWorkspaceText(kernel, path, MAX_BUFFER_BYTES)
  if (saved === undefined) return undefined
  const text = await readInTime(readBuffer(resolve(kernel.workspace, path)))
  return text === undefined || normalize(text) === normalize(saved) ? undefined : text
}

/** Compares as editors do, whose buffers have neither a byte order mark nor the line ends of the disk. */
const normalize = (text: string): string =>
  text
    .replace(/^\ufeff/, '')
    .replaceAll('\r\n', '\n')
    .replace(/\n$/, '')

/** Returns the text in the answer of an editor; `undefined` for a late, wrong or too large one. */
async function readInTime(answer: Promise<unknown>): Promise<string | undefined> {
  const late = () => new Error('The editor does not answer.')
  const found = (await withTimeout(answer, BUFFER_TIMEOUT_MS, late).catch(() => {})) as
    | { content?: unknown }
    | undefined
  const text = found?.content
  return typeof text === 'string' && text.length <= MAX_BUFFER_BYTES ? text : undefined
}

/** Replaces the text of a read by that of the buffer, for the part that the call names. */
async function showUnsaved(result: Result & { ok: true }, text: string, input: PreparedCall['input']): Promise<Result> {
  const part = await readTextPart(text, input as unknown as ReadInput)
  if (!part) return result
  const notice = {
    code: 'VT_FILE_UNSAVED',
    message: 'The text is the unsaved buffer of the editor. Changes are refused until the user saves the file.',
  }
  return {
    ...result,
    output: { path: result.output['path'], ...part.output },
    text: addNotes(part.shown, [`[unsaved text of the editor: ${part.range}]`]),
    notices: [...(result.notices ?? []), notice],
  }
}

/** Creates the component that executes the calls of an agent; `findReader` returns nothing if there are no buffers. */
export const createExecution = (kernel: Kernel, findReader: () => ReadBuffer | undefined) => ({
  run: (name: string, input: unknown, options: CallOptions, prepared?: PreparedCall): Promise<Result> => {
    const readBuffer = findReader()
    const call = () => (prepared ? kernel.call(prepared, options) : kernel.call(name, input, options))
    return readBuffer && prepared ? callWithBuffers(kernel, readBuffer, prepared, call) : call()
  },
})
