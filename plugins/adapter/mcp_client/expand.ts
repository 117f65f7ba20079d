import type { Tool } from '@modelcontextprotocol/client'
import { schemaObjection } from '../../../core/schema/index.js'
import { problem, VtError, type Contribution, type Effect, type JsonObject, type AdapterContext } from '../../../core/index.js'
import { circle, definitionOf, isRemote, leftAlone, startFailure, type Definition } from './definition.js'
import { globs } from './globs.js'
import { wireNames, type Named } from './names.js'
import { digest, Pins } from './pins.js'
import { holdServer, width } from './pool.js'
import { foreignSchema } from './schema.js'

interface Offer extends Named {
  contribution: Contribution
  definition: Definition
  pinned: Tool
}
interface Limits {
  allow?: string[]
  deny?: string[]
  enforce_allow?: boolean
  max_connections?: number
}

/** The tools of every server of a manifest or the settings, one contribution each. All servers are asked at the same time. */
export async function expand(contributions: readonly Contribution[], adapterContext: AdapterContext): Promise<Contribution[]> {
  const expansions = await Promise.all(contributions.map((contribution) => offersOf(contribution, adapterContext)))
  const all = expansions.flat()
  const names = wireNames(all)
  return all.flatMap((offer, at) => contributionOf(offer, names[at]!, adapterContext))
}

async function offersOf(contribution: Contribution, adapterContext: AdapterContext): Promise<Offer[]> {
  const found = definitionOf(contribution, adapterContext)
  if (!found) {
    adapterContext.refuse(contribution, 'invalid', startFailure(contribution.id, `no server '${String(contribution.manifest.mcp!['server'])}' stands under mcp.servers`))
    return []
  }
  const { server, definition } = found
  const limits = (adapterContext.settings['mcp'] ?? {}) as Limits
  const off = definition.enabled === false ? '`enabled` is false' : (excluded(server, limits) ?? circle(definition, adapterContext))
  if (off !== undefined) {
    adapterContext.refuse(contribution, 'inactive', leftAlone(contribution.id, off))
    return []
  }
  const pins = new Pins(server, definition, contribution, adapterContext)
  if (!pins.read() && (adapterContext.inspecting || (adapterContext.later && !definition.required))) {
    leaveOut(contribution, pins, adapterContext, () => toolsOf(definition, contribution, adapterContext, limits, pins))
    return []
  }
  try {
    const tools = await toolsOf(definition, contribution, adapterContext, limits, pins)
    const { include = definition.include, exclude = definition.exclude } = contribution.manifest.mcp as { include?: string[]; exclude?: string[] }
    const wanted = ({ name }: Tool) => (!include || globs(include, name)) && !globs(exclude ?? [], name) && allowed(`${server}/${name}`, server, limits)
    const prefix = contribution.plugin === contribution.layer ? server : `plugin_${contribution.plugin}_${server}`
    return tools.filter(wanted).map((pinned) => ({ server: prefix, tool: pinned.name, id: `${contribution.id}/${pinned.name}`, contribution, definition, pinned }))
  } catch (error) {
    pins.remember(error, true)
    if (definition.required) throw problem('VT_RELOAD_REFUSED', { reason: `the MCP server ${server} is required: ${(error as Error).message}` })
    // A missing value is no fault of the server.
    const unset = error instanceof VtError && ['VT_SECRET_MISSING', 'VT_CONFIG_ENV'].includes(error.code)
    adapterContext.refuse(contribution, unset ? 'inactive' : 'invalid', error as Error)
    return []
  }
}

/** A server whose tools are not known is left out where nobody waits for it; one that did not start lately is named, and not tried again. */
function leaveOut(contribution: Contribution, pins: Pins, adapterContext: AdapterContext, ask: () => Promise<unknown>): void {
  const failure = pins.failure()
  if (failure) {
    // Whoever looks at what is there is told each time.
    const first = adapterContext.inspecting || !failure.told
    if (!adapterContext.inspecting && !failure.told) pins.remember(failure.error, true)
    return adapterContext.refuse(contribution, first ? 'invalid' : 'inactive', failure.error)
  }
  adapterContext.refuse(contribution, 'inactive', leftAlone(contribution.id, 'its tools are not known yet, and nobody needs them now; a call of one of them or `vtcode tools` asks for them'))
  adapterContext.later?.(() => ask().then(() => {}, (error: unknown) => pins.remember(error, false)))
}

/** The tools as first listed, which the user agreed to. A server with known tools is not started for a list. Throws VT_MCP_START. */
async function toolsOf(definition: Definition, contribution: Contribution, adapterContext: AdapterContext, { max_connections = 16 }: Limits, pins: Pins): Promise<Tool[]> {
  if (width() >= max_connections) throw startFailure(contribution.id, `${max_connections} servers are there already, which is mcp.max_connections`)
  const running = holdServer(definition, contribution, adapterContext)
  let pinned = pins.read()
  const eager = definition.lazy === false && !adapterContext.inspecting
  if (pinned && eager && adapterContext.later) adapterContext.later(() => running.connect().then(() => {}, () => {}))
  else if (!pinned || eager) await running.connect()
  const live = running.tools && [...running.tools.values()]
  if (!pinned) pins.write((pinned = live ?? []))
  const listed = view(live ?? pinned)
  running.onList((tools) => {
    if (view(tools) !== listed) adapterContext.renew()
  })
  if (live) {
    const agreed = new Set(pinned.map(digest))
    const known = new Set(pinned.map(({ name }) => name))
    for (const { name } of live.filter((tool) => !agreed.has(digest(tool)))) {
      adapterContext.remark(contribution, changed(definitionOf(contribution, adapterContext)!.server, name, known.has(name) ? 'is not what it was when it was agreed to' : 'is new'))
    }
  }
  const offered = live && new Set(live.map(({ name }) => name))
  return pinned.filter(({ name }) => !offered || offered.has(name))
}

const view = (tools: readonly Tool[]): string => tools.map(digest).sort().join()

export const changed = (server: string, tool: string, what: string): VtError =>
  new VtError({
    code: 'VT_MCP_TOOL_CHANGED',
    message: `The tool ${tool} of the MCP server ${server} ${what}.`,
    hint: `Look at what the server offers now; to agree to it, delete the file that begins with '${server}-' in ~/.vtcode/mcp.`,
    retryable: false,
  })

function excluded(server: string, { allow = [], deny = [], enforce_allow = false }: Limits): string | undefined {
  if (globs(deny, server)) return 'mcp.deny names it'
  if (enforce_allow && !allow.some((rule) => globs([rule.split('/')[0]!], server))) return 'mcp.allow does not name it'
  return undefined
}

const allowed = (tool: string, server: string, { allow = [], deny = [], enforce_allow = false }: Limits): boolean =>
  !globs(deny, tool) && (!enforce_allow || globs(allow, tool) || globs(allow, server))

/** One tool as a contribution. Its description and schema are foreign: they are reduced to the parts that the kernel supports. */
function contributionOf({ contribution, definition, pinned }: Offer, name: string, adapterContext: AdapterContext): Contribution[] {
  const { description, title, inputSchema } = pinned
  const reason = unfit(inputSchema as JsonObject)
  if (reason !== undefined) {
    adapterContext.remark(contribution, problem('VT_SCHEMA_INVALID', { id: name, reason }))
    return []
  }
  const input = foreignSchema(inputSchema as JsonObject)
  const manifest = {
    name,
    description: description || title || pinned.name,
    ...(title && { title }),
    input,
    effects: effectsOf(pinned, definition, contribution),
    timeout_secs: definition.tool_timeout_secs ?? 120,
    mcp: { server: contribution.manifest.mcp!['server'], tool: pinned.name, pin: digest(pinned) },
    ...(contribution.manifest.options && { options: contribution.manifest.options }),
    ...(contribution.manifest['secrets'] ? { secrets: contribution.manifest['secrets'] } : {}),
  }
  const { slot: _, stage: __, ...rest } = contribution
  return [{ ...rest, bringer: contribution, id: `${contribution.plugin}:${name}`, name: contribution.name, slot: name, stage: 'primary', manifest }]
}

/** Texts are cleaned where they are shown; a name cannot be cleaned, because the server needs it unchanged. */
function unfit(input: JsonObject = {}): string | undefined {
  const objection = schemaObjection(input)
  if (objection !== undefined) return `input ${objection}`
  let hidden = false
  const text = JSON.stringify(input, (key, value: unknown) => {
    hidden ||= /[\p{Cc}\p{Cf}]/u.test(key)
    return value
  })
  if (text.length > 65_536) return 'input is larger than 64 KiB'
  return hidden ? 'the name of a property holds control or invisible characters' : undefined
}

/** The effects of a tool: those in the definition, else all that a server of its kind can have. */
function effectsOf({ name, annotations }: Tool, definition: Definition, { layer }: Contribution): Effect[] {
  for (const [pattern, effects] of Object.entries(definition.effects ?? {})) if (globs([pattern], name)) return effects
  if (definition.trust_annotations && layer !== 'workspace' && annotations?.readOnlyHint) return ['read', 'net']
  return isRemote(definition) ? ['net', 'write'] : ['read', 'write', 'exec', 'net']
}
