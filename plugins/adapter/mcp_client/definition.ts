import { resolve } from 'node:path'
import { omitUndefined } from '../../../core/shapes/index.js'
import {
  createChildEnvironment,
  findProgram,
  createPluginVariables,
  listSearchFolders,
  sha256,
} from '../../../core/system/index.js'
import { toText, truncateLine } from '../../../core/text/index.js'
import {
  VtError,
  type Contribution,
  type Effect,
  type JsonObject,
  type Launch,
  type AdapterContext,
  type Settings,
} from '../../../core/index.js'
import { isUncovered, requireUnchanged } from '../../../core/trust/index.js'
import { isOwnServer } from '../../lib/base/index.js'
import { ServerRecord } from '../../lib/state/index.js'
import { expandVariables, resolveValue, resolveValues, resolveWords, type ValueScope } from '../../lib/values/index.js'
import type { Failures } from './failures.js'
import type { LoginOptions } from './login.js'

/** A server as a manifest or the settings define it. */
export interface Definition {
  type?: 'stdio' | 'streamable-http' | 'sse'
  command?: string | JsonObject
  args?: (string | JsonObject)[]
  env?: JsonObject
  cwd?: string | JsonObject
  url?: string | JsonObject
  headers?: JsonObject
  auth?: {
    type: string
    name?: string
    value?: unknown
    username?: string
    password?: unknown
    client_id?: string
    client_secret?: unknown
    issuer?: string
    scopes?: string[]
  }
  enabled?: boolean
  required?: boolean
  lazy?: boolean
  include?: string[]
  exclude?: string[]
  startup_timeout_secs?: number
  tool_timeout_secs?: number
  effects?: Record<string, Effect[]>
  trust_annotations?: boolean
}
/** A server to query for its offers, with its stored state. */
export interface QueriedServer {
  server: string
  /** Its name in the names of its tools, which no other server has. */
  prefix: string
  /** The names of the other servers. */
  otherPrefixes: readonly string[]
  definition: Definition
  contribution: Contribution
  limits: Settings['mcp']
  kept: ServerRecord
  failures: Failures
}
export interface ServerAddress {
  type: 'streamable-http' | 'sse'
  url: URL
  headers: Record<string, string>
  /** The sign-in, if the server requires one. */
  login?: LoginOptions
}

/** Returns the definition of a contribution: its own, or the one of the settings that it names. */
export function findDefinition(
  { name, manifest }: Contribution,
  { settings }: AdapterContext,
): { server: string; definition: Definition } | undefined {
  const declared = manifest.mcp!['server']
  if (typeof declared === 'object' && declared !== null) return { server: name, definition: declared as Definition }
  const servers = settings.mcp.servers as Record<string, Definition>
  return Object.hasOwn(servers, toText(declared))
    ? { server: toText(declared), definition: servers[toText(declared)]! }
    : undefined
}

export const isRemote = ({ type, url }: Definition): boolean =>
  type === 'streamable-http' || type === 'sse' || (type === undefined && url !== undefined)

/** A variable that every server gets that we start. A program that has it starts no servers, so none starts itself. */
const SERVER_VARIABLE = 'VTCODE_MCP_SERVER'

/** Returns why a server is not started because it is this program; nothing for other servers. */
export function describeSelfStart(definition: Definition, { env }: AdapterContext): string | undefined {
  if (isRemote(definition)) return undefined
  if (isOwnServer(definition.command, definition.args)) return 'it is vtcode itself, whose tools are available already'
  return env[SERVER_VARIABLE] === undefined ? undefined : 'another vtcode started this program as a server'
}

/** Returns the key of a running server. Equal definitions of one plugin and layer share a server. */
export function hashDefinition(
  definition: Definition,
  { plugin, layer, root }: Contribution,
  { workspace }: AdapterContext,
): string {
  return sha256(JSON.stringify([definition, plugin, layer, root, layer === 'workspace' ? workspace : '']))
}

/** Opens the stored state of a server. */
export const openKeptServer = (
  name: string,
  definition: Definition,
  contribution: Contribution,
  adapterContext: AdapterContext,
): ServerRecord =>
  ServerRecord.open(adapterContext.home, name, hashDefinition(definition, contribution, adapterContext))

interface LaunchContext {
  contribution: Contribution
  adapterContext: AdapterContext
  signal: AbortSignal
}

/** Resolves the program of a server and its values. Throws VT_MCP_START, VT_SECRET_*, VT_CONFIG_ENV. */
export async function resolveLaunch(
  definition: Definition,
  { contribution, adapterContext, signal }: LaunchContext,
): Promise<Launch> {
  const { command = '', args = [], cwd, env } = definition
  const expand = createExpander(contribution, adapterContext)
  const data = adapterContext.dataFolder(contribution)
  const base = contribution.fromSettings ? adapterContext.workspace : contribution.root
  const asking = (field: string): ValueScope => ({ contribution, adapterContext, field: `mcp.${field}`, signal })
  const values = await resolveValues(env, asking('env'))
  const expanded = Object.fromEntries(
    Object.entries(values).map(([name, text]) => [
      name,
      typeof env![name] === 'string' ? expand(text, `env.${name}`) : text,
    ]),
  )
  const folder = await resolveValue(cwd ?? '', asking('cwd'))
  requireUnchanged(
    adapterContext.workspace,
    contribution.provider ?? contribution,
    contribution.fromSettings ? 'mcp.servers' : undefined,
  )
  return {
    file: resolveServerProgram(
      (await resolveValue(command, asking('command'))) ?? '',
      base,
      contribution,
      adapterContext,
    ),
    args: (await resolveWords(args, asking('args'))).map((arg) => expand(arg, 'args')),
    cwd: resolve(base, expand(folder ?? '', 'cwd')),
    env: {
      ...createChildEnvironment(adapterContext.env),
      VTCODE_WORKSPACE: adapterContext.workspace,
      ...expanded,
      [SERVER_VARIABLE]: '1',
      ...createPluginVariables(contribution.root, data),
    },
  }
}

function resolveServerProgram(
  command: string,
  base: string,
  contribution: Contribution,
  { env, workspace }: AdapterContext,
): string {
  const { id, fromSettings } = contribution
  if (!command) throw createStartError(id, 'its definition has neither `command` nor `url`')
  if (!command.includes('/')) {
    const found = findProgram(command, listSearchFolders(env['PATH'], workspace))
    if (!found) throw createStartError(id, `the program '${command}' is not on the search path`)
    return found
  }
  if (!fromSettings && isUncovered(command, contribution, workspace))
    throw createStartError(
      id,
      `'${command}' is a file of the workspace outside of the plugin, which can change unasked`,
    )
  return resolve(base, command)
}

/** Resolves the address of a server and its values. Throws VT_MCP_START, VT_SECRET_*, VT_CONFIG_ENV. */
export async function resolveAddress(
  definition: Definition,
  { contribution, adapterContext, signal }: LaunchContext,
): Promise<ServerAddress> {
  const { type, url = '', headers, auth } = definition
  const expand = createExpander(contribution, adapterContext)
  const asking: ValueScope = { contribution, adapterContext, field: 'mcp.headers', signal }
  const text = expand((await resolveValue(url, { ...asking, field: 'mcp.url' })) ?? '', 'url')
  if (!URL.canParse(text)) throw createStartError(contribution.id, `its URL '${text}' is not valid`)
  const target = new URL(text)
  const local = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(target.hostname)
  if (target.protocol !== 'https:' && !(target.protocol === 'http:' && local))
    throw createStartError(contribution.id, `its URL '${text}' needs https, or an address of this machine`)
  if (target.username || target.password || target.hash)
    throw createStartError(contribution.id, 'its URL must not hold a user name, a password or a fragment')
  const values = await resolveValues(headers, asking)
  const sent = Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      name,
      typeof headers![name] === 'string' ? expand(value, `headers.${name}`) : value,
    ]),
  )
  const kind = type === 'sse' ? 'sse' : 'streamable-http'
  if (auth?.type === 'oauth') {
    const { client_id, client_secret, issuer, scopes } = auth
    const secret =
      client_secret === undefined
        ? undefined
        : await resolveValue(client_secret, { ...asking, field: 'mcp.auth.client_secret' })
    const chosen = omitUndefined({ client_id, issuer, scopes })
    const login = { server: contribution.id, url: target, adapterContext, client_secret: secret, ...chosen }
    return { type: kind, url: target, headers: sent, login }
  }
  await authorize(auth, target, sent, asking)
  return { type: kind, url: target, headers: sent }
}

async function authorize(
  auth: Definition['auth'],
  url: URL,
  headers: Record<string, string>,
  asking: ValueScope,
): Promise<void> {
  if (!auth) return
  const { type, name, username = '', value, password } = auth
  const secret = (await resolveValue(type === 'basic' ? password : value, { ...asking, field: 'mcp.auth.value' })) ?? ''
  if (type === 'bearer') headers['Authorization'] = `Bearer ${secret}`
  else if (type === 'basic')
    headers['Authorization'] = `Basic ${Buffer.from(`${username}:${secret}`).toString('base64')}`
  else if (type === 'header' && name) headers[name] = secret
  else if (type === 'query' && name) url.searchParams.set(name, secret)
  else
    throw createStartError(
      asking.contribution.id,
      `\`auth.type\` '${toText(type)}' is not one of bearer, basic, header, query, oauth`,
    )
}

/** Expands `${NAME}` in texts of the settings; texts of manifests stay unchanged. */
function createExpander(
  contribution: Contribution,
  adapterContext: AdapterContext,
): (text: string, field: string) => string {
  return (text, field) =>
    contribution.fromSettings
      ? expandVariables(text, { contribution, adapterContext, field: `mcp.servers.${contribution.name}.${field}` })
      : text
}

/** Returns VT_MCP_START for a server that is not started on purpose. */
export const createInactiveError = (id: string, reason: string): VtError =>
  new VtError({
    code: 'VT_MCP_START',
    message: `The MCP server ${id} is not started: ${reason}.`,
    hint: 'This is not an error: change the named setting to start it.',
    retryable: false,
  })

/** Returns VT_MCP_START for a failed start, with the end of the server's standard error. */
export const createStartError = (id: string, reason: string, stderr_tail = ''): VtError =>
  new VtError({
    code: 'VT_MCP_START',
    message: `The MCP server ${id} cannot be started: ${reason}${quoteLastLine(stderr_tail)}.`,
    hint: stderr_tail
      ? 'Read details.stderr_tail, the end of its standard error.'
      : 'Correct the definition of the server.',
    retryable: false,
    ...(stderr_tail && { details: { stderr_tail } }),
  })

/** Quotes the last line that a program printed: it mostly names the cause. */
function quoteLastLine(text: string): string {
  const line = text.trim().split('\n').at(-1)!.trim()
  return line === '' ? '' : `; it printed '${truncateLine(line, 200)}'`
}
