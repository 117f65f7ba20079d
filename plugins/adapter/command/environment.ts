import { VtError, type Contribution, type JsonObject } from '../../../core/index.js'
import type { Values } from './template.js'

// Variables that change which program runs or what it loads.
const steering = /^(LD_\w*|DYLD_\w*|NODE_OPTIONS|BASH_ENV|ENV|IFS|PYTHONSTARTUP|PERL5OPT|RUBYOPT|GIT_\w*|PATH)$/

/** What a command tool adds to the short environment of every child. Throws VT_MANIFEST_INVALID. */
export function environmentOf({ manifest, root, layer }: Contribution, values: Values): Record<string, string> {
  const env: Record<string, string> = { VTCODE_WORKSPACE: values.workspace, PLUGIN_ROOT: root }
  for (const [name, value] of Object.entries((manifest.env ?? {}) as JsonObject)) {
    if (steering.test(name) && (typeof value !== 'string' || layer === 'workspace')) {
      throw invalid(`env.${name} changes what runs; only your own manifests may set it, to a literal.`)
    }
    const text = valueOf(name, value, values)
    if (text !== undefined) env[name] = text
  }
  return env
}

/** One value: a literal, a variable of ours, a property of the input, an option of the plugin. */
function valueOf(name: string, value: unknown, { input, options }: Values): string | undefined {
  if (typeof value === 'string') return value
  const [[form, key] = []] = Object.entries((value ?? {}) as JsonObject)
  if (form === 'env') return process.env[String(key)]
  if (form !== 'input' && form !== 'option') throw invalid(`env.${name} is none of: text, { env }, { input }, { option }.`)
  const found = (form === 'input' ? input : options)[String(key)]
  if (found === undefined) return undefined
  const text = String(found)
  if (text.includes('\0')) throw invalid(`env.${name} would hold a NUL character.`)
  return text
}

const invalid = (message: string): VtError =>
  new VtError({ code: 'VT_MANIFEST_INVALID', message, hint: 'Mend `env` of the manifest.', retryable: false })
