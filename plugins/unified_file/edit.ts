import {
  fail,
  ok,
  problem,
  visibleLine,
  type Call,
  type Failure,
  type Handler,
  type Next,
  type Notice,
} from '../../core/index.js'
import { decodeBytes, encode, detectTextForm, type TextForm } from '../lib/base/index.js'
import {
  Changes,
  diffChanges,
  DIFF_LIMITS,
  findLineNumber,
  createLineCounter,
  loadTarget,
  createMissingPathError,
  findNearMatches,
  createReadCall,
  refuseStale,
  replaceFile,
  type FileTarget,
} from '../lib/files/index.js'
import { dropOverlaps, findOccurrences, convertLineEnds } from './edit/match.js'

/** Lines of changes listed in an answer. */
const MAX_PLACES = 16

interface Edit {
  old_str: string
  new_str: string
  replace_all?: boolean
}
interface EditInput extends Partial<Edit> {
  path: string
  edits?: Edit[]
  expected_hash?: string
}

/** `unified_file/edit`: replaces exact pieces of a file, all or none. */
export default (async (call, context) => {
  const { path, expected_hash } = call.input
  const edits = toEdits(call)
  await using _ = await context.workspace.lock([path], context.signal)
  const target = await loadTarget(path, context)
  if (!target) throw await createMissingPathError(path, context)
  refuseStale(path, target, expected_hash, context)
  const form = detectTextForm(target.bytes)
  const changes = new Changes(toSearchText(target, form))
  let replacements = 0
  for (const [index, edit] of edits.entries()) {
    const done = applyEdit(changes, edit, path)
    if (typeof done !== 'number')
      return call.input.edits ? { ...done, error: { ...done.error, details: { ...done.error.details, index } } } : done
    replacements += done
  }
  if (changes.bytes.equals(changes.before)) return noChange(path)

  const bytes =
    form.encoding === 'utf-8'
      ? changes.bytes
      : Buffer.concat([target.bytes.subarray(0, form.bom), encode(changes.bytes.toString(), form.encoding)])
  const { hash, resolved, notices } = await replaceFile(call, context, path, target, bytes)
  const [first, last] = [changes.all[0]!, changes.all.at(-1)!]
  const lineOf = createLineCounter(changes.bytes)
  const [first_line, last_line] = [lineOf(first.start), lineOf(Math.max(last.start, last.end - 1))]
  const diff = diffChanges(path, changes, DIFF_LIMITS)
  const all = [...notices, ...createLargeNotices(edits)]
  const count = replacements === 1 ? '1 replacement' : `${replacements} replacements${describeLines(changes)}`
  const text = `edited ${visibleLine(path)}:${first_line}-${last_line} (${count})`
  const output = {
    path,
    replacements,
    first_line,
    last_line,
    hash,
    ...(resolved !== path && { resolved_path: resolved }),
    diff,
  }
  return ok(output, { text, ...(all.length > 0 && { notices: all }) })
}) satisfies Handler<EditInput>

/** Lists the lines of several changes in the new file, which the caller of `replace_all` does not know. */
function describeLines({ all, bytes }: Changes): string {
  if (all.length === 1) return ''
  const lines = new Set(all.slice(0, MAX_PLACES).map(({ start }) => findLineNumber(bytes, start)))
  return `, in lines ${[...lines].join(', ')}${all.length > MAX_PLACES ? ', …' : ''}`
}

function toEdits({ input, given }: Call<EditInput>): Edit[] {
  const { edits, old_str, new_str, replace_all } = input
  if (!edits) return [{ old_str: old_str!, new_str: new_str!, ...(replace_all && { replace_all }) }]
  const conflicting = ['old_str', 'new_str', 'replace_all'].filter((name) => given[name] !== undefined)
  if (conflicting.length > 0)
    throw problem('VT_INPUT_CONFLICT', { fields: `'edits' and '${conflicting.join("', '")}'` })
  return edits
}

/**
 * Returns the content to search in, UTF-16 converted to UTF-8. Throws VT_FILE_BINARY for UTF-16 that cannot be
 * converted back.
 */
function toSearchText(target: FileTarget, { encoding, bom }: TextForm): Buffer {
  if (encoding === 'utf-8') return target.bytes
  const { text, lossy } = decodeBytes(target.bytes.subarray(bom), encoding)
  if (lossy) throw problem('VT_FILE_BINARY', { path: target.path })
  return Buffer.from(text)
}

/** Applies one edit and returns the number of replacements, or the failure. */
function applyEdit(changes: Changes, { old_str, new_str, replace_all = false }: Edit, path: string): number | Failure {
  if (old_str === '') {
    throw problem(
      'VT_INPUT_INVALID',
      { problem: "'old_str' is empty; there is nothing to find." },
      { hint: 'Use {slot:unified_file/write} for a new file. Use {slot:apply_patch} to insert lines.' },
    )
  }
  if (old_str === new_str) return noChange(path)
  const { bytes } = changes
  const found = findOccurrences(bytes, Buffer.from(old_str))
  if (found.length === 0) return notFound(path, bytes, old_str)
  if (found.length > 1 && !replace_all)
    return notUnique(
      path,
      bytes,
      old_str,
      found.map(({ start }) => start),
    )
  const spans = dropOverlaps(found)
  changes.replace(spans.map((span) => ({ ...span, by: Buffer.from(convertLineEnds(new_str, bytes, span.start)) })))
  return spans.length
}

const noChange = (path: string): Failure =>
  fail('VT_EDIT_NO_CHANGE', `The edit does not change '${path}': 'old_str' and 'new_str' are equal.`)

function notFound(path: string, bytes: Buffer, old: string): Failure {
  const near = findNearMatches(bytes.toString(), old)
  const [best] = near
  const whole = findLineNumber(bytes, bytes.length) <= 400
  const next: Next | undefined = best
    ? createReadCall(path, toWindow(best.line_number, best.end_line, 3))
    : whole
      ? createReadCall(path)
      : undefined
  const differs = best?.differs_in.replaceAll('_', ' ')
  const hint =
    best &&
    `Line ${best.line_number} is most similar and differs in ${differs}. ` +
      'Copy {field:old_str} exactly from a fresh read.'
  return fail('VT_EDIT_NOT_FOUND', `'${path}' does not contain ${quote(old)}.`, {
    details: { near },
    ...(next && { next }),
    ...(hint && { hint }),
  })
}

function notUnique(path: string, bytes: Buffer, old: string, starts: number[]): Failure {
  const line_numbers = starts.slice(0, 20).map((start) => findLineNumber(bytes, start))
  const next = createReadCall(path, toWindow(line_numbers[0]!, Math.min(line_numbers[1]!, line_numbers[0]! + 200), 3))
  const lines = line_numbers.slice(0, 5).join(', ')
  const message = `${quote(old)} occurs ${starts.length} times in '${path}', first in lines ${lines}.`
  return fail('VT_EDIT_NOT_UNIQUE', message, { details: { count: starts.length, line_numbers }, next })
}

const quote = (text: string): string => {
  const line = Array.from(text.split(/\r?\n/).find((one) => one.trim() !== '') ?? text)
  return JSON.stringify(line.length > 60 ? `${line.slice(0, 60).join('')}…` : line.join(''))
}

const toWindow = (first: number, last: number, margin: number) => {
  const offset_lines = Math.max(1, first - margin)
  return { offset_lines, page_size_lines: last + margin - offset_lines + 1 }
}

function createLargeNotices(edits: Edit[]): Notice[] {
  const lines = Math.max(...edits.map(({ old_str }) => old_str.replace(/\n$/, '').split('\n').length))
  return lines > 200
    ? [
        {
          code: 'VT_EDIT_LARGE',
          message: `An edit replaced ${lines} lines; use a patch or write the whole file for such changes.`,
        },
      ]
    : []
}
