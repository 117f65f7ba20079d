import { homedir } from 'node:os'
import { run } from '../../process.js'
import { findProgram, searchPath } from '../../programs.js'
import { keepSecret } from '../../redact.js'
import type { AgentProviders } from '../dictionary.js'
import { AgentError } from '../errors.js'
import type { Credential, Resolve } from './credentials.js'
import type { Auth } from './provider.js'

/** The credential that an `auth` describes. Throws VT_LLM_AUTH. */
export async function authOf(provider: string, auth: Auth, providers: AgentProviders, resolve: Resolve): Promise<Credential> {
  const type = auth.type ?? (auth.command === undefined ? undefined : 'command')
  const value = async (key: string) => {
    const text = await resolve(auth[key], `auth.${key}`)
    keepSecret(text)
    return text
  }
  const name = typeof auth['name'] === 'string' ? auth['name'] : undefined
  const fixed = (headers: Record<string, string>, query: Record<string, string> = {}): Credential => ({ read: async () => ({ headers, query }), refresh: () => false })
  switch (type) {
    case 'none':
      return fixed({})
    case 'bearer':
      return fixed({ authorization: `Bearer ${await value('value')}` })
    case 'header':
      return fixed({ [name ?? 'x-api-key']: await value('value') })
    case 'query':
      return fixed({}, { [name ?? 'key']: await value('value') })
    case 'basic':
      return fixed({ authorization: `Basic ${Buffer.from(`${await value('username')}:${await value('password')}`).toString('base64')}` })
    case 'command':
      return byCommand(provider, auth, providers)
    default:
      throw new AgentError('VT_LLM_AUTH', `auth of the provider '${provider}' has the type '${String(type)}'; known: none, bearer, header, query, basic, command.`)
  }
}

/** A token that a program prints; asked for anew when it is old or was refused. */
function byCommand(provider: string, auth: Auth, { env, clock }: AgentProviders): Credential {
  const { timeout_ms = 5000, refresh_interval_ms = 300_000 } = auth as { timeout_ms?: number; refresh_interval_ms?: number }
  let token: Promise<string> | undefined
  let since = 0
  return {
    async read() {
      if (!token || clock.now() - since > refresh_interval_ms) {
        since = clock.now()
        token = printed(provider, auth, env, timeout_ms)
      }
      try {
        return { headers: { authorization: `Bearer ${await token}` }, query: {} }
      } catch (error) {
        token = undefined
        throw error
      }
    },
    refresh() {
      token = undefined
      return true
    },
  }
}

const mostBytes = 64 * 1024

async function printed(provider: string, auth: Auth, env: AgentProviders['env'], timeout_ms: number): Promise<string> {
  const { command = '', args = [], cwd = homedir() } = auth as { command?: string; args?: string[]; cwd?: string }
  const refused = (why: string) => new AgentError('VT_LLM_AUTH', `The command '${command}' that prints the token of the provider '${provider}' ${why}.`)
  const file = command.includes('/') ? command : findProgram(command, searchPath(env['PATH'], cwd))
  if (file === undefined) throw refused('is not on the search path')
  const chunks: Buffer[] = []
  let bytes = 0
  const ended = await run({ file, args, cwd }, { signal: new AbortController().signal, seconds: timeout_ms / 1000 }, (chunk) => {
    chunks.push(chunk)
    return (bytes += chunk.length) <= mostBytes ? undefined : false
  })
  if (!ended) throw refused('cannot be started')
  if (ended.timed_out) throw refused(`took longer than ${timeout_ms} ms`)
  if (ended.exit_code !== 0) throw refused(`ended with exit code ${ended.exit_code}`)
  const token = Buffer.concat(chunks).toString('utf8').trim()
  if (token === '') throw refused('printed nothing')
  keepSecret(token)
  return token
}
