import { keepSecretsOf } from '../text/index.js'

/** What a kernel is told, with the environment that is meant: a home that is said holds there too, and what names call secret is kept so. */
export function surrounded<T extends { home?: string; env?: Record<string, string | undefined> }>(
  options: T,
): T & { env: Record<string, string | undefined> } {
  const { home, env = process.env } = options
  if (env !== process.env) keepSecretsOf(env)
  return { ...options, env: home === undefined || env['HOME'] === home ? env : { ...env, HOME: home } }
}
