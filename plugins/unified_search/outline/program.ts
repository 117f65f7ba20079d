import type { Context, Handle, JsonObject } from '../../../core/index.js'
import { createSlotError } from '../../lib/base/index.js'
import { lines } from '../../lib/process/index.js'
import { MAX_PARSED_BYTES, PARSER_MEMORY_BYTES, tooHardToParse } from '../../lib/search/index.js'
import {
  runAstGrep,
  languageByName,
  writeScriptRules,
  shortenName,
  removeMarks,
  type OutlineItem,
  type AstGrepEnd,
  type OutlineSubject,
  type Range,
} from '../../lib/syntax/index.js'

export interface Opened extends OutlineSubject {
  handle: Handle
}

/**
 * Asks ast-grep's program about open files, by language because a handle's name has no extension. Scripts are outlined
 * by our rules, other languages by those of the program.
 */
export async function askProgram(
  context: Context,
  files: Opened[],
  failed: string[],
): Promise<Map<string, OutlineItem[]> | undefined> {
  const made = new Map<string, OutlineItem[]>()
  const byLanguage = new Map<string, Opened[]>()
  for (const file of files) byLanguage.set(file.language.id, [...(byLanguage.get(file.language.id) ?? []), file])
  const seconds = context.host.waits.engine / 1000
  let isNonsense = false
  const answers = await Promise.all(
    [...byLanguage].map(async ([language, group]) => {
      const { rules, settle } = rulesFor(language)
      const sizes = new Map(group.map(({ handle }) => [handle.ref, handle.stat.bytes]))
      const stream = lines((line) => {
        const said = recordIn(line, sizes)
        if (said) made.set(said.path, settle(said.items.filter(isDeclaration).map(itemOf)))
        else if (line.length > 0) isNonsense = true
      }, 268_435_456)
      // For one file the threads would only be started.
      const threads = group.length === 1 ? ['--threads=1'] : []
      const args = [
        'outline',
        ...rules,
        ...threads,
        '--json=stream',
        '--view',
        'expanded',
        '--items',
        'all',
        '--color',
        'never',
        '--lang',
        language,
        '--',
        ...group.map(({ handle }) => handle.ref),
      ]
      const limited = group.some(({ handle }) => handle.stat.bytes > MAX_PARSED_BYTES) && {
        resident: PARSER_MEMORY_BYTES,
      }
      const answered = await runAstGrep(context, args, { cwd: '/', seconds, ...limited }, stream.take)
      if (answered) requireEnd(answered, group, seconds)
      failed.push(...errorsIn(answered?.stderr ?? '', group))
      return answered
    }),
  )
  if (isNonsense || answers.some((answered) => answered?.exit_code !== 0)) return undefined
  // A program without an answer for any file outlined nothing, so that the next engine answers. Empty files have none.
  const areEmpty = files.every(({ handle }) => handle.stat.bytes === 0)
  return made.size > 0 || areEmpty || failed.length > 0 ? made : undefined
}

function rulesFor(language: string): { rules: string[]; settle: (items: OutlineItem[]) => OutlineItem[] } {
  const file = writeScriptRules(languageByName(language)!)
  if (file === undefined) return { rules: [], settle: (items) => items }
  return { rules: ['--no-default-outline-rules', '--outline-rules', file], settle: removeMarks }
}

/** Throws where the program was too slow or took too much memory. */
function requireEnd(answered: AstGrepEnd, [first, ...others]: readonly Opened[], seconds: number): void {
  const { overburdened, timed_out } = answered
  if (overburdened || (timed_out && others.length === 0)) throw tooHardToParse(first!.path)
  if (!timed_out) return
  const files = `${others.length + 1} files of ${first!.language.id}`
  throw createSlotError('VT_SEARCH_TIMEOUT', `ast-grep did not finish ${files} within ${seconds} s.`, {
    retryable: true,
  })
}

function errorsIn(stderr: string, files: readonly Opened[]): string[] {
  const pathOf = (ref: string) => files.find(({ handle }) => handle.ref === ref)?.path ?? 'a file'
  return [...stderr.matchAll(/^ERROR: (\S+): (.*)$/gm)].map(([, ref, reason]) => `${pathOf(ref!)}: ${reason}`)
}

/** A line of the program as a record; nothing where it cannot be about our file. */
function recordIn(line: Buffer, sizes: ReadonlyMap<string, number>): { path: string; items: NativeItem[] } | undefined {
  try {
    const said = JSON.parse(line.toString()) as { path?: unknown; items?: unknown }
    const bytes = typeof said.path === 'string' ? (sizes.get(said.path) ?? Number.MAX_SAFE_INTEGER) : undefined
    return bytes !== undefined && Array.isArray(said.items) && said.items.every((item) => isItem(item, bytes))
      ? (said as { path: string; items: NativeItem[] })
      : undefined
  } catch {
    return undefined
  }
}

/** Whether this is an item, or a member of one, in a file of so many bytes. */
function isItem(value: unknown, bytes: number): boolean {
  if (
    !isObject(value) ||
    !['role', 'symbolType', 'name'].every((name) => typeof value[name] === 'string') ||
    !isRange(value['range'], bytes)
  )
    return false
  const { members = [] } = value
  return Array.isArray(members) && members.every((member) => isItem(member, bytes))
}

/** Lines and columns count from 0, so that none is above the number of bytes. */
function isRange(value: unknown, bytes: number): boolean {
  const { byteOffset, start, end } = (isObject(value) ? value : {}) as Partial<Range>
  const isOffset = isCount(byteOffset?.start, 0, bytes) && isCount(byteOffset?.end, byteOffset!.start, bytes)
  return (
    isOffset &&
    isCount(start?.line, 0, bytes) &&
    isCount(end?.line, start!.line, bytes) &&
    isCount(start?.column, 0, bytes) &&
    isCount(end?.column, 0, bytes)
  )
}

const isObject = (value: unknown): value is JsonObject => typeof value === 'object' && value !== null

const isCount = (value: unknown, least: number, most: number): boolean =>
  Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most

interface NativeMember {
  role: string
  symbolType: string
  name: string
  range: Range
  signature?: string
  isPublic?: boolean
}
interface NativeItem extends NativeMember {
  astKind: string
  isImport?: boolean
  isExported?: boolean
  members?: NativeMember[]
}

/** Whether this is a declaration: a `struct s` of C without a body is none. */
function isDeclaration({ astKind, signature = '', range: { byteOffset } }: NativeItem): boolean {
  const hasBody = signature.includes('{') || Buffer.byteLength(signature) < byteOffset.end - byteOffset.start
  return hasBody || !['struct_specifier', 'union_specifier', 'enum_specifier', 'class_specifier'].includes(astKind)
}

/** ast-grep's record in our words; keys of later versions are dropped. */
function itemOf(native: NativeItem): OutlineItem {
  return {
    role: native.role,
    kind: native.symbolType,
    name: shortenName(native.name),
    signature: native.signature ?? '',
    astKind: native.astKind,
    isImport: native.isImport ?? false,
    isExported: native.isExported ?? false,
    line_number: native.range.start.line + 1,
    end_line: native.range.end.line + 1,
    range: native.range,
    members: (native.members ?? []).map(({ role, symbolType, name, signature, isPublic, range }) => ({
      role,
      kind: symbolType,
      name: shortenName(name),
      signature: signature ?? '',
      isPublic: isPublic ?? false,
      line_number: range.start.line + 1,
    })),
  }
}
