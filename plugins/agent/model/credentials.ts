import { keepSecret } from '../../../core/text/index.js'
import { createCredential, fixed, type Credential, type CredentialLookup } from '../auth/index.js'
import { AgentError, type AgentProviders } from '../base/index.js'
import { keyVariable, type ProviderSource } from '../providers/index.js'

/** The credential of an entry: that of `auth`, else the key in its variable. Throws VT_LLM_AUTH for one that is asked for by name and not there. */
export async function credentialOf(
  { entry, builtin }: ProviderSource,
  providers: AgentProviders,
  finding: CredentialLookup,
): Promise<Credential> {
  if (entry.auth) return createCredential(entry, entry.auth, providers, finding)
  const variable = keyVariable(entry)
  const key = variable === undefined ? undefined : providers.env[variable]
  if (!key && variable !== undefined && (builtin || entry.api_key_env !== undefined)) {
    throw new AgentError('VT_LLM_AUTH', `The key of the provider '${entry.name}' is missing: ${variable} is not set.`, {
      hint: `Set ${variable} in the environment${builtin ? '.' : ', or say api_key_env: none for a server without keys.'}`,
    })
  }
  if (key) keepSecret(key, variable!)
  return fixed(key ? { key } : {})
}
