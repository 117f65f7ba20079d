import { isObject, type JsonObject } from '../../../core/shapes/index.js'
import { truncateLine } from '../../../core/text/index.js'

const MAX_SUBJECT = 80

/** The verb and the field that names the subject, by slot. */
const ACTIONS: Readonly<Record<string, readonly [verb: string, subject: string]>> = {
  'unified_file/read': ['Read', 'path'],
  'unified_file/edit': ['Edit', 'path'],
  'unified_file/write': ['Write', 'path'],
  'unified_file/delete': ['Delete', 'path'],
  'unified_file/move': ['Move', 'path'],
  'unified_file/copy': ['Copy', 'path'],
  'unified_file/patch': ['Patch', 'path'],
  'unified_exec/run': ['Run', 'command'],
  'unified_exec/code': ['Run code', 'language'],
  'unified_search/list': ['List', 'path'],
  'unified_search/grep': ['Search for', 'pattern'],
  'unified_search/outline': ['Outline', 'path'],
  'unified_search/web': ['Fetch', 'url'],
  web_search: ['Search the web for', 'query'],
  defuddle_fetch: ['Fetch', 'url'],
}

/** Describes a call by what it does: "Edit src/a.js", "Run npm test"; `undefined` for a tool without such words. */
export function formatAction(tool: string, input: unknown): string | undefined {
  const fields: JsonObject = isObject(input) ? input : {}
  const slot = typeof fields['action'] === 'string' && !tool.includes('/') ? `${tool}/${fields['action']}` : tool
  if (slot === 'apply_patch') return formatPatch(fields)
  const [verb, name] = (Object.hasOwn(ACTIONS, slot) ? ACTIONS[slot] : undefined) ?? []
  if (verb === undefined) return undefined
  const subject = fields[name!]
  const words = [subject].flat().filter((one) => typeof one === 'string')
  const to = slot === 'unified_file/move' || slot === 'unified_file/copy' ? fields['destination'] : undefined
  return [verb, cut(words.join(' ')), ...(typeof to === 'string' ? [`to ${cut(to)}`] : [])].filter(Boolean).join(' ')
}

const cut = (text: string): string => truncateLine(text, MAX_SUBJECT)

/** Names the files of a patch by its headers. */
function formatPatch({ input, patch }: JsonObject): string {
  const text = typeof input === 'string' ? input : typeof patch === 'string' ? patch : ''
  const names = [...text.matchAll(/^(?:\*\*\* (?:Add|Update|Delete) File: |\+\+\+ (?:b\/)?)(\S.*)$/gm)].map(
    ([, name]) => name!,
  )
  const [first, ...others] = new Set(names)
  return `Patch ${cut(first ?? '')}${others.length > 0 ? ` and ${others.length} more` : ''}`.trim()
}
