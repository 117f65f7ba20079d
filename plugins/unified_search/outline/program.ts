import type { Context, Handle, JsonObject } from '../../../core/index.js'
import { slotRefusal } from '../../lib/base/index.js'
import { lines } from '../../lib/process/index.js'
import { largestParsed, parserMemory, tooHardToParse } from '../../lib/search/index.js'
import {
  astGrep, languageNamed, scriptRulesFile, shownName, unmarkedItems, type OutlineItem, type OutlineSubject, type Range,
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
      const rules = scriptRulesFile(languageNamed(language)!)
      const settle = rules === undefined ? (items: OutlineItem[]) => items : unmarkedItems
      const sizes = new Map(group.map(({ handle }) => [handle.ref, handle.stat.bytes]))
      const stream = lines((line) => {
        const said = recordIn(line, sizes)
        if (said) made.set(said.path, settle(said.items.filter(isDeclaration).map(itemOf)))
        else if (line.length > 0) isNonsense = true
      }, 268_435_456)
      const ruled = rules === undefined ? [] : ['--no-default-outline-rules', '--outline-rules', rules]
      // For one file the threads would only be started.
      const threads = group.length === 1 ? ['--threads=1'] : []
      const args = ['outline', ...ruled, ...threads, '--json=stream', '--view', 'expanded', '--items', 'all', '--color', 'never', '--lang', language, '--', ...group.map(({ handle }) => handle.ref)]
      const limited = group.some(({ handle }) => handle.stat.bytes > largestParsed) && { resident: parserMemory }
      const answered = await astGrep(context, args, { cwd: '/', seconds, ...limited }, stream.take)
      if (answered?.overburdened || (answered?.timed_out && group.length === 1)) throw tooHardToParse(group[0]!.path)
      if (answered?.timed_out) throw slotRefusal('VT_SEARCH_TIMEOUT', `ast-grep did not finish ${group.length} files of ${language} within ${seconds} s.`, { retryable: true })
      for (const [, ref, reason] of answered?.stderr.matchAll(/^ERROR: (\S+): (.*)$/gm) ?? []) {
        failed.push(`${group.find(({ handle }) => handle.ref === ref)?.path ?? 'a file'}: ${reason}`)
      }
      return answered
    }),
  )
  // A program that ends otherwise, or has no word for any file, outlined nothing: whoever is next in line answers. Of empty files it says nothing.
  const ended = !isNonsense && answers.every((answered) => answered?.exit_code === 0)
  return ended && (made.size > 0 || files.every(({ handle }) => handle.stat.bytes === 0) || failed.length > 0) ? made : undefined
}

/** A line of the program as a record; nothing where it is none, or cannot be about our file of that path, of so many bytes. */
function recordIn(line: Buffer, sizes: ReadonlyMap<string, number>): { path: string; items: NativeItem[] } | undefined {
  try {
    const said = JSON.parse(line.toString()) as { path?: unknown; items?: unknown }
    const bytes = typeof said.path === 'string' ? (sizes.get(said.path) ?? Number.MAX_SAFE_INTEGER) : undefined
    return bytes !== undefined && Array.isArray(said.items) && said.items.every((item) => isItem(item, bytes)) ? (said as { path: string; items: NativeItem[] }) : undefined
  } catch {
    return undefined
  }
}

/** Whether this is an item, or a member of one, in a file of so many bytes. */
function isItem(value: unknown, bytes: number): boolean {
  if (!isObject(value) || !['role', 'symbolType', 'name'].every((name) => typeof value[name] === 'string') || !isRange(value['range'], bytes)) return false
  const { members = [] } = value
  return Array.isArray(members) && members.every((member) => isItem(member, bytes))
}

/** Lines and columns count from 0, so that none is above the number of bytes. */
function isRange(value: unknown, bytes: number): boolean {
  const { byteOffset, start, end } = (isObject(value) ? value : {}) as Partial<Range>
  const isOffset = isCount(byteOffset?.start, 0, bytes) && isCount(byteOffset?.end, byteOffset!.start, bytes)
  return isOffset && isCount(start?.line, 0, bytes) && isCount(end?.line, start!.line, bytes) && isCount(start?.column, 0, bytes) && isCount(end?.column, 0, bytes)
}

const isObject = (value: unknown): value is JsonObject => typeof value === 'object' && value !== null

const isCount = (value: unknown, least: number, most: number): boolean => Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most

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

/** Whether this names a thing where it is declared: a `struct s` of C without a body is the use of a type, or one announced. */
function isDeclaration({ astKind, signature = '', range: { byteOffset } }: NativeItem): boolean {
  const hasBody = signature.includes('{') || Buffer.byteLength(signature) < byteOffset.end - byteOffset.start
  return hasBody || !['struct_specifier', 'union_specifier', 'enum_specifier', 'class_specifier'].includes(astKind)
}

/** ast-grep's record in our words; keys of later versions are dropped. */
function itemOf(native: NativeItem): OutlineItem {
  return {
    role: native.role,
    kind: native.symbolType,
    name: shownName(native.name),
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
      name: shownName(name),
      signature: signature ?? '',
      isPublic: isPublic ?? false,
      line_number: range.start.line + 1,
    })),
  }
}
