import { homedir } from 'node:os'
import { keepSecret } from '../../../core/text/index.js'
import { printed } from '../../lib/process/index.js'
import { AgentError, messageOf, type AgentProviders } from '../base/index.js'
import { createAwsCredential } from './aws.js'
import { createTokenCredential } from './oauth.js'
import { authType, fixed, type Auth, type Credential, type CredentialLookup } from './types.js'

interface Provider {
  name: string
  base_url?: string
}

/** Returns the credential that a checked `auth` of a provider declares. Throws VT_LLM_AUTH. */
export async function createCredential(
  { name: provider, base_url = '' }: Provider,
  auth: Auth,
  providers: AgentProviders,
  { resolve, workspace, home }: CredentialLookup,
): Promise<Credential> {
  const value = async (key: keyof Auth) => {
    const text = await resolve(auth[key], `auth.${key}`)
    keepSecret(text, provider)
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
      const pair = Buffer.from(
        `${await resolve(auth['username'], 'auth.username')}:${await value('password')}`,
      ).toString('base64')
      keepSecret(pair, provider)
      return fixed({ headers: { authorization: `Basic ${pair}` } })
    }
    case 'command':
      return byCommand(provider, auth, providers, workspace)
    case 'oauth':
      return createTokenCredential({ provider, base_url, auth, home, providers })
    case 'aws_sigv4':
      return createAwsCredential({ provider, auth, providers, workspace })
    default:
      return fixed({})
  }
}

/** A token that a program prints; asked for anew when it is old or was refused. */
function byCommand(provider: string, auth: Auth, providers: AgentProviders, workspace: string): Credential {
  const { refresh_interval_ms = 300_000 } = auth
  const { clock } = providers
  let token: Promise<string> | undefined
  let since = 0
  return {
    async read() {
      if (!token || clock.now() - since > refresh_interval_ms) {
        since = clock.now()
        token = tokenOf(provider, auth, providers, workspace)
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

async function tokenOf(
  provider: string,
  { command = '', args = [], cwd = homedir(), timeout_ms = 5000 }: Auth,
  { env }: AgentProviders,
  workspace: string,
): Promise<string> {
  const refused = (why: string) =>
    new AgentError(
      'VT_LLM_AUTH',
      `The command '${command}' that prints the token of the provider '${provider}' ${why}.`,
    )
  const token = await printed({
    program: command,
    args,
    cwd,
    path: env['PATH'],
    workspace,
    seconds: timeout_ms / 1000,
  }).catch((error: unknown) => Promise.reject(refused(messageOf(error))))
  if (token === '') throw refused('printed nothing')
  keepSecret(token, provider)
  return token
}
