import type { Context, Handle, JsonObject } from '../../../core/index.js'
import { createSlotError } from '../../lib/base/index.js'
import { createLineReader } from '../../lib/process/index.js'
import { MAX_PARSED_BYTES, PARSER_MEMORY_BYTES, tooHardToParse } from '../../lib/search/index.js'
import {
  runAstGrep,
  shortenName,
  type OutlineItem,
  type AstGrepEnd,
  type OutlineSubject,
  type Range,
} from '../../lib/syntax/index.js'
import { resolveRules } from './rules.js'

export interface OpenFile extends OutlineSubject {
  handle: Handle
}

/**
 * Outlines open files by the program ast-grep, one run per language because the path of a handle has no extension.
 * Most languages use the rules of this project, the others those of the program.
 */
export async function outlineByProgram(
  context: Context,
  files: OpenFile[],
  failed: string[],
): Promise<Map<string, OutlineItem[]> | undefined> {
  const made = new Map<string, OutlineItem[]>()
  const byLanguage = new Map<string, OpenFile[]>()
  for (const file of files) byLanguage.set(file.language.id, [...(byLanguage.get(file.language.id) ?? []), file])
  const seconds = context.host.timeouts.engine / 1000
  let hasInvalidLine = false
  const answers = await Promise.all(
    [...byLanguage].map(async ([language, group]) => {
      const { rules, settle } = resolveRules(language)
      const sizes = new Map(group.map(({ handle }) => [handle.ref, handle.stat.bytes]))
      const stream = createLineReader((line) => {
        const record = parseRecord(line, sizes)
        if (record) made.set(record.path, settle(record.items.filter(isDeclaration).map(toItem)))
        else if (line.length > 0) hasInvalidLine = true
      }, 268_435_456)
      // For one file more threads only cost their start.
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
      failed.push(...parseErrors(answered?.stderr ?? '', group))
      return answered
    }),
  )
  if (hasInvalidLine || answers.some((answered) => answered?.exit_code !== 0)) return undefined
  // Without an answer for any file the next engine answers. Empty files have no outline.
  const areEmpty = files.every(({ handle }) => handle.stat.bytes === 0)
  return made.size > 0 || areEmpty || failed.length > 0 ? made : undefined
}

/** Throws if the program was too slow or used too much memory. */
function requireEnd(answered: AstGrepEnd, [first, ...others]: readonly OpenFile[], seconds: number): void {
  const { overLimit, timed_out } = answered
  if (overLimit || (timed_out && others.length === 0)) throw tooHardToParse(first!.path)
  if (!timed_out) return
  const files = `${others.length + 1} files of ${first!.language.id}`
  throw createSlotError('VT_SEARCH_TIMEOUT', `ast-grep did not finish ${files} within ${seconds} s.`, {
    retryable: true,
  })
}

function parseErrors(stderr: string, files: readonly OpenFile[]): string[] {
  const pathByRef = (ref: string) => files.find(({ handle }) => handle.ref === ref)?.path ?? 'a file'
  return [...stderr.matchAll(/^ERROR: (\S+): (.*)$/gm)].map(([, ref, reason]) => `${pathByRef(ref!)}: ${reason}`)
}

/** Parses a line of the program; `undefined` for an invalid record. */
function parseRecord(
  line: Buffer,
  sizes: ReadonlyMap<string, number>,
): { path: string; items: NativeItem[] } | undefined {
  try {
    const record = JSON.parse(line.toString()) as { path?: unknown; items?: unknown }
    const bytes = typeof record.path === 'string' ? (sizes.get(record.path) ?? Number.MAX_SAFE_INTEGER) : undefined
    return bytes !== undefined && Array.isArray(record.items) && record.items.every((item) => isItem(item, bytes))
      ? (record as { path: string; items: NativeItem[] })
      : undefined
  } catch {
    return undefined
  }
}

/** Returns whether a value is an item, or a member of one, in a file of this size. */
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

/** Returns whether a value is a range in a file of this size. Lines and columns count from 0. */
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

/** Returns whether an item is a declaration: a `struct s` of C without a body is not. */
function isDeclaration({ astKind, signature = '', range: { byteOffset } }: NativeItem): boolean {
  const hasBody = signature.includes('{') || Buffer.byteLength(signature) < byteOffset.end - byteOffset.start
  return hasBody || !['struct_specifier', 'union_specifier', 'enum_specifier', 'class_specifier'].includes(astKind)
}

/** Converts a record of ast-grep; drops keys of later versions. */
function toItem(native: NativeItem): OutlineItem {
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
