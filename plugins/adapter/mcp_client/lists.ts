import type { Client, Tool } from '@modelcontextprotocol/client'
import { isObject } from '../../../core/shapes/index.js'
import { startDeadline } from '../../../core/system/index.js'
import { redact, redactText, truncateLine } from '../../../core/text/index.js'
import { raceAbort } from '../../lib/base/index.js'
import type { ServerPrompt, ServerOffers } from '../../lib/state/index.js'
import { MAX_TOOLS, type Intake } from '../mcp_transport/intake.js'
import { Pipe } from '../mcp_transport/pipe.js'
import { originalSchema, readOriginal, findHeaderFault } from '../mcp_transport/wire.js'

// The longest wait of a timer.
export const MAX_TIMER_MS = 2 ** 31 - 1

/** The error of a server that answered too late or too much; no other handshake is tried. */
export class ServerLimitError extends Error {}

/** Lists everything that a server offers, within a time and the size of one message. Throws ServerLimitError. */
export async function fetchOffers(
  client: Client,
  intake: Intake,
  seconds: number,
  signal: AbortSignal,
): Promise<ServerOffers> {
  using limit = startDeadline(seconds * 1000, signal)
  const exceeded = new AbortController()
  const listed = intake.runBounded(
    () => listOffers(client, { signal: limit.signal, timeout: MAX_TIMER_MS }),
    () => exceeded.abort(new ServerLimitError('its list of tools is larger than 32 MiB')),
  )
  try {
    const offers = await raceAbort(exceeded.signal, raceAbort(limit.signal, listed))
    if (offers.tools.length > MAX_TOOLS)
      throw new ServerLimitError(`it offers ${offers.tools.length} tools; at most ${MAX_TOOLS} are allowed`)
    return offers
  } catch (error) {
    throw limit.expired ? new ServerLimitError(`it did not list its tools within ${seconds} s`) : error
  }
}

/** The usable tools of a server, and the faults of the rest. */
interface Listed {
  tools: Tool[]
  /** One per unusable entry; names the entry and the field. */
  faults: string[]
}
export interface ListLimits {
  signal: AbortSignal
  timeout: number
}

const MAX_PAGES = 64
const MAX_FAULTS = 20
/** Characters of a text that are kept; less is shown. */
const MAX_TEXT_CHARS = 16_384

/**
 * Lists everything that a server offers. A failed list of prompts becomes a fault. Throws the errors of the client for
 * its tools.
 */
async function listOffers(client: Client, limits: ListLimits): Promise<ServerOffers> {
  const { tools: hasTools, prompts: hasPrompts, resources } = client.getServerCapabilities() ?? {}
  const [{ tools, faults }, prompts] = await Promise.all([
    hasTools ? listTools(client, limits) : { tools: [], faults: [] as string[] },
    hasPrompts ? listPages(client, 'prompts/list', 'prompts', limits).catch((error: Error) => error) : [],
  ])
  const listed = prompts instanceof Error ? [] : prompts.filter(isPrompt).slice(0, MAX_PROMPTS)
  if (prompts instanceof Error) faults.push(`prompts: ${truncateLine(prompts.message, 200)}`)
  else if (prompts.length > listed.length)
    faults.push(`prompts: ${prompts.length - listed.length} of ${prompts.length} are invalid or exceed the limit`)
  const instructions = client.getInstructions()
  return {
    tools: tools as unknown as ServerOffers['tools'],
    prompts: redact((listed as ServerPrompt[]).map(toPlainPrompt)),
    resources: resources !== undefined,
    instructions: typeof instructions === 'string' ? redactText(instructions).slice(0, MAX_TEXT_CHARS) : '',
    faults,
  }
}

const MAX_PROMPTS = 200
const isPrompt = (prompt: unknown): prompt is ServerPrompt =>
  isObject(prompt) && typeof prompt['name'] === 'string' && prompt['name'] !== '' && prompt['name'].length <= 1_024

function toPlainPrompt({ name, title, description, arguments: given }: ServerPrompt): ServerPrompt {
  const texts = Object.fromEntries(
    Object.entries({ title, description }).filter(([, value]) => typeof value === 'string'),
  )
  const named = (Array.isArray(given) ? given : [])
    .filter((one) => isObject(one) && typeof one['name'] === 'string' && one['name'] !== '')
    .slice(0, 16) as NonNullable<ServerPrompt['arguments']>
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

/** Lists all tools. Throws the errors of the client. */
async function listTools(client: Client, limits: ListLimits): Promise<Listed> {
  // For servers of the newest revision, the client keeps what a later call sends in headers.
  const modern = client.getProtocolEra() === 'modern'
  const tools = modern
    ? (await client.listTools({}, limits)).tools.map(readOriginal)
    : await listPages(client, 'tools/list', 'tools', limits)
  const inHeaders = modern && !(client.transport instanceof Pipe)
  const known = new Set<string>()
  const listed: Listed = { tools: [], faults: [] }
  for (const [at, tool] of tools.entries()) {
    const fault =
      findToolFault(tool, known) ?? (inHeaders ? findHeaderFault((tool as Tool).inputSchema ?? {}) : undefined)
    if (fault === undefined) listed.tools.push(toPlainTool(tool as Tool))
    else if (listed.faults.length < MAX_FAULTS)
      listed.faults.push(redactText(`tools[${at}]${formatToolName(tool)}: ${fault}`))
  }
  return listed
}

/** Lists the entries of all pages. */
export async function listPages(client: Client, method: string, key: string, limits: ListLimits): Promise<unknown[]> {
  const all: unknown[] = []
  let cursor: unknown
  for (let page = 0; page < MAX_PAGES; page++) {
    const result = (await client.request(
      { method, params: cursor === undefined ? {} : { cursor } } as never,
      originalSchema as never,
      limits,
    )) as Record<string, unknown>
    const entries = isObject(result) ? result[key] : undefined
    if (!Array.isArray(entries)) throw new Error(`its answer to ${method} has no list '${key}'`)
    for (const one of entries) all.push(one)
    cursor = result['nextCursor']
    if (typeof cursor !== 'string' || cursor === '') return all
  }
  throw new Error(`its answer to ${method} has more than ${MAX_PAGES} pages`)
}

const formatToolName = (tool: unknown): string =>
  isObject(tool) && typeof tool['name'] === 'string' ? ` (${truncateLine(tool['name'], 80)})` : ''

/** Returns why an entry is not a valid tool; names the field. */
function findToolFault(tool: unknown, known: Set<string>): string | undefined {
  if (!isObject(tool)) return `it is ${describeKind(tool)} instead of an object`
  const { name, inputSchema } = tool
  if (typeof name !== 'string' || name === '')
    return `name is ${name === '' ? 'empty' : describeKind(name)}; use a string`
  if (redactText(name) !== name) return 'name contains a secret; use another name'
  if (name.length > 1_024) return `name has ${name.length} characters; use at most 1024`
  if (known.has(name)) return 'name is used by an earlier tool'
  known.add(name)
  if (inputSchema !== undefined && !isObject(inputSchema))
    return `inputSchema is ${describeKind(inputSchema)} instead of an object`
  const { type, properties } = inputSchema ?? {}
  if (type !== undefined && ![type].flat().includes('object'))
    return `inputSchema.type is ${truncateLine(JSON.stringify(type), 80)} instead of "object"`
  if (properties !== undefined && !isObject(properties))
    return `inputSchema.properties is ${describeKind(properties)} instead of an object`
  return undefined
}

const describeKind = (value: unknown): string =>
  value === undefined
    ? 'missing'
    : value === null
      ? 'null'
      : Array.isArray(value)
        ? 'a list'
        : typeof value === 'object'
          ? 'an object'
          : `a ${typeof value}`

/** Copies the members that we use, if their types are right. */
function toPlainTool({ name, title, description, inputSchema, outputSchema, annotations, execution }: Tool): Tool {
  const texts = Object.entries({ title, description }).flatMap(([key, value]) =>
    typeof value === 'string' ? [[key, redactText(value).slice(0, MAX_TEXT_CHARS)]] : [],
  )
  const objects = Object.entries({ outputSchema, annotations, execution }).filter(([, value]) => isObject(value))
  return {
    name,
    ...Object.fromEntries(texts),
    inputSchema: redact(inputSchema ?? { type: 'object' }),
    ...redact(Object.fromEntries(objects)),
  } as Tool
}

/**
 * Describes a failure in one line. For a response that the client's library refuses in JSON, names the first wrong
 * field.
 */
export function describeFailure(error: unknown): string {
  const { message } = error as Error
  const [, method, json] = /^Invalid result for (\S+): (\[.*\])\s*$/s.exec(message) ?? []
  const [issue] = json === undefined ? [] : parseIssues(json)
  const field = issue?.path
    .map((step, at) => (typeof step === 'number' ? `[${step}]` : `${at > 0 ? '.' : ''}${step}`))
    .join('')
  // The protocol revision explains nothing to the user.
  const plainly = message
    .replace(/^Version negotiation probe failed: /, '')
    .replace(' during the version negotiation probe', '')
  const reason = issue ? `its answer to ${method} cannot be read: ${field}: ${issue.message}` : plainly
  return reason.split('\n')[0]!.replace(/\.$/, '').slice(0, 300)
}

function parseIssues(json: string): { path: (string | number)[]; message: string }[] {
  try {
    return JSON.parse(json) as ReturnType<typeof parseIssues>
  } catch {
    return []
  }
}
