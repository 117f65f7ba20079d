import {
  ok,
  type Call,
  type Context,
  type Effect,
  type Handler,
  type Mode,
  type Schema,
  type SlotInfo,
} from '../../core/index.js'
import { pluralize } from '../lib/base/index.js'
import { fenced } from '../lib/net/index.js'
import { fieldLines } from './tools/fields.js'
import { rankDocuments, type Document } from './tools/rank.js'

/** How many of those that were found by words say their fields. */
const FEW = 3

interface Input {
  keyword: string
  detail_level: 'name-only' | 'name' | 'name-and-description' | 'name_description' | 'full'
  max_results: number
}
interface Found {
  tool: string
  action?: string
  source: 'slot' | 'alias' | 'mcp' | 'skill'
  available: boolean
  description?: string
  input?: Schema
  effects?: readonly Effect[]
  plugin?: string
  /** What says who brought it. */
  about?: string
}

/** Finds tools, actions, aliases, MCP tools and skills by words, all in one ranking. */
export default ((call, context) => {
  const { keyword, detail_level, max_results } = call.input
  const all = [...context.host.slots().map((slot) => slotDocument(slot, call)), ...skillDocuments(context)]
  const exact = all.filter(({ name }) => name === keyword).map(({ subject }) => subject)
  const ranked =
    keyword === '*'
      ? all.sort((a, b) => (a.name < b.name ? -1 : 1)).map(({ subject }) => subject)
      : rankDocuments(all, keyword)
  const found = [...new Set([...exact, ...ranked])]
  const tools = found.slice(0, max_results).map((one) => shown(one, detail_level))
  const output = { tools, total: found.length, truncated: tools.length < found.length }
  const brief = detail_level.startsWith('name-o') || detail_level === 'name'
  // What was asked for by its name, and the best of what was found, can be called at once.
  const told = (one: Found, at: number) =>
    !brief && (detail_level === 'full' || (keyword !== '*' && (exact.length > 0 || at < FEW)))
  const listed = exact.length > 0 ? exact : found.slice(0, max_results)
  const detailOf = (one: Found, at: number) => (brief ? 'brief' : told(one, at) ? 'full' : 'usual')
  const lines = listed.slice(0, max_results).flatMap((one, at) => toolLines(one, detailOf(one, at)))
  const first = new Set((exact.length > 0 ? exact : found.slice(0, FEW)).flatMap(({ about }) => about ?? []))
  const abouts = brief ? [] : [...first].map((about) => fenced('who brings these tools', about))
  const count = `${listed.length} of ${pluralize(found.length, 'tool')}`
  return ok(output, { text: [...lines, ...abouts, count].join('\n') })
}) satisfies Handler<Input>

function toolLines(tool: Found, detail: 'brief' | 'usual' | 'full'): string[] {
  const { source, available, description, input } = tool
  const name = tool.action ? `${tool.tool} ${tool.action}` : tool.tool
  const marks = `${source === 'slot' ? '' : ` (${source})`}${available ? '' : ' (not in this mode)'}`
  if (detail === 'brief') return [`- ${name}${marks}`]
  if (detail === 'usual') return [`- ${name}${marks}: ${description?.split('\n', 1)[0]}`]
  return [`- ${name}${marks}: ${description}`, ...(input ? fieldLines(input) : [])]
}

function slotDocument(
  { slot, tool, action, description, input, effects, dialect, chain, about }: SlotInfo,
  { mode }: Call,
): Document<Found> {
  const source = dialect ? 'alias' : tool.startsWith('mcp__') ? 'mcp' : 'slot'
  const subject: Found = {
    tool,
    ...(action !== undefined && { action }),
    source,
    available: effects.every((effect) => possible(mode, effect)),
    description,
    input,
    effects,
    ...(chain[0] !== undefined && { plugin: chain[0] }),
    ...(about !== undefined && { about }),
  }
  return {
    subject,
    name: slot,
    fields: [
      { text: slot.replaceAll('_', ' '), weight: 3 },
      { text: slot, weight: 3 },
      { text: description, weight: 1 },
    ],
  }
}

/** Whether a mode lets an effect happen at all, be it after a question. */
const possible = (mode: Mode, effect: Effect): boolean =>
  mode !== 'plan' || effect === 'read' || effect === 'ask' || effect === 'net'

const skillDocuments = ({ host }: Context): Document<Found>[] =>
  host.skills().catalogue.map(({ name, description }) => ({
    subject: { tool: name, source: 'skill', available: true, description },
    name,
    fields: [
      { text: name.replaceAll('-', ' '), weight: 3 },
      { text: description, weight: 1 },
    ],
  }))

function shown(
  { tool, action, source, available, description, about: _, ...more }: Found,
  detail: Input['detail_level'],
): Found {
  const name = { tool, ...(action !== undefined && { action }), source, available }
  if (detail === 'name-only' || detail === 'name') return name
  const described = { ...name, ...(description !== undefined && { description }) }
  return detail === 'full' ? { ...described, ...more } : described
}
