import type { McpServer } from '@agentclientprotocol/sdk'
import type { Config, Kernel } from '../../../core/index.js'
import { isSecretName, truncateLine } from '../../../core/text/index.js'
import { fenceBlock, toOneLine } from '../../lib/terminal/index.js'
import { invalidParams } from './errors.js'
import { readChosenOption, type AskPermission } from './permissions.js'
import { toTextContent } from './editor_call.js'

type StdioServer = Extract<McpServer, { command: string }>
type HttpServer = Exclude<McpServer, { command: string }>

/** Checks the servers that an editor gives to a session. Throws invalid params. */
export function checkServers(kernel: Kernel, servers: readonly McpServer[]): readonly McpServer[] {
  const taken = new Set(Object.keys(kernel.settings.mcp.servers))
  for (const [at, server] of servers.entries()) {
    if ('type' in server && server.type !== 'http')
      throw invalidParams(`mcpServers[${at}].type`, 'must be http, or absent for a program on stdio.')
    if (server.name.trim() === '') throw invalidParams(`mcpServers[${at}].name`, 'is empty.')
  }
  // A server of the settings keeps its own definition.
  return servers.filter(({ name }) => !taken.has(name))
}

const OPTIONS = [
  { optionId: 'start', name: 'Use it for this session', kind: 'allow_once' as const },
  { optionId: 'skip', name: 'Continue without it', kind: 'reject_once' as const },
]

/** Asks for consent to each server that an editor names, and returns the settings of the agreed ones. */
export async function agreeToServers(servers: readonly McpServer[], ask: AskPermission): Promise<Config> {
  const agreed: Record<string, object> = {}
  for (const server of servers)
    if (await isAgreed(server, ask))
      agreed[server.name] =
        'command' in server
          ? { command: server.command, args: server.args.map(quote), env: toRecord(server.env) }
          : { type: 'streamable-http', url: quote(server.url), headers: toRecord(server.headers) }
  return { mcp: { servers: agreed } } as Config
}

async function isAgreed(server: McpServer, ask: AskPermission): Promise<boolean> {
  const { name } = server
  const { what, line, pairs } = 'command' in server ? describeProgram(server) : describeAddress(server)
  const response = await ask({
    toolCall: {
      toolCallId: `mcp-${name}`,
      title: toOneLine(`${what} the MCP server ${name}: ${line}`).slice(0, 400),
      kind: 'execute',
      status: 'pending',
      content: [toTextContent([fenceBlock('sh', line), ...(pairs === '' ? [] : [pairs])].join('\n\n'))],
    },
    options: OPTIONS,
  })
  return readChosenOption(response, OPTIONS) === 'start'
}

/** A variable can change what a program does, so its value is shown unless its name says that it is a secret. */
function describeProgram({ command, args, env }: StdioServer) {
  const line = [command, ...args].map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : JSON.stringify(word))).join(' ')
  const pairs = env.map(({ name, value }) => `${name}=${isSecretName(name) ? '…' : truncateLine(value, 200)}`)
  return { what: 'Start', line: `$ ${line}`, pairs: pairs.join('\n') }
}

function describeAddress({ url, headers }: HttpServer) {
  const names = headers.map(({ name }) => name)
  return { what: 'Connect to', line: url, pairs: names.length === 0 ? '' : `Headers: ${names.join(', ')}` }
}

/** Texts of an editor are literal, but the settings expand variables: `$$` is a dollar there. */
const quote = (text: string): string => text.replaceAll('$', () => '$$')
const toRecord = (pairs: readonly { name: string; value: string }[]): Record<string, string> =>
  Object.fromEntries(pairs.map(({ name, value }) => [name, quote(value)]))
