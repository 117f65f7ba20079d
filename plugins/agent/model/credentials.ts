import { registerSecret } from '../../../core/text/index.js'
import { createCredential, createFixedCredential, type Credential, type CredentialLookup } from '../auth/index.js'
import { AgentError, type AgentProviders } from '../base/index.js'
import { getKeyVariable, type ProviderSource } from '../providers/index.js'

/**
 * Returns the credential of an entry: from `auth`, else from the variable of its key. Throws VT_LLM_AUTH for a
 * missing required key.
 */
export async function resolveCredential(
  { entry, builtin }: ProviderSource,
  providers: AgentProviders,
  finding: CredentialLookup,
): Promise<Credential> {
  if (entry.auth) return createCredential(entry, entry.auth, providers, finding)
  const variable = getKeyVariable(entry)
  const key = variable === undefined ? undefined : providers.env[variable]
  if (!key && variable !== undefined && (builtin || entry.api_key_env !== undefined)) {
    throw new AgentError('VT_LLM_AUTH', `The key of the provider '${entry.name}' is missing: ${variable} is not set.`, {
      hint: builtin
        ? `Set ${variable} in the environment.`
        : `Set ${variable} in the environment, or set api_key_env: none for a server without keys.`,
    })
  }
  if (key) registerSecret(key, variable!)
  return createFixedCredential(key ? { key } : {})
}
