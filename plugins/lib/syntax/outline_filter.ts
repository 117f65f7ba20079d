import { problem } from '../../../core/shapes/index.js'
import { slotRefusal } from '../base/index.js'
import type { Outlined, OutlineInput, OutlineItem } from './types.js'

const symbolTypes = [
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

/** What the caller's words leave of a file. Throws VT_INPUT_INVALID, VT_SEARCH_PATTERN. */
export async function filterOf(
  input: OutlineInput,
  single: boolean,
): Promise<(file: Pick<Outlined, 'lang' | 'items'>) => OutlineItem[]> {
  const types = typesIn(input.type)
  const matches = input.match === undefined ? undefined : await regex(input.match)
  const keeps = (item: OutlineItem, role: string): boolean =>
    hasRole(item, role) &&
    (types.size === 0 || types.has(item.kind)) &&
    (!matches || matches(item.name) || matches(item.signature))
  const narrowed = (item: OutlineItem): OutlineItem =>
    input.pub_members ? { ...item, members: item.members.filter((member) => member.isPublic) } : item
  return ({ lang, items }) => {
    // A CommonJS module has no syntax that exports; it shows what it holds.
    const common = lang === 'JavaScript' && !items.some(({ isExported, isImport }) => isExported || isImport)
    const role = input.items !== 'auto' ? input.items : single || common ? 'structure' : 'exports'
    return items.filter((item) => keeps(item, role)).map(narrowed)
  }
}

/** A regular expression that answers in linear time, whatever it is. */
async function regex(pattern: string): Promise<(text: string) => boolean> {
  const { RE2JS } = await import('re2js')
  try {
    const compiled = RE2JS.compile(pattern)
    return (text) => compiled.matcher(text).find()
  } catch (error) {
    throw slotRefusal(
      'VT_SEARCH_PATTERN',
      `'match' ${JSON.stringify(pattern.slice(0, 80))} is no regular expression: ${(error as Error).message.slice(0, 160)}.`,
    )
  }
}

function typesIn(declared: OutlineInput['type'] = []): Set<string> {
  const parts = [declared].flat().flatMap((type) => type.split(','))
  const types = new Set(parts.map((part) => part.replace(/[\s"'[\]]/g, '')).filter(Boolean))
  const strange = [...types].find((type) => !symbolTypes.includes(type))
  if (strange === undefined) return types
  const problem_ = `'type' has '${strange.slice(0, 40)}'; allowed: ${symbolTypes.join(' ')}.`
  throw problem('VT_INPUT_INVALID', { problem: problem_ })
}

function hasRole({ isImport, isExported }: OutlineItem, role: string): boolean {
  if (role === 'all') return true
  if (role === 'exports') return isExported
  return role === 'imports' ? isImport : !isImport
}
