import { registerEnvSecrets } from '../text/index.js'

/**
 * Returns the options with their environment: `home` becomes its HOME, and variables with secret names are registered
 * for redaction. The variables of `process.env` are registered at the start.
 */
export function resolveEnvironment<T extends { home?: string; env?: Record<string, string | undefined> }>(
  options: T,
): T & { env: Record<string, string | undefined> } {
  const { home, env = process.env } = options
  if (env !== process.env) registerEnvSecrets(env)
  return { ...options, env: home === undefined || env['HOME'] === home ? env : { ...env, HOME: home } }
}
