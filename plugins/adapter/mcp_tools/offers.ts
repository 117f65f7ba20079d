import { isDeepStrictEqual } from 'node:util'
import type { Tool } from '@modelcontextprotocol/client'
import { cutText } from '../../../core/documents/index.js'
import {
  problem,
  VtError,
  type Contribution,
  type Effect,
  type AdapterContext,
  type JsonObject,
  type Schema,
  type Settings,
} from '../../../core/index.js'
import { toolDigest, type KeptServer, type KeptTool, type ServerOffers } from '../../lib/state/index.js'
import { changed, noted } from './changes.js'
import { isRemote, type Asked, type Definition } from '../mcp_client/definition.js'
import { globs } from './globs.js'
import { wireNames, type Named, type WireName } from './names.js'
import { holdServer } from '../mcp_client/pool.js'
import { foreignSchema, unfit } from './schema.js'

/** A slot of a server: a tool, a prompt, or the tool for its resources. */
interface Offer extends Named {
  contribution: Contribution
  definition: Definition
  about: string
  what: { tool: FitTool } | { prompt: ServerOffers['prompts'][number] }
}
/** A tool as the kernel can take it: made while other servers are waited for. */
interface FitTool {
  tool: Tool & KeptTool
  /** Why it cannot be taken. */
  reason: string | undefined
  input: Schema
  /** What of its server a call means. */
  target: JsonObject
}
/** How much of its instructions is told, in characters. */
const MOST_ABOUT = 2_000

/** What servers offer, one contribution each. All are asked at the same time. */
export async function contributionsOf(
  servers: readonly Asked[],
  adapterContext: AdapterContext,
): Promise<Contribution[]> {
  const all = (await Promise.all(servers.map((one) => offersOf(one, adapterContext)))).flat()
  // A prompt is a slot of another kind, and may be called like a tool.
  return [all.filter(({ what }) => !('prompt' in what)), all.filter(({ what }) => 'prompt' in what)].flatMap(
    (offers) => {
      const names = wireNames(offers)
      return offers.flatMap((offer, at) => contributionOf(offer, names[at]!, adapterContext))
    },
  )
}

async function offersOf(one: Asked, adapterContext: AdapterContext): Promise<Offer[]> {
  const { server, definition, contribution, kept, failures } = one
  try {
    const offers = await offered(one, adapterContext)
    failures.forget()
    tellFaults(contribution, server, offers, kept, adapterContext)
    return chosen(offers, one)
  } catch (error) {
    failures.remember(error, true)
    if (definition.required)
      throw problem('VT_RELOAD_REFUSED', {
        reason: `the MCP server ${server} is required: ${(error as Error).message}`,
      })
    // A missing value is no fault of the server.
    const unset = error instanceof VtError && ['VT_SECRET_MISSING', 'VT_CONFIG_ENV'].includes(error.code)
    adapterContext.refuse(contribution, unset ? 'inactive' : 'invalid', error as Error)
    return []
  }
}

/** What the settings and the manifest leave of what a server offers. */
function chosen(
  { tools, prompts, resources, instructions }: ServerOffers,
  { server, definition, contribution, limits }: Asked,
): Offer[] {
  const { tool: only } = contribution.manifest.mcp as { tool?: string }
  if (only !== undefined) return oneOf(only, tools, { server, definition, contribution })
  const { include = definition.include, exclude = definition.exclude } = contribution.manifest.mcp as {
    include?: string[]
    exclude?: string[]
  }
  const wanted = (name: string): boolean =>
    (!include || globs(include, name)) && !globs(exclude ?? [], name) && allowed(`${server}/${name}`, server, limits)
  const prefix = contribution.plugin === contribution.layer ? server : `plugin_${contribution.plugin}_${server}`
  const offer = (name: string, what: () => Offer['what'], kind = ''): Offer[] =>
    wanted(name)
      ? [
          {
            server: prefix,
            tool: name,
            id: `${contribution.id}/${kind}${name}`,
            contribution,
            definition,
            about,
            what: what(),
          },
        ]
      : []
  const about =
    instructions === '' ? '' : `The MCP server ${server} says of its tools:\n${cutText(instructions, MOST_ABOUT)}`
  const reading = ['resources', 'read_resources', 'resources_of_server'].find(
    (name) => !tools.some((tool) => tool.name === name),
  )
  return [
    ...tools.flatMap((tool) =>
      offer(tool.name, () => ({
        tool: fit(tool as FitTool['tool'], {
          tool: tool.name,
          pin: toolDigest(tool),
          ...((tool as Tool).execution?.taskSupport === 'required' && { task: true }),
        }),
      })),
    ),
    ...(resources && reading !== undefined
      ? offer(reading, () => ({ tool: fit(resourcesTool(reading, server), { resources: true }) }))
      : []),
    ...prompts.flatMap((prompt) => offer(prompt.name, () => ({ prompt }), 'prompt/')),
  ]
}

/** The one tool that a manifest gives a name of its own, and whose input it leaves to the server. */
function oneOf(
  tool: string,
  tools: ServerOffers['tools'],
  { server, definition, contribution }: Pick<Asked, 'server' | 'definition' | 'contribution'>,
): Offer[] {
  const found = tools.find(({ name }) => name === tool) as FitTool['tool'] | undefined
  if (!found) throw changed(server, tool, 'is not offered')
  return [
    {
      server,
      tool,
      id: contribution.id,
      contribution,
      definition,
      about: '',
      what: { tool: fit(found, { tool, pin: toolDigest(found) }) },
    },
  ]
}

function fit(tool: FitTool['tool'], target: JsonObject): FitTool {
  const reason = unfit(tool.inputSchema)
  return { tool, reason, input: reason === undefined ? foreignSchema(tool.inputSchema) : {}, target }
}

const resourcesTool = (name: string, server: string): FitTool['tool'] => ({
  name,
  description: `Lists what the MCP server ${server} has to read; with \`uri\` it reads one of them.`,
  inputSchema: {
    type: 'object',
    properties: {
      uri: { type: 'string', description: 'The URI of a resource, as listed or as a template of the list says.' },
    },
  },
})

/** Reports faults of a server: recent ones to an inspection, present ones always. */
function tellFaults(
  contribution: Contribution,
  server: string,
  { faults }: ServerOffers,
  kept: KeptServer,
  { inspecting, remark }: AdapterContext,
): void {
  for (const fault of faults) remark(contribution, noted(server, `lists what cannot be used: ${fault}`))
  for (const { before } of kept.changes)
    remark(contribution, changed(server, before.name, 'is not what it was when it was agreed to'))
  if (inspecting)
    for (const { at, what } of kept.notes)
      remark(contribution, noted(server, `misbehaved at ${new Date(at).toISOString().slice(0, 16)}: ${what}`))
}

/** Returns the agreed offers of a server. Known tools start no server for a list. Throws VT_MCP_START. */
export async function offered(
  { server, definition, contribution, kept }: Asked,
  adapterContext: AdapterContext,
): Promise<ServerOffers> {
  const running = holdServer(server, definition, contribution, adapterContext)
  const known = kept.offers !== undefined
  const eager = definition.lazy === false && !adapterContext.inspecting
  if (known && eager && adapterContext.later)
    adapterContext.later(() =>
      running.connect().then(
        () => {},
        () => {},
      ),
    )
  else if (!known || eager) await running.connect()
  for (const name of running.newcomers.splice(0)) adapterContext.remark(contribution, changed(server, name, 'is new'))
  const offers = kept.offers!
  const { changes } = kept
  running.onList(() => {
    if (!isDeepStrictEqual([kept.offers, kept.changes], [offers, changes])) adapterContext.renew()
  })
  return offers
}

const allowed = (tool: string, server: string, { allow, deny, enforce_allow }: Settings['mcp']): boolean =>
  !globs(deny, tool) && (!enforce_allow || globs(allow, tool) || globs(allow, server))

/** Makes an offer a contribution. Foreign texts and schemas are reduced to what the kernel supports. */
function contributionOf(
  { contribution, definition, about, what }: Offer,
  { name, whole }: WireName,
  adapterContext: AdapterContext,
): Contribution[] {
  const { slot: _, stage: __, ...rest } = contribution
  const { options, secrets, mcp } = contribution.manifest
  const common = {
    name,
    timeout_secs: definition.tool_timeout_secs ?? 120,
    ...(options && { options }),
    ...(secrets !== undefined && { secrets }),
  }
  const made = { ...rest, bringer: contribution, stage: 'primary' as const }
  const server = mcp!['server']
  if ('prompt' in what) {
    const effects: Effect[] = isRemote(definition) ? ['read', 'net'] : ['read']
    const manifest = { ...common, ...promptFields(what.prompt), effects, mcp: { server, prompt: what.prompt.name } }
    const id = `${contribution.plugin}:prompt_${name}`
    return [{ ...made, kind: 'prompt', id, name, slot: `prompt/${name}`, manifest }]
  }
  const { tool, reason, input, target } = what.tool
  const { description, title } = tool
  const own = contribution.manifest
  if (reason !== undefined) {
    adapterContext.remark(contribution, problem('VT_SCHEMA_INVALID', { id: name, reason }))
    return []
  }
  if ((own.mcp as { tool?: string }).tool !== undefined) {
    const slot = own.action ?? contribution.name
    return [{ ...made, slot, manifest: { ...own, input, mcp: { ...own.mcp, pin: target['pin'] } } }]
  }
  const manifest = {
    ...common,
    description: description || title || tool.name,
    ...(title && { title }),
    ...(about !== '' && { about }),
    ...(whole !== undefined && { aliases: [whole] }),
    input,
    effects: effectsOf(tool, definition, contribution),
    mcp: { server, ...target },
  }
  return [{ ...made, id: `${contribution.plugin}:${name}`, name: contribution.name, slot: name, manifest }]
}

const promptFields = ({ name, title, description, arguments: texts }: ServerOffers['prompts'][number]) => ({
  kind: 'prompt' as const,
  description: description || title || name,
  ...(title && { title }),
  ...(texts && { arguments: [...texts] }),
})

/** The effects of a tool: those in the definition, else all that a server of its kind can have. */
function effectsOf(
  { name, annotations }: Pick<Tool, 'name' | 'annotations'>,
  definition: Definition,
  { layer }: Contribution,
): Effect[] {
  for (const [pattern, effects] of Object.entries(definition.effects ?? {})) if (globs([pattern], name)) return effects
  if (definition.trust_annotations && layer !== 'workspace' && annotations?.readOnlyHint) return ['read', 'net']
  return isRemote(definition) ? ['net', 'write'] : ['read', 'write', 'exec', 'net']
}
