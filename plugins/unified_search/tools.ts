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
import { fenceText } from '../lib/net/index.js'
import { renderFields } from './tools/fields.js'
import { rankDocuments, type Document } from './tools/rank.js'

/** Number of tools found by words that are shown with their fields. */
const DETAILED_COUNT = 3

interface Input {
  keyword: string
  detail_level: 'name-only' | 'name' | 'name-and-description' | 'name_description' | 'full'
  max_results: number
}
interface FoundTool {
  tool: string
  action?: string
  source: 'slot' | 'alias' | 'mcp' | 'skill'
  available: boolean
  description?: string
  input?: Schema
  effects?: readonly Effect[]
  plugin?: string
  /** Text about the provider of the tool. */
  about?: string
}

/** Finds tools, actions, aliases, MCP tools and skills by words, in one ranking. */
export default ((call, context) => {
  const { keyword, detail_level, max_results } = call.input
  const all = [...context.host.slots().map((slot) => toDocument(slot, call)), ...toSkillDocuments(context)]
  const exact = all.filter(({ name }) => name === keyword).map(({ subject }) => subject)
  const ranked =
    keyword === '*'
      ? all.sort((a, b) => (a.name < b.name ? -1 : 1)).map(({ subject }) => subject)
      : rankDocuments(all, keyword)
  const found = [...new Set([...exact, ...ranked])]
  const tools = found.slice(0, max_results).map((one) => toOutput(one, detail_level))
  const output = { tools, total: found.length, truncated: tools.length < found.length }
  const brief = detail_level.startsWith('name-o') || detail_level === 'name'
  // Exact names and the best results are shown in detail, so that they can be called directly.
  const isDetailed = (at: number) =>
    !brief && (detail_level === 'full' || (keyword !== '*' && (exact.length > 0 || at < DETAILED_COUNT)))
  const listed = exact.length > 0 ? exact : found.slice(0, max_results)
  const resolveDetail = (at: number) => (brief ? 'brief' : isDetailed(at) ? 'full' : 'usual')
  const lines = listed.slice(0, max_results).flatMap((one, at) => renderTool(one, resolveDetail(at)))
  const first = new Set((exact.length > 0 ? exact : found.slice(0, DETAILED_COUNT)).flatMap(({ about }) => about ?? []))
  const abouts = brief ? [] : [...first].map((about) => fenceText('who provides these tools', about))
  const count = `${listed.length} of ${pluralize(found.length, 'tool')}`
  return ok(output, { text: [...lines, ...abouts, count].join('\n') })
}) satisfies Handler<Input>

function renderTool(tool: FoundTool, detail: 'brief' | 'usual' | 'full'): string[] {
  const { source, available, description, input } = tool
  const name = tool.action ? `${tool.tool} ${tool.action}` : tool.tool
  const marks = `${source === 'slot' ? '' : ` (${source})`}${available ? '' : ' (not in this mode)'}`
  if (detail === 'brief') return [`- ${name}${marks}`]
  if (detail === 'usual') return [`- ${name}${marks}: ${description?.split('\n', 1)[0]}`]
  return [`- ${name}${marks}: ${description}`, ...(input ? renderFields(input) : [])]
}

function toDocument(
  { slot, tool, action, description, input, effects, dialect, chain, about }: SlotInfo,
  { mode }: Call,
): Document<FoundTool> {
  const source = dialect ? 'alias' : tool.startsWith('mcp__') ? 'mcp' : 'slot'
  const subject: FoundTool = {
    tool,
    ...(action !== undefined && { action }),
    source,
    available: effects.every((effect) => isPossible(mode, effect)),
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

/** Returns whether a mode permits an effect, possibly after approval. */
const isPossible = (mode: Mode, effect: Effect): boolean =>
  mode !== 'plan' || effect === 'read' || effect === 'ask' || effect === 'net'

const toSkillDocuments = ({ host }: Context): Document<FoundTool>[] =>
  host.skills().catalogue.map(({ name, description }) => ({
    subject: { tool: name, source: 'skill', available: true, description },
    name,
    fields: [
      { text: name.replaceAll('-', ' '), weight: 3 },
      { text: description, weight: 1 },
    ],
  }))

function toOutput(
  { tool, action, source, available, description, about: _, ...more }: FoundTool,
  detail: Input['detail_level'],
): FoundTool {
  const name = { tool, ...(action !== undefined && { action }), source, available }
  if (detail === 'name-only' || detail === 'name') return name
  const described = { ...name, ...(description !== undefined && { description }) }
  return detail === 'full' ? { ...described, ...more } : described
}
