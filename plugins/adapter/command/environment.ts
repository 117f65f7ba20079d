import { createPluginVariables } from '../../../core/system/index.js'
import { VtError, type JsonObject } from '../../../core/index.js'
import { resolveValues, type ValueScope } from '../../lib/values/index.js'
import type { TemplateValues } from './template.js'

// Variables that change which program runs or what it loads.
const STEERING_VARIABLES =
  /^(LD_\w*|DYLD_\w*|NODE_OPTIONS|BASH_ENV|ENV|IFS|PYTHONSTARTUP|PERL5OPT|RUBYOPT|GIT_\w*|PATH)$/

/**
 * Returns the variables that a command tool adds to the short environment of a child. Throws VT_MANIFEST_INVALID,
 * VT_SECRET_*.
 */
export async function buildToolEnvironment(
  { workspace, plugin_root, plugin_data }: TemplateValues,
  asking: Omit<ValueScope, 'field'>,
): Promise<Record<string, string>> {
  const { manifest, layer } = asking.contribution
  const declared = (manifest['env'] ?? {}) as JsonObject
  const steers = Object.entries(declared).find(
    ([name, value]) => STEERING_VARIABLES.test(name) && (typeof value !== 'string' || layer === 'workspace'),
  )
  if (steers) {
    const message = `env.${steers[0]} changes which programs run; only your own manifests may set it, to literal text.`
    throw new VtError({
      code: 'VT_MANIFEST_INVALID',
      message,
      hint: 'Remove it from `env` of the manifest.',
      retryable: false,
    })
  }
  const values = await resolveValues(declared, { ...asking, field: 'env' })
  return { VTCODE_WORKSPACE: workspace, ...values, ...createPluginVariables(plugin_root, plugin_data) }
}
