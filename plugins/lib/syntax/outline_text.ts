import { visibleLine } from '../../../core/text/index.js'
import { cut } from '../base/index.js'
import type { Member, OutlinedFile, OutlineInput, OutlineItem } from './types.js'

/** Bytes of a digest: for each line of a file, and for a short file. */
const DIGEST_BYTES = { per_line: 1.5, least: 300 }
const MAX_SIGNATURE_CHARS = 200

/** Renders the items of a file with their lines, members after their owner. A long digest has no lines of members. */
export function renderOutline({ path, lang }: OutlinedFile, items: OutlineItem[], view: OutlineInput['view']): string {
  const head = `${visibleLine(path)} (${lang})`
  const join = (lines: string[]): string => [head, ...lines].join('\n')
  if (view === 'full') return join(items.flatMap(renderItem))
  if (view === 'names') return join(renderGroups(items, () => ''))
  const text = join(renderGroups(items, ({ members }) => renderMembers(members, toPlace)))
  const lines = Math.max(0, ...items.map(({ end_line }) => end_line))
  if (Buffer.byteLength(text) <= Math.max(DIGEST_BYTES.least, DIGEST_BYTES.per_line * lines)) return text
  return join(renderGroups(items, ({ members }) => renderMembers(members, ({ name }) => name)))
}

const toPlace = ({ name, line_number }: Pick<Member, 'name' | 'line_number'>): string => `${name}:${line_number}`

const renderMembers = (members: Member[], render: (member: Member) => string): string =>
  members.length === 0 ? '' : ` (${members.map(render).join(', ')})`

/** Renders one line for each kind, in the order of first appearance. */
function renderGroups(items: OutlineItem[], renderOwned: (item: OutlineItem) => string): string[] {
  const groups = new Map<string, string[]>()
  for (const item of items) groups.set(item.kind, [...(groups.get(item.kind) ?? []), toPlace(item) + renderOwned(item)])
  return [...groups].map(([kind, names]) => `  ${kind}: ${names.join(', ')}`)
}

function renderItem(item: OutlineItem): string[] {
  const { line_number, end_line, members } = item
  const lines = end_line > line_number ? `${line_number}-${end_line}` : String(line_number)
  return [
    `  ${lines} ${renderSymbol(item)}`,
    ...members.map((member) => `    ${member.line_number} ${renderSymbol(member)}`),
  ]
}

/** Renders the kind and the signature, and the name if the signature lacks it. */
function renderSymbol({ kind, name, signature }: Pick<Member, 'kind' | 'name' | 'signature'>): string {
  const line = cut(signature.replace(/\s*\n\s*/g, ' ').trim(), MAX_SIGNATURE_CHARS).text
  return `${kind}: ${line.includes(name) ? line : [name, line].filter(Boolean).join(' — ')}`
}
