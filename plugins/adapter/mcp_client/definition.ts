import { isAbsolute, resolve } from 'node:path'
import { definedOnly } from '../../../core/shapes/index.js'
import { environment, findProgram, pluginVariables, searchPath, sha256 } from '../../../core/system/index.js'
import { toText } from '../../../core/text/index.js'
import {
  VtError,
  type Contribution,
  type Effect,
  type JsonObject,
  type Launch,
  type AdapterContext,
  type Settings,
} from '../../../core/index.js'
import { requireStanding } from '../../../core/trust/index.js'
import { isOwnServer } from '../../lib/base/index.js'
import { KeptServer } from '../../lib/state/index.js'
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
/** A server that is asked what it offers, with what is known of it while it is not running. */
export interface Asked {
  server: string
  definition: Definition
  contribution: Contribution
  limits: Settings['mcp']
  kept: KeptServer
  failures: Failures
}
export interface ServerAddress {
  type: 'streamable-http' | 'sse'
  url: URL
  headers: Record<string, string>
  /** The sign-in, where the server requires one. */
  login?: LoginOptions
}

/** The definition of a contribution: its own, or the one in the settings that it names. */
export function definitionOf(
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

/** A variable of every server that we start; with it this program starts none, so that no file starts itself. */
const startedByUs = 'VTCODE_MCP_SERVER'

/** Why a requested server is not started: it would be this program. */
export function circle(definition: Definition, { env }: AdapterContext): string | undefined {
  if (isRemote(definition)) return undefined
  if (isOwnServer(definition.command, definition.args)) return 'it is this program, whose tools are here already'
  return env[startedByUs] === undefined ? undefined : 'this program is itself a server that another vtcode started'
}

/** The key of a running server: an equal definition of the same plugin and layer is the same. */
export function keyOf(
  definition: Definition,
  { plugin, layer, root }: Contribution,
  { workspace }: AdapterContext,
): string {
  return sha256(JSON.stringify([definition, plugin, layer, root, layer === 'workspace' ? workspace : '']))
}

/** What is known of a server while it is not running. */
export const keptServer = (
  name: string,
  definition: Definition,
  contribution: Contribution,
  adapterContext: AdapterContext,
): KeptServer => KeptServer.of(adapterContext.home, name, keyOf(definition, contribution, adapterContext))

interface LaunchContext {
  contribution: Contribution
  adapterContext: AdapterContext
  signal: AbortSignal
}

/** The program of a server, its values resolved. Throws VT_MCP_START, VT_SECRET_*, VT_CONFIG_ENV. */
export async function launchOf(
  definition: Definition,
  { contribution, adapterContext, signal }: LaunchContext,
): Promise<Launch> {
  const { command = '', args = [], cwd, env } = definition
  const expand = expander(contribution, adapterContext)
  const data = adapterContext.dataOf(contribution)
  const base = contribution.said ? adapterContext.workspace : contribution.root
  const asking = (field: string): ValueScope => ({ contribution, adapterContext, field: `mcp.${field}`, signal })
  const values = await resolveValues(env, asking('env'))
  const expanded = Object.fromEntries(
    Object.entries(values).map(([name, text]) => [
      name,
      typeof env![name] === 'string' ? expand(text, `env.${name}`) : text,
    ]),
  )
  const folder = await resolveValue(cwd ?? '', asking('cwd'))
  requireStanding(
    adapterContext.workspace,
    contribution.bringer ?? contribution,
    contribution.said ? 'mcp.servers' : undefined,
  )
  return {
    file: programOf((await resolveValue(command, asking('command'))) ?? '', base, contribution, adapterContext),
    args: (await resolveWords(args, asking('args'))).map((arg) => expand(arg, 'args')),
    cwd: resolve(base, expand(folder ?? '', 'cwd')),
    env: {
      ...environment(),
      VTCODE_WORKSPACE: adapterContext.workspace,
      ...expanded,
      [startedByUs]: '1',
      ...pluginVariables(contribution.root, data),
    },
  }
}

function programOf(
  command: string,
  base: string,
  { id, layer, said }: Contribution,
  { env, workspace }: AdapterContext,
): string {
  if (!command) throw startFailure(id, 'its definition has neither `command` nor `url`')
  if (!command.includes('/')) {
    const found = findProgram(command, searchPath(env['PATH'], workspace))
    if (!found) throw startFailure(id, `the program '${command}' is not on the search path`)
    return found
  }
  if (isAbsolute(command) && layer === 'workspace' && !said)
    throw startFailure(id, `an absolute path such as '${command}' counts in your own manifests only`)
  return resolve(base, command)
}

/** The address of a server, its values resolved. Throws VT_MCP_START, VT_SECRET_*, VT_CONFIG_ENV. */
export async function addressOf(
  definition: Definition,
  { contribution, adapterContext, signal }: LaunchContext,
): Promise<ServerAddress> {
  const { type, url = '', headers, auth } = definition
  const expand = expander(contribution, adapterContext)
  const asking: ValueScope = { contribution, adapterContext, field: 'mcp.headers', signal }
  const text = expand((await resolveValue(url, { ...asking, field: 'mcp.url' })) ?? '', 'url')
  if (!URL.canParse(text)) throw startFailure(contribution.id, `'${text}' is not a URL`)
  const target = new URL(text)
  const local = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(target.hostname)
  if (target.protocol !== 'https:' && !(target.protocol === 'http:' && local))
    throw startFailure(contribution.id, `'${text}' is not https, and not of this machine`)
  if (target.username || target.password || target.hash)
    throw startFailure(contribution.id, 'its URL holds a user name, a password or a fragment')
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
    const chosen = definedOnly({ client_id, issuer, scopes })
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
    throw startFailure(
      asking.contribution.id,
      `\`auth\` is not one of bearer, basic, header, query, oauth: ${toText(type)}`,
    )
}

/** `${NAME}` is expanded in the settings; in manifests the text stays as it is. */
function expander(contribution: Contribution, adapterContext: AdapterContext): (text: string, field: string) => string {
  return (text, field) =>
    contribution.said
      ? expandVariables(text, { contribution, adapterContext, field: `mcp.servers.${contribution.name}.${field}` })
      : text
}

/** VT_MCP_START for a server that was not started. */
export const leftAlone = (id: string, reason: string): VtError =>
  new VtError({
    code: 'VT_MCP_START',
    message: `The MCP server ${id} is not started: ${reason}.`,
    hint: 'Nothing is wrong with it.',
    retryable: false,
  })

/** VT_MCP_START, with the end of the server's standard error. */
export const startFailure = (id: string, reason: string, stderr_tail = ''): VtError =>
  new VtError({
    code: 'VT_MCP_START',
    message: `The MCP server ${id} cannot be started: ${reason}.`,
    hint: stderr_tail ? 'details.stderr_tail shows what it said.' : 'Correct its definition.',
    retryable: false,
    ...(stderr_tail && { details: { stderr_tail } }),
  })
