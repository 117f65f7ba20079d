import type { Client, Tool } from '@modelcontextprotocol/client'
import { isObject } from '../../../core/shapes/index.js'
import { deadline } from '../../../core/system/index.js'
import { shortLine } from '../../../core/text/index.js'
import { raceAbort } from '../../lib/base/index.js'
import type { KeptPrompt, ServerOffers } from '../../lib/state/index.js'
import { MAX_TOOLS, type Intake } from '../mcp_transport/intake.js'
import { Pipe } from '../mcp_transport/pipe.js'
import { asItCame, came, headerFault } from '../mcp_transport/wire.js'

// What a timer can wait at most.
export const longest_ms = 2 ** 31 - 1

/** The error of a server that did not answer in time, or too much; no other handshake is tried. */
export class Silence extends Error {}

/** Everything that a server offers, within a time and the size of one message. Throws Silence. */
export async function offersWithin(
  client: Client,
  intake: Intake,
  seconds: number,
  signal: AbortSignal,
): Promise<ServerOffers> {
  using limit = deadline(seconds * 1000, signal)
  const exceeded = new AbortController()
  const listed = intake.within(
    () => listOffers(client, { signal: limit.signal, timeout: longest_ms }),
    () => exceeded.abort(new Silence('its list of tools is larger than 32 MiB')),
  )
  try {
    const offers = await raceAbort(exceeded.signal, raceAbort(limit.signal, listed))
    if (offers.tools.length > MAX_TOOLS)
      throw new Silence(`it offers ${offers.tools.length} tools, and ${MAX_TOOLS} is the most that are taken`)
    return offers
  } catch (error) {
    throw limit.expired ? new Silence(`it did not list its tools within ${seconds} s`) : error
  }
}

/** What a server lists, and what of that is nothing that can be used. */
interface Listed {
  tools: Tool[]
  /** Each with the entry and the field. */
  faults: string[]
}
export interface ListLimits {
  signal: AbortSignal
  timeout: number
}

const MOST_PAGES = 64
const MOST_FAULTS = 20
/** What is kept of a text; less of it is told. */
const MOST_TEXT = 16_384

/** Everything that a server offers. That its prompts cannot be listed is a fault of theirs alone. Throws what the client throws for its tools. */
async function listOffers(client: Client, limits: ListLimits): Promise<ServerOffers> {
  const { tools: hasTools, prompts: hasPrompts, resources } = client.getServerCapabilities() ?? {}
  const [{ tools, faults }, prompts] = await Promise.all([
    hasTools ? listTools(client, limits) : { tools: [], faults: [] as string[] },
    hasPrompts ? pagesOf(client, 'prompts/list', 'prompts', limits).catch((error: Error) => error) : [],
  ])
  const listed = prompts instanceof Error ? [] : prompts.filter(isPrompt).slice(0, MOST_PROMPTS)
  if (prompts instanceof Error) faults.push(`prompts: ${shortLine(prompts.message, 200)}`)
  else if (prompts.length > listed.length)
    faults.push(`prompts: ${prompts.length - listed.length} of ${prompts.length} are invalid, or beyond the limit`)
  const said = client.getInstructions()
  return {
    tools: tools as unknown as ServerOffers['tools'],
    prompts: (listed as KeptPrompt[]).map(plainPrompt),
    resources: resources !== undefined,
    instructions: typeof said === 'string' ? said.slice(0, MOST_TEXT) : '',
    faults,
  }
}

const MOST_PROMPTS = 200
const isPrompt = (prompt: unknown): prompt is KeptPrompt =>
  isObject(prompt) && typeof prompt['name'] === 'string' && prompt['name'] !== '' && prompt['name'].length <= 1_024

function plainPrompt({ name, title, description, arguments: given }: KeptPrompt): KeptPrompt {
  const texts = Object.fromEntries(
    Object.entries({ title, description }).filter(([, value]) => typeof value === 'string'),
  )
  const named = (Array.isArray(given) ? given : [])
    .filter((one) => isObject(one) && typeof one['name'] === 'string' && one['name'] !== '')
    .slice(0, 16) as NonNullable<KeptPrompt['arguments']>
  return {
    name,
    ...texts,
    arguments: named.map((one) => ({
      name: one.name,
      ...(typeof one.description === 'string' && { description: one.description }),
      ...(one.required === true && { required: true }),
    })),
  }
}

/** All tools. Throws what the client throws. */
async function listTools(client: Client, limits: ListLimits): Promise<Listed> {
  // From a server of the newest revision the client itself keeps what a later call sends in headers.
  const modern = client.getProtocolEra() === 'modern'
  const tools = modern
    ? (await client.listTools({}, limits)).tools.map(came)
    : await pagesOf(client, 'tools/list', 'tools', limits)
  const inHeaders = modern && !(client.transport instanceof Pipe)
  const known = new Set<string>()
  const listed: Listed = { tools: [], faults: [] }
  for (const [at, tool] of tools.entries()) {
    const fault = faultOf(tool, known) ?? (inHeaders ? headerFault((tool as Tool).inputSchema ?? {}) : undefined)
    if (fault === undefined) listed.tools.push(plain(tool as Tool))
    else if (listed.faults.length < MOST_FAULTS) listed.faults.push(`tools[${at}]${nameIn(tool)}: ${fault}`)
  }
  return listed
}

/** Every page of a list. */
export async function pagesOf(client: Client, method: string, key: string, limits: ListLimits): Promise<unknown[]> {
  const all: unknown[] = []
  let cursor: unknown
  for (let page = 0; page < MOST_PAGES; page++) {
    const result = (await client.request(
      { method, params: cursor === undefined ? {} : { cursor } } as never,
      asItCame as never,
      limits,
    )) as Record<string, unknown>
    const entries = isObject(result) ? result[key] : undefined
    if (!Array.isArray(entries)) throw new Error(`its answer to ${method} has no list '${key}'`)
    for (const one of entries) all.push(one)
    cursor = result['nextCursor']
    if (typeof cursor !== 'string' || cursor === '') return all
  }
  throw new Error(`its answer to ${method} has more than ${MOST_PAGES} pages`)
}

const nameIn = (tool: unknown): string =>
  isObject(tool) && typeof tool['name'] === 'string' ? ` (${shortLine(tool['name'], 80)})` : ''

/** Why an entry is no tool; the field is named. */
function faultOf(tool: unknown, known: Set<string>): string | undefined {
  if (!isObject(tool)) return `it is ${kindOf(tool)}, an object is needed`
  const { name, inputSchema } = tool
  if (typeof name !== 'string' || name === '') return `name is ${name === '' ? 'empty' : kindOf(name)}, text is needed`
  if (name.length > 1_024) return `name has ${name.length} characters, 1024 is the most`
  if (known.has(name)) return 'name is that of an earlier tool'
  known.add(name)
  if (inputSchema !== undefined && !isObject(inputSchema))
    return `inputSchema is ${kindOf(inputSchema)}, an object is needed`
  const { type, properties } = inputSchema ?? {}
  if (type !== undefined && ![type].flat().includes('object'))
    return `inputSchema.type is ${shortLine(JSON.stringify(type), 80)}, "object" is needed`
  if (properties !== undefined && !isObject(properties))
    return `inputSchema.properties is ${kindOf(properties)}, an object is needed`
  return undefined
}

const kindOf = (value: unknown): string =>
  value === undefined
    ? 'missing'
    : value === null
      ? 'null'
      : Array.isArray(value)
        ? 'a list'
        : typeof value === 'object'
          ? 'an object'
          : `a ${typeof value}`

/** The members that we look at, each of its kind. */
function plain({ name, title, description, inputSchema, outputSchema, annotations, execution }: Tool): Tool {
  const texts = Object.entries({ title, description }).flatMap(([key, value]) =>
    typeof value === 'string' ? [[key, value.slice(0, MOST_TEXT)]] : [],
  )
  const objects = Object.entries({ outputSchema, annotations, execution }).filter(([, value]) => isObject(value))
  return {
    name,
    ...Object.fromEntries(texts),
    inputSchema: inputSchema ?? { type: 'object' },
    ...Object.fromEntries(objects),
  } as Tool
}

/** Why something failed, in one line: of an answer that the client's library refuses in JSON the first field that is wrong. */
export function whyFailed(error: unknown): string {
  const { message } = error as Error
  const [, method, json] = /^Invalid result for (\S+): (\[.*\])\s*$/s.exec(message) ?? []
  const [issue] = json === undefined ? [] : issuesIn(json)
  const field = issue?.path
    .map((step, at) => (typeof step === 'number' ? `[${step}]` : `${at > 0 ? '.' : ''}${step}`))
    .join('')
  // Which revision it was asked for when it ended explains nothing.
  const plainly = message
    .replace(/^Version negotiation probe failed: /, '')
    .replace(' during the version negotiation probe', '')
  const reason = issue ? `its answer to ${method} cannot be read: ${field}: ${issue.message}` : plainly
  return reason.split('\n')[0]!.replace(/\.$/, '').slice(0, 300)
}

function issuesIn(json: string): { path: (string | number)[]; message: string }[] {
  try {
    return JSON.parse(json) as ReturnType<typeof issuesIn>
  } catch {
    return []
  }
}
