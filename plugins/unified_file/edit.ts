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
import {
  decodeBytes,
  encode,
  detectTextForm,
  restoreCharacters,
  toByteCharacters,
  type TextForm,
} from '../lib/base/index.js'
import {
  Changes,
  createBinaryError,
  createLinesCall,
  createStaleError,
  diffChanges,
  DIFF_LIMITS,
  findStaleFile,
  findLineNumber,
  createLineCounter,
  loadTarget,
  createMissingPathError,
  findNearMatches,
  createReadCall,
  refuseBinary,
  refuseHalfCharacter,
  refuseOtherEncoding,
  replaceFile,
  reportStaleFile,
  type StaleFile,
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
  const changed = findStaleFile(path, target, expected_hash, context)
  const form = detectTextForm(target.bytes)
  const changes = new Changes(toSearchText(target.path, target.bytes, form))
  let replacements = 0
  for (const [index, edit] of edits.entries()) {
    const done = applyToCurrent(changes, edit, path, changed)
    if (typeof done !== 'number')
      return call.input.edits ? { ...done, error: { ...done.error, details: { ...done.error.details, index } } } : done
    replacements += done
  }
  if (changes.bytes.equals(changes.before)) return noChange(path)

  const bytes =
    form.encoding === 'utf-8'
      ? changes.bytes
      : Buffer.concat([target.bytes.subarray(0, form.bom), encode(changes.bytes.toString(), form.encoding)])
  const { hash, resolved, notices } = await replaceFile(call, context, path, target, bytes, changed)
  const [first, last] = [changes.all[0]!, changes.all.at(-1)!]
  const lineOf = createLineCounter(changes.bytes)
  const [first_line, last_line] = [lineOf(first.start), lineOf(Math.max(last.start, last.end - 1))]
  const diff = diffChanges(path, changes, DIFF_LIMITS)
  const report = reportStaleFile(changed)
  const all = [...report.notices, ...notices, ...createLargeNotices(edits)]
  const count = replacements === 1 ? '1 replacement' : `${replacements} replacements${describeLines(changes)}`
  const text = `edited ${visibleLine(path)}:${first_line}-${last_line} (${count})${report.text}`
  const output = {
    path,
    replacements,
    first_line,
    last_line,
    hash,
    ...(resolved !== path && { resolved_path: resolved }),
    diff,
    ...(changed?.diff !== undefined && { diff_since_read: changed.diff }),
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

/** Applies one edit. A file that changed since it was read is refused where the text to replace is another one. */
function applyToCurrent(changes: Changes, edit: Edit, path: string, changed: StaleFile | undefined): number | Failure {
  if (!changed) return applyEdit(changes, edit, path)
  const done = hasOtherOccurrences(edit, changes.before, changed) ? undefined : applyEdit(changes, edit, path)
  if (typeof done === 'number') return done
  const isPlace = !done || done.error.code === 'VT_EDIT_NOT_FOUND' || done.error.code === 'VT_EDIT_NOT_UNIQUE'
  // The read version had the text, or it is unknown whether it had.
  if (done && !(isPlace && countReadOccurrences(edit, changed) !== 0)) return done
  const error = createStaleError(changed).problem
  // Without the read bytes the changed lines are unknown, so the most similar ones are next.
  const next = changed.before ? undefined : done?.error.next
  return { ok: false, error: { ...error, ...(next && { next }) } }
}

/** Counts the occurrences in the read version; `undefined` if it was not kept. */
function countReadOccurrences({ old_str }: Edit, { path, before }: StaleFile): number | undefined {
  return before && findOccurrences(toSearchText(path, before, detectTextForm(before)), old_str).length
}

/** Returns whether `replace_all` would replace text that the caller has not read. */
const hasOtherOccurrences = (edit: Edit, current: Buffer, changed: StaleFile): boolean =>
  edit.replace_all === true &&
  edit.old_str !== '' &&
  findOccurrences(current, edit.old_str).length !== (countReadOccurrences(edit, changed) ?? 1)

/**
 * Returns the content to search in, UTF-16 converted to UTF-8. Throws VT_FILE_BINARY for a file that is not text or
 * cannot be converted back.
 */
function toSearchText(path: string, bytes: FileTarget['bytes'], { encoding, bom }: TextForm): Buffer {
  if (encoding === 'utf-8') {
    refuseBinary(path, bytes)
    return bytes
  }
  const { text, lossy } = decodeBytes(bytes.subarray(bom), encoding)
  if (lossy) throw createBinaryError(path)
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
  const found = findOccurrences(bytes, old_str)
  if (found.length === 0) return notFound(path, bytes, old_str)
  if (found.length > 1 && !replace_all)
    return notUnique(
      path,
      bytes,
      old_str,
      found.map(({ start }) => start),
    )
  refuseOtherEncoding(path, bytes, new_str)
  const places = dropOverlaps(found)
  for (const { start } of places) refuseHalfCharacter(path, bytes, start)
  changes.replace(
    places.map(({ start, end, escapes }) => {
      const text = restoreCharacters(toByteCharacters(convertLineEnds(new_str, bytes, start)), escapes)
      return { start, end, by: Buffer.from(text, 'latin1') }
    }),
  )
  return places.length
}

const noChange = (path: string): Failure =>
  fail('VT_EDIT_NO_CHANGE', `The edit does not change '${path}': 'old_str' and 'new_str' are equal.`)

function notFound(path: string, bytes: Buffer, old: string): Failure {
  const near = findNearMatches(bytes.toString(), old)
  const [best] = near
  const whole = findLineNumber(bytes, bytes.length) <= 400
  const next: Next | undefined = best
    ? createLinesCall(path, best.line_number, best.end_line)
    : whole
      ? createReadCall(path)
      : undefined
  const differs = best?.differs_in.replaceAll('_', ' ')
  const hint = old.includes('\ufffd')
    ? 'Bytes that are not UTF-8 are shown as U+FFFD. Choose an {field:old_str} without this character.'
    : best &&
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
  const next = createLinesCall(path, line_numbers[0]!, Math.min(line_numbers[1]!, line_numbers[0]! + 200))
  const lines = line_numbers.slice(0, 5).join(', ')
  const message = `${quote(old)} occurs ${starts.length} times in '${path}', first in lines ${lines}.`
  return fail('VT_EDIT_NOT_UNIQUE', message, { details: { count: starts.length, line_numbers }, next })
}

const quote = (text: string): string => {
  const line = Array.from(text.split(/\r?\n/).find((one) => one.trim() !== '') ?? text)
  return JSON.stringify(line.length > 60 ? `${line.slice(0, 60).join('')}…` : line.join(''))
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
