import { isDeepStrictEqual } from 'node:util'
import type { Tool } from '@modelcontextprotocol/client'
import { truncateText } from '../../../core/documents/index.js'
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
import { hashTool, type ServerRecord, type ServerTool, type ServerOffers } from '../../lib/state/index.js'
import { createChangeError, createNotedError } from './changes.js'
import { isRemote, type QueriedServer, type Definition } from '../mcp_client/definition.js'
import { matchesGlobs } from './globs.js'
import { assignWireNames, toOwnToolName, type NamedTool, type WireName } from './wire_names.js'
import { acquireServer } from '../mcp_client/pool.js'
import { convertForeignSchema, findSchemaFault } from './foreign_schema.js'

/** A slot of a server: a tool, a prompt, or the tool for its resources. */
interface Offer extends NamedTool {
  contribution: Contribution
  definition: Definition
  about: string
  what: { tool: FitTool } | { prompt: ServerOffers['prompts'][number] }
}
/** A tool in the form of the kernel, made while other servers are still queried. */
interface FitTool {
  tool: Tool & ServerTool
  /** Set when the kernel cannot use the tool. */
  reason: string | undefined
  input: Schema
  /** The `mcp` field of the manifest, which names the part of the server. */
  target: JsonObject
}
/** Characters of the instructions of a server that are shown. */
const MAX_ABOUT_CHARS = 2_000

/** Returns the offers of the servers, one contribution each. All servers are queried at once. */
export async function createContributions(
  servers: readonly QueriedServer[],
  adapterContext: AdapterContext,
): Promise<Contribution[]> {
  const all = (await Promise.all(servers.map((one) => collectOffers(one, adapterContext)))).flat()
  // Prompts are slots of another kind and may share names with tools.
  return [all.filter(({ what }) => !('prompt' in what)), all.filter(({ what }) => 'prompt' in what)].flatMap(
    (offers) => {
      const names = assignWireNames(offers)
      return offers.flatMap((offer, at) => toContributions(offer, names[at]!, adapterContext))
    },
  )
}

async function collectOffers(one: QueriedServer, adapterContext: AdapterContext): Promise<Offer[]> {
  const { server, definition, contribution, kept, failures } = one
  try {
    const offers = await fetchAgreedOffers(one, adapterContext)
    failures.forget()
    reportFaults(contribution, server, offers, kept, adapterContext)
    return selectOffers(offers, one)
  } catch (error) {
    failures.remember(error, true)
    if (definition.required)
      throw problem('VT_RELOAD_REFUSED', {
        reason: `the MCP server ${server} is required: ${(error as Error).message}`,
      })
    // A missing value is not a fault of the server.
    const unset = error instanceof VtError && ['VT_SECRET_MISSING', 'VT_CONFIG_ENV'].includes(error.code)
    adapterContext.excludeContribution(contribution, unset ? 'inactive' : 'invalid', error as Error)
    return []
  }
}

/** Selects the offers that the settings and the manifest allow. */
function selectOffers(
  { tools, prompts, resources, instructions }: ServerOffers,
  { server, prefix, otherPrefixes, definition, contribution, limits }: QueriedServer,
): Offer[] {
  const { tool: only } = contribution.manifest.mcp as { tool?: string }
  if (only !== undefined) return selectOneTool(only, tools, { server, definition, contribution })
  const { include = definition.include, exclude = definition.exclude } = contribution.manifest.mcp as {
    include?: string[]
    exclude?: string[]
  }
  const isWanted = (name: string): boolean =>
    (!include || matchesGlobs(include, name)) &&
    !matchesGlobs(exclude ?? [], name) &&
    isAllowed(`${server}/${name}`, server, limits)
  const offer = (name: string, what: () => Offer['what'], kind = ''): Offer[] =>
    isWanted(name)
      ? [
          {
            server: prefix,
            tool: toOwnToolName(prefix, name, otherPrefixes),
            id: `${contribution.id}/${kind}${name}`,
            contribution,
            definition,
            about,
            what: what(),
          },
        ]
      : []
  const about =
    instructions === ''
      ? ''
      : `The MCP server ${server} describes its tools:\n${truncateText(instructions, MAX_ABOUT_CHARS)}`
  const reading = ['resources', 'read_resources', 'resources_of_server'].find(
    (name) => !tools.some((tool) => tool.name === name),
  )
  return [
    ...tools.flatMap((tool) =>
      offer(tool.name, () => ({
        tool: toFitTool(tool as FitTool['tool'], {
          tool: tool.name,
          pin: hashTool(tool),
          ...((tool as Tool).execution?.taskSupport === 'required' && { task: true }),
        }),
      })),
    ),
    ...(resources && reading !== undefined
      ? offer(reading, () => ({ tool: toFitTool(createResourcesTool(reading, server), { resources: true }) }))
      : []),
    ...prompts.flatMap((prompt) => offer(prompt.name, () => ({ prompt }), 'prompt/')),
  ]
}

/** Returns the one tool that a manifest names itself. The server checks its input. */
function selectOneTool(
  tool: string,
  tools: ServerOffers['tools'],
  { server, definition, contribution }: Pick<QueriedServer, 'server' | 'definition' | 'contribution'>,
): Offer[] {
  const found = tools.find(({ name }) => name === tool) as FitTool['tool'] | undefined
  if (!found) throw createChangeError(server, tool, 'is not offered')
  return [
    {
      server,
      tool,
      id: contribution.id,
      contribution,
      definition,
      about: '',
      what: { tool: toFitTool(found, { tool, pin: hashTool(found) }) },
    },
  ]
}

function toFitTool(tool: FitTool['tool'], target: JsonObject): FitTool {
  const reason = findSchemaFault(tool.inputSchema)
  return { tool, reason, input: reason === undefined ? convertForeignSchema(tool.inputSchema) : {}, target }
}

const createResourcesTool = (name: string, server: string): FitTool['tool'] => ({
  name,
  description: `List the resources of the MCP server ${server}, or read one of them with \`uri\`.`,
  inputSchema: {
    type: 'object',
    properties: {
      uri: { type: 'string', description: 'The URI of a resource, from the list or made from a listed template.' },
    },
  },
})

/** Reports the faults of a server: past incidents only to an inspection. */
function reportFaults(
  contribution: Contribution,
  server: string,
  { faults }: ServerOffers,
  kept: ServerRecord,
  { inspecting, addDiagnostic }: AdapterContext,
): void {
  for (const fault of faults) addDiagnostic(contribution, createNotedError(server, `lists an unusable entry: ${fault}`))
  for (const { before } of kept.changes)
    addDiagnostic(contribution, createChangeError(server, before.name, 'has changed since you agreed to it'))
  if (inspecting)
    for (const { at, what } of kept.notes)
      addDiagnostic(
        contribution,
        createNotedError(server, `misbehaved at ${new Date(at).toISOString().slice(0, 16)}: ${what}`),
      )
}

/** Returns the offers that the user agreed to. Starts no server whose tools are known. Throws VT_MCP_START. */
export async function fetchAgreedOffers(
  { server, definition, contribution, kept }: QueriedServer,
  adapterContext: AdapterContext,
): Promise<ServerOffers> {
  const running = acquireServer(server, definition, contribution, adapterContext)
  const known = kept.offers !== undefined
  const eager = definition.lazy === false && !adapterContext.inspecting
  if (known && eager && adapterContext.deferWork)
    adapterContext.deferWork(() =>
      running.connect().then(
        () => {},
        () => {},
      ),
    )
  else if (!known || eager) await running.connect()
  for (const name of running.newTools.splice(0))
    adapterContext.addDiagnostic(contribution, createChangeError(server, name, 'is new'))
  const offers = kept.offers!
  const { changes } = kept
  running.onList(() => {
    if (!isDeepStrictEqual([kept.offers, kept.changes], [offers, changes])) adapterContext.requestReload()
  })
  return offers
}

const isAllowed = (tool: string, server: string, { allow, deny, enforce_allow }: Settings['mcp']): boolean =>
  !matchesGlobs(deny, tool) && (!enforce_allow || matchesGlobs(allow, tool) || matchesGlobs(allow, server))

/** Converts an offer to a contribution. Foreign texts and schemas are reduced to what the kernel supports. */
function toContributions(
  { contribution, definition, about, what, server: prefix }: Offer,
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
  const made = { ...rest, provider: contribution, stage: 'primary' as const }
  const server = mcp!['server']
  if ('prompt' in what) {
    const effects: Effect[] = isRemote(definition) ? ['read', 'net'] : ['read']
    const manifest = { ...common, ...toPromptFields(what.prompt), effects, mcp: { server, prompt: what.prompt.name } }
    const id = `${contribution.plugin}:prompt_${name}`
    return [{ ...made, kind: 'prompt', id, name, slot: `prompt/${name}`, manifest }]
  }
  const { tool, reason, input, target } = what.tool
  const { description, title } = tool
  const own = contribution.manifest
  if (reason !== undefined) {
    adapterContext.addDiagnostic(contribution, problem('VT_SCHEMA_INVALID', { id: name, reason }))
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
    effects: resolveEffects(tool, definition, contribution),
    mcp: { server, ...target },
  }
  const id = `${contribution.plugin}:${name}`
  return [{ ...made, id, name: contribution.name, slot: name, group: `mcp__${prefix}`, manifest }]
}

const toPromptFields = ({ name, title, description, arguments: texts }: ServerOffers['prompts'][number]) => ({
  kind: 'prompt' as const,
  description: description || title || name,
  ...(title && { title }),
  ...(texts && { arguments: [...texts] }),
})

/** Returns the effects of a tool: those of the definition, otherwise all that a server of its kind can have. */
function resolveEffects(
  { name, annotations }: Pick<Tool, 'name' | 'annotations'>,
  definition: Definition,
  { layer }: Contribution,
): Effect[] {
  for (const [pattern, effects] of Object.entries(definition.effects ?? {}))
    if (matchesGlobs([pattern], name)) return effects
  if (definition.trust_annotations && layer !== 'workspace' && annotations?.readOnlyHint) return ['read', 'net']
  return isRemote(definition) ? ['net', 'write'] : ['read', 'write', 'exec', 'net']
}
