import { homedir } from 'node:os'
import { findProgram, searchPath } from '../../../../core/index.js'
import { run } from '../../process.js'
import { keepSecret } from '../../redact.js'
import type { AgentProviders } from '../dictionary.js'
import { AgentError } from '../errors.js'
import { fixed, type Credential, type Resolve } from './credentials.js'
import { authType, type Auth, type Entry } from './entry.js'

/** The credential that an `auth` describes; what its type needs is there. Throws VT_LLM_AUTH. */
export async function authOf({ name: provider, base_url = '' }: Entry, auth: Auth, providers: AgentProviders, resolve: Resolve): Promise<Credential> {
  const value = async (key: string) => {
    const text = await resolve(auth[key], `auth.${key}`)
    keepSecret(text)
    return text
  }
  switch (authType(auth)) {
    case 'bearer':
      return fixed({ headers: { authorization: `Bearer ${await value('value')}` } })
    case 'header':
      return fixed({ headers: { [auth.name!]: await value('value') } })
    case 'query':
      return fixed({ query: { [auth.name!]: await value('value') } })
    case 'basic': {
      const pair = Buffer.from(`${await resolve(auth['username'], 'auth.username')}:${await value('password')}`).toString('base64')
      keepSecret(pair)
      return fixed({ headers: { authorization: `Basic ${pair}` } })
    }
    case 'command':
      return byCommand(provider, auth, providers)
    case 'oauth':
      return (await import('./oauth.js')).bySignIn({ provider, base_url, auth, providers })
    default:
      return fixed({})
  }
}

/** A token that a program prints; asked for anew when it is old or was refused. */
function byCommand(provider: string, auth: Auth, { env, clock }: AgentProviders): Credential {
  const { timeout_ms = 5000, refresh_interval_ms = 300_000 } = auth
  let token: Promise<string> | undefined
  let since = 0
  return {
    async read() {
      if (!token || clock.now() - since > refresh_interval_ms) {
        since = clock.now()
        token = printed(provider, auth, env, timeout_ms)
      }
      try {
        return { headers: { authorization: `Bearer ${await token}` } }
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
  const { command = '', args = [], cwd = homedir() } = auth
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
  if (bytes > mostBytes) throw refused(`printed more than ${mostBytes} bytes`)
  if (ended.exit_code !== 0) throw refused(`ended with exit code ${ended.exit_code}`)
  const token = Buffer.concat(chunks).toString('utf8').trim()
  if (token === '') throw refused('printed nothing')
  keepSecret(token)
  return token
}
