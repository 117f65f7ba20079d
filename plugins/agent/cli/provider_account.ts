import type { Io, Kernel } from '../../../core/contract/index.js'
import { signIn, signOut } from '../auth/index.js'
import { chooseComponents } from '../components/index.js'
import { createSignIn } from '../model/index.js'
import { findModel } from '../providers/index.js'

/** Returns the provider of the model that a session would use. Throws AgentError VT_LLM_NO_MODEL. */
function findProvider(kernel: Kernel, { env }: Io): { name: string; hasOauth: boolean } {
  const { entry } = findModel(kernel, env, env['VTCODE_MODEL'] ?? kernel.settings.agent.model)
  return { name: entry.name, hasOauth: entry.auth?.type === 'oauth' }
}

const createProviderLogin = async (kernel: Kernel, { env }: Io, name: string) =>
  createSignIn(kernel, name, await chooseComponents({ kernel, env }))

/** Signs in to the provider of the model; for a provider with a key, checks the key. Throws AgentError. */
export async function connectAccount(kernel: Kernel, io: Io, signal: AbortSignal): Promise<void> {
  const { name, hasOauth } = findProvider(kernel, io)
  if (hasOauth) return signIn(await createProviderLogin(kernel, io, name), kernel.workspace, signal)
  const { createAgent } = await import('../index.js')
  const agent = await createAgent(kernel, { env: io.env, providers: { session: 'memory' }, quiet: true })
  await agent.close()
}

/** Signs out of the provider of the model. A key in the environment stays. */
export async function disconnectAccount(kernel: Kernel, io: Io): Promise<void> {
  const { name, hasOauth } = findProvider(kernel, io)
  if (hasOauth) signOut(await createProviderLogin(kernel, io, name))
}
