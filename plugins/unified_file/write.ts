import { fail, ok, problem, visibleLine, type Call, type Handler, type Notice, type Result } from '../../core/index.js'
import { decodeBytes, pluralize, detectTextForm, shortenHash, toUtf8 } from '../lib/base/index.js'
import {
  countLines,
  DIFF_LIMITS,
  diffTexts,
  encodeAddition,
  encodeReplacement,
  findLineEnds,
  loadTarget,
  createReadCall,
  refuseStale,
  replaceFile,
  reportStaleFile,
  type FileTarget,
} from '../lib/files/index.js'

type Mode = 'fail_if_exists' | 'overwrite' | 'append' | 'skip_if_exists'
interface WriteInput {
  path: string
  content: string
  mode: Mode
  overwrite?: boolean
  expected_hash?: string
}

const MAX_CONTENT_BYTES = 3 * 1024 * 1024
const VERBS = { fail_if_exists: 'created', overwrite: 'overwrote', append: 'appended', skip_if_exists: 'created' }

/** `unified_file/write`: writes a whole file or appends to it. */
export default (async (call, context) => {
  const { path, content, expected_hash } = call.input
  const mode = resolveMode(call)
  const size = Buffer.byteLength(content)
  if (size > MAX_CONTENT_BYTES)
    throw problem('VT_INPUT_TOO_LARGE', { size: `${size} bytes of content`, limit: `${MAX_CONTENT_BYTES} bytes` })
  await using _ = await context.workspace.lock([path], context.signal)
  const target = await loadTarget(path, context)
  const kept = target && keepExisting(call, target, mode)
  if (kept) return kept
  const changed =
    target || expected_hash
      ? refuseStale(path, target, expected_hash, context, { allowGrowth: mode === 'append' })
      : undefined
  const { bytes, written } = encodeContent(path, content, mode, target?.bytes)
  const { hash, resolved, notices } = await replaceFile(call, context, path, target, bytes, changed)
  const diff = diffTexts(path, toUtf8(target?.bytes ?? Buffer.alloc(0)), toUtf8(bytes), DIFF_LIMITS)
  const rest = {
    hash,
    ...(resolved !== path && { resolved_path: resolved }),
    ...(diff && { diff }),
    ...(changed?.diff !== undefined && { diff_since_read: changed.diff }),
  }
  const answer = createOutput(call, target, mode, bytes, written, rest)
  const report = reportStaleFile(changed)
  const all = [...report.notices, ...notices, ...createEolNotices(path, target, bytes)]
  const sizes = `${pluralize(answer.total_lines, 'line')}, ${pluralize(bytes.length, 'byte')}`
  const text = `${target ? VERBS[mode] : 'created'} ${visibleLine(path)} (${sizes})${report.text}`
  return ok(answer, { text, ...(all.length > 0 && { notices: all }) })
}) satisfies Handler<WriteInput>

/** Returns the new bytes of the file, and how many of them the call writes. An existing file keeps its form. */
function encodeContent(path: string, content: string, mode: Mode, old: Buffer | undefined) {
  if (!old || old.length === 0) {
    const bytes = Buffer.from(content)
    return { bytes, written: bytes.length }
  }
  const added = mode === 'append' ? encodeAddition(path, content, old) : encodeReplacement(path, content, old)
  return { bytes: mode === 'append' ? Buffer.concat([old, added]) : added, written: added.length }
}

function resolveMode({ input, given }: Call<WriteInput>): Mode {
  if (!input.overwrite) return input.mode
  if (given['mode'] !== undefined && input.mode !== 'overwrite')
    throw problem('VT_INPUT_CONFLICT', { fields: `'overwrite' and 'mode'` })
  return 'overwrite'
}

/** Returns the answer of a mode that leaves an existing file unchanged. */
function keepExisting(call: Call<WriteInput>, target: FileTarget, mode: Mode): Result | undefined {
  const { path } = call.input
  if (mode === 'fail_if_exists') return refuseExisting(path)
  if (mode !== 'skip_if_exists') return undefined
  return ok(createOutput(call, target, mode, target.bytes, 0, { skipped: true }), {
    text: `skipped ${visibleLine(path)}`,
  })
}

const refuseExisting = (path: string): Result =>
  fail('VT_PATH_EXISTS', `'${path}' already exists.`, {
    hint:
      'Give {field:mode}: "overwrite" to replace all of it, "append" to add to its end, ' +
      '"skip_if_exists" to leave it. ' +
      'Change a part of it with {slot:unified_file/edit}.',
    next: createReadCall(path),
  })

function createOutput(
  { input: { path } }: Call<WriteInput>,
  target: FileTarget | undefined,
  mode: Mode,
  bytes: Buffer,
  written: number,
  rest: object,
) {
  const { encoding, bom } = detectTextForm(bytes)
  const lines = countLines(encoding === 'utf-8' ? bytes : Buffer.from(decodeBytes(bytes.subarray(bom), encoding).text))
  const hash = target ? shortenHash(target.version.sha256) : ''
  return { path, mode, created: target === undefined, bytes_written: written, total_lines: lines, hash, ...rest }
}

function createEolNotices(path: string, target: FileTarget | undefined, bytes: Buffer): Notice[] {
  const [before, after] = [target && findLineEnds(target.bytes), findLineEnds(bytes)]
  if (!before || !after || before === after) return []
  return [{ code: 'VT_FILE_EOL_CHANGED', message: `'${path}' had ${before} line ends; it has ${after} now.` }]
}
