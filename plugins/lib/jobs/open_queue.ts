import type { Settings } from '../../../core/shapes/index.js'

import type { Kernel } from '../../../core/contract/index.js'
import { isLoopback } from '../local_server/index.js'
import { resolveValue } from '../values/index.js'
import { createQueueError } from './errors.js'
import type { JobEngine, OpenEngine } from './types.js'

/** An opened engine with the settings that its users need. */
export interface OpenQueue {
  engine: JobEngine
  /** Key of all signatures. */
  secret: string
  /** Jobs stay in this process, which therefore has to work on them itself. */
  isLocal: boolean
  settings: Settings['automation']['distributed']
}

const MIN_SECRET_CHARS = 16
const createSettingsError = (problem: string, hint: string) => createQueueError('VT_QUEUE_SETTINGS', problem, hint)

/**
 * Opens the engine of `automation.distributed`. Throws VT_QUEUE_SETTINGS for missing settings, VT_QUEUE_NO_ENGINE if
 * no engine serves the URL, and the errors of the engine.
 */
export async function openQueue(kernel: Kernel): Promise<OpenQueue> {
  const settings = kernel.settings.automation.distributed
  if (!settings.enabled)
    throw createSettingsError(
      'Work on other machines is off: automation.distributed.enabled is false.',
      'Set automation.distributed.enabled, url and secret in ~/.vtcode/vtcode.config.yaml; docs/scale.md shows how.',
    )
  const [url, secret] = await Promise.all([resolve(kernel, 'url'), resolve(kernel, 'secret')])
  if (secret.length < MIN_SECRET_CHARS)
    throw createSettingsError(
      `automation.distributed.secret has ${secret.length} characters; at least ${MIN_SECRET_CHARS} are needed.`,
      'Use a random text, for example the output of `openssl rand -hex 32`.',
    )
  const scheme = requireScheme(url, settings.allow_plain)
  const engines = kernel.inspection.jobEngines().filter(({ contribution: { layer } }) => layer !== 'workspace')
  const found = engines.find(({ contribution: { manifest } }) => manifest.schemes?.includes(scheme))
  if (!found)
    throw createQueueError(
      'VT_QUEUE_NO_ENGINE',
      `No job engine serves URLs with '${scheme}:'.`,
      `Use one of: ${engines.flatMap(({ contribution }) => contribution.manifest.schemes ?? []).join(', ')}.`,
    )
  const open = (await found.load()) as OpenEngine
  const { prefix, lock_ms, stalled_ms, result_ttl_secs, require_durable } = settings
  const engine = await open({ url, prefix, lock_ms, stalled_ms, result_ttl_secs, require_durable })
  return { engine, secret, settings, isLocal: scheme === 'memory' }
}

async function resolve(kernel: Kernel, key: 'url' | 'secret'): Promise<string> {
  const { settings, workspace, inspection } = kernel
  const value = await resolveValue(settings.automation.distributed[key] ?? '', {
    // Only own settings may contain these values, so they count as values of the user.
    contribution: { id: 'automation.distributed', plugin: 'user', layer: 'user', file: 'settings', manifest: {} },
    adapterContext: { env: inspection.env, workspace, settings, resolveOptions: () => ({}) },
    field: `automation.distributed.${key}`,
    signal: new AbortController().signal,
  })
  if (value) return value
  throw createSettingsError(
    `automation.distributed.${key} is not set.`,
    `Set it in ~/.vtcode/vtcode.config.yaml, or name a variable that contains the value: ${key}: { env: NAME }.`,
  )
}

/** Returns the scheme of a URL. Throws VT_QUEUE_SETTINGS, also for an unencrypted server on another machine. */
function requireScheme(url: string, allow_plain: boolean): string {
  if (!URL.canParse(url))
    throw createSettingsError(
      'automation.distributed.url is no URL.',
      'Use a URL such as redis://:password@127.0.0.1:6379.',
    )
  const { protocol, hostname } = new URL(url)
  if (protocol === 'redis:' && !allow_plain && !isLoopback(hostname))
    throw createSettingsError(
      `The queue server on ${hostname} would be used without TLS.`,
      'Use rediss://, or set automation.distributed.allow_plain: true in a network that only you can read.',
    )
  return protocol.slice(0, -1)
}
