import { problem } from '../../../core/shapes/index.js'
import { createSlotError } from '../base/index.js'
import type { OutlinedFile, OutlineInput, OutlineItem } from './types.js'

const SYMBOL_TYPES = [
  'file',
  'module',
  'namespace',
  'package',
  'class',
  'method',
  'property',
  'field',
  'constructor',
  'enum',
  'interface',
  'function',
  'variable',
  'constant',
  'string',
  'number',
  'boolean',
  'array',
  'object',
  'key',
  'null',
  'enumMember',
  'struct',
  'event',
  'operator',
  'typeParameter',
]

/** Creates the filter of items that the input selects. Throws VT_INPUT_INVALID, VT_SEARCH_PATTERN. */
export async function createItemFilter(
  input: OutlineInput,
  single: boolean,
): Promise<(file: Pick<OutlinedFile, 'lang' | 'items'>) => OutlineItem[]> {
  const types = parseTypes(input.type)
  const matches = input.match === undefined ? undefined : await compileRegex(input.match)
  const isKept = (item: OutlineItem, role: string): boolean =>
    hasRole(item, role) &&
    (types.size === 0 || types.has(item.kind)) &&
    (!matches || matches(item.name) || matches(item.signature))
  const narrowMembers = (item: OutlineItem): OutlineItem =>
    input.pub_members ? { ...item, members: item.members.filter((member) => member.isPublic) } : item
  return ({ lang, items }) => {
    // A CommonJS module has no export syntax, so its structure is shown.
    const common = lang === 'JavaScript' && !items.some(({ isExported, isImport }) => isExported || isImport)
    const role = input.items !== 'auto' ? input.items : single || common ? 'structure' : 'exports'
    return items.filter((item) => isKept(item, role)).map(narrowMembers)
  }
}

/** Compiles a regular expression that runs in linear time. */
async function compileRegex(pattern: string): Promise<(text: string) => boolean> {
  const { RE2JS } = await import('re2js')
  try {
    const compiled = RE2JS.compile(pattern)
    return (text) => compiled.matcher(text).find()
  } catch (error) {
    throw createSlotError(
      'VT_SEARCH_PATTERN',
      `'match' ${JSON.stringify(pattern.slice(0, 80))} is not a valid regular expression: ` +
        `${(error as Error).message.slice(0, 160)}.`,
    )
  }
}

function parseTypes(declared: OutlineInput['type'] = []): Set<string> {
  const parts = [declared].flat().flatMap((type) => type.split(','))
  const types = new Set(parts.map((part) => part.replace(/[\s"'[\]]/g, '')).filter(Boolean))
  const unknownType = [...types].find((type) => !SYMBOL_TYPES.includes(type))
  if (unknownType === undefined) return types
  const problem_ = `'type' has '${unknownType.slice(0, 40)}'; allowed: ${SYMBOL_TYPES.join(' ')}.`
  throw problem('VT_INPUT_INVALID', { problem: problem_ })
}

function hasRole({ isImport, isExported }: OutlineItem, role: string): boolean {
  if (role === 'all') return true
  if (role === 'exports') return isExported
  return role === 'imports' ? isImport : !isImport
}
