import { homedir } from 'node:os'
import { registerSecret } from '../../../core/text/index.js'
import { captureOutput } from '../../lib/process/index.js'
import { AgentError, toErrorMessage, type AgentProviders } from '../base/index.js'
import { createAwsCredential } from './aws.js'
import { createTokenCredential } from './oauth.js'
import { authType, createFixedCredential, type Auth, type Credential, type CredentialLookup } from './types.js'

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
    registerSecret(text, provider)
    return text
  }
  switch (authType(auth)) {
    case 'bearer':
      return createFixedCredential({ headers: { authorization: `Bearer ${await value('value')}` } })
    case 'header':
      return createFixedCredential({ headers: { [auth.name!]: await value('value') } })
    case 'query':
      return createFixedCredential({ query: { [auth.name!]: await value('value') } })
    case 'basic': {
      const pair = Buffer.from(
        `${await resolve(auth['username'], 'auth.username')}:${await value('password')}`,
      ).toString('base64')
      registerSecret(pair, provider)
      return createFixedCredential({ headers: { authorization: `Basic ${pair}` } })
    }
    case 'command':
      return createCommandCredential(provider, auth, providers, workspace)
    case 'oauth':
      return createTokenCredential({ provider, base_url, auth, home, providers })
    case 'aws_sigv4':
      return createAwsCredential({ provider, auth, providers, workspace })
    default:
      return createFixedCredential({})
  }
}

/** Creates a credential from a token that a program prints; the program runs again after the interval or a refusal. */
function createCommandCredential(
  provider: string,
  auth: Auth,
  providers: AgentProviders,
  workspace: string,
): Credential {
  const { refresh_interval_ms = 300_000 } = auth
  const { clock } = providers
  let token: Promise<string> | undefined
  let since = 0
  return {
    async read() {
      if (!token || clock.now() - since > refresh_interval_ms) {
        since = clock.now()
        token = runTokenCommand(provider, auth, providers, workspace)
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

async function runTokenCommand(
  provider: string,
  { command = '', args = [], cwd = homedir(), timeout_ms = 5000 }: Auth,
  { env }: AgentProviders,
  workspace: string,
): Promise<string> {
  const toAuthError = (why: string) =>
    new AgentError(
      'VT_LLM_AUTH',
      `The command '${command}' that prints the token of the provider '${provider}' ${why}.`,
    )
  const token = await captureOutput({
    program: command,
    args,
    cwd,
    path: env['PATH'],
    workspace,
    seconds: timeout_ms / 1000,
  }).catch((error: unknown) => Promise.reject(toAuthError(toErrorMessage(error))))
  if (token === '') throw toAuthError('printed nothing')
  registerSecret(token, provider)
  return token
}
