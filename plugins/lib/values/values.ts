import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import { problem, VtError, type Contribution, type JsonObject, type Settings } from '../../../core/shapes/index.js'
import { cleanSearchPath } from '../../../core/system/index.js'
import { registerSecret, isSecretName, toText } from '../../../core/text/index.js'
import type { AdapterContext } from '../../../core/contract/index.js'
import { requireUnchanged } from '../../../core/trust/index.js'
import { captureOutput as programOutput } from '../process/index.js'

/** Owner of a value, and the sources of the forms `option` and `input`. */
export interface ValueScope {
  contribution: Pick<Contribution, 'id' | 'plugin' | 'layer' | 'file' | 'manifest'>
  adapterContext: Pick<AdapterContext, 'env' | 'workspace'> & {
    settings: Partial<Settings>
    resolveOptions(contribution: ValueScope['contribution']): Readonly<JsonObject>
  }
  /** Names the place of the value in error texts: `http.auth.value`. */
  field: string
  input?: Readonly<JsonObject>
  signal: AbortSignal
}

const MAX_BYTES = 65_536
const FORMS = ['env', 'file', 'command', 'keychain', 'secret', 'option', 'input', 'join']

/**
 * Resolves a typed value at the moment of use; `undefined` for an absent input, an unset option or an optional
 * secret. Secrets are registered with the redactor first. Throws VT_SECRET_MISSING, VT_SECRET_REFUSED.
 */
export async function resolveValue(value: unknown, asking: ValueScope): Promise<string | undefined> {
  if (typeof value === 'string') return value
  const declared = (value ?? {}) as JsonObject
  const [form = '', ...others] = FORMS.filter((name) => Object.hasOwn(declared, name))
  if (others.length > 0 || form === '')
    throw createRefusal(
      asking,
      `the value must be one of: text, ${FORMS.slice(0, -1)
        .map((name) => `{ ${name} }`)
        .join(', ')}`,
    )
  const own = asking.contribution.layer !== 'workspace'
  if (!own && (form === 'file' || form === 'keychain'))
    throw createRefusal(asking, `{ ${form} } is only allowed in your own settings and manifests`)
  if (form === 'option') return toValueText(readOption(toText(declared['option']), asking), asking)
  if (form === 'join')
    return (await Promise.all((declared['join'] as unknown[]).map((part) => resolveValue(part, asking)))).join('')
  if (form === 'input') return toValueText(asking.input?.[toText(declared['input'])], asking)
  if (form === 'secret') return readSecret(toText(declared['secret']), asking)
  return readExternal(form, declared, asking)
}

/** Resolves every value of a map; absent ones are left out. */
export async function resolveValues(values: unknown, asking: ValueScope): Promise<Record<string, string>> {
  const found = Object.entries((values ?? {}) as JsonObject).map(async ([name, value]): Promise<[string, string][]> => {
    const text = await resolveValue(value, { ...asking, field: `${asking.field}.${name}` })
    return text === undefined ? [] : [[name, text]]
  })
  return Object.fromEntries((await Promise.all(found)).flat())
}

/** Resolves the words of an argument list; an option that is a list becomes several words. */
export async function resolveWords(values: readonly unknown[], asking: ValueScope): Promise<string[]> {
  const words = values.map(async (value) => {
    const key = typeof value === 'object' && value !== null ? (value as JsonObject)['option'] : undefined
    const found = key === undefined ? undefined : readOption(toText(key), asking)
    if (Array.isArray(found)) return found.map((item) => toValueText(item, asking) ?? '')
    const text = await resolveValue(value, asking)
    return text === undefined ? [] : [text]
  })
  return (await Promise.all(words)).flat()
}

/** Returns an option of the plugin. Throws VT_SECRET_MISSING for a missing required one. */
function readOption(key: string, { contribution, adapterContext, field }: ValueScope): unknown {
  const options = adapterContext.resolveOptions(contribution)
  const value = Object.hasOwn(options, key) ? options[key] : undefined
  if (value !== undefined || !(contribution.manifest.options?.['required'] as string[] | undefined)?.includes(key))
    return value
  const setting = `plugins: { settings: { '${contribution.plugin}': { options: { ${JSON.stringify(key)}: … } } } }`
  const way = `Write to ~/.vtcode/vtcode.config.yaml: ${setting}`
  throw problem('VT_SECRET_MISSING', { field, id: contribution.id, what: `the option '${key}'`, way })
}

/** Resolves a secret that the manifest declares and the user binds in `secrets`. */
async function readSecret(key: string, asking: ValueScope): Promise<string | undefined> {
  const { contribution, adapterContext } = asking
  const needs = (contribution.manifest['secrets'] ?? {}) as Record<string, { required?: boolean }>
  if (!Object.hasOwn(needs, key))
    throw createRefusal(asking, `the manifest does not declare the secret '${key}' under \`secrets\``)
  const name = `${contribution.plugin}:${key}`
  const bound = adapterContext.settings.secrets?.[name]
  if (bound === undefined) {
    if (needs[key]?.required === false) return undefined
    const way = `Write to ~/.vtcode/vtcode.config.yaml: secrets: { '${name}': { env: NAME } }`
    throw problem('VT_SECRET_MISSING', { field: asking.field, id: contribution.id, what: `the secret '${name}'`, way })
  }
  // The binding belongs to the user, for every plugin.
  const text = await resolveValue(bound, {
    ...asking,
    contribution: { ...contribution, layer: 'user' },
    field: `secrets['${name}']`,
  })
  if (text !== undefined) registerSecret(text, name)
  return text
}

async function readExternal(form: string, declared: JsonObject, asking: ValueScope): Promise<string> {
  if (form === 'env') return readVariable(toText(declared['env']), asking, declared['default'])
  const text =
    form === 'file'
      ? await readFileText(toText(declared['file']), asking)
      : await readProgramOutput(form, declared, asking)
  registerSecret(text, asking.field)
  return text
}

/** Reads a variable; PATH without folders that belong to others. */
const readPlainVariable = (env: AdapterContext['env'], name: string): string | undefined =>
  name === 'PATH' && env[name] !== undefined ? cleanSearchPath(env[name]) : env[name]

/** Reads a variable; packages may declare a default. */
function readVariable(name: string, { adapterContext, contribution, field }: ValueScope, byDefault: unknown): string {
  const text = readPlainVariable(adapterContext.env, name)
  if (text === undefined) {
    if (typeof byDefault === 'string') return byDefault
    throw problem('VT_SECRET_MISSING', {
      field,
      id: contribution.id,
      what: `the variable ${name}`,
      way: `Set ${name} where the program is started.`,
    })
  }
  if (isSecretName(name)) registerSecret(text, name)
  return text
}

async function readFileText(path: string, asking: ValueScope): Promise<string> {
  const home = asking.adapterContext.env['HOME'] ?? homedir()
  const file = path.startsWith('~/')
    ? join(home, path.slice(2))
    : isAbsolute(path)
      ? path
      : resolve(dirname(asking.contribution.file), path)
  // Opened without waiting for a writer, so that a pipe is refused instead of waited for.
  const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw createRefusal(asking, `the file '${file}' cannot be read (${error.code})`)
    throw problem('VT_SECRET_MISSING', {
      field: asking.field,
      id: asking.contribution.id,
      what: `the file ${file}`,
      way: 'Create the file, readable only by you.',
    })
  })
  try {
    const stat = await handle.stat()
    if (!stat.isFile()) throw createRefusal(asking, `'${file}' is not a regular file`)
    if ((stat.mode & 0o022) !== 0)
      throw createRefusal(asking, `other users can write '${file}'; run \`chmod go-w\` on it`)
    if (stat.size > MAX_BYTES) throw createRefusal(asking, `'${file}' is larger than 64 KiB`)
    return (await handle.readFile('utf8')).replace(/\r?\n$/, '')
  } finally {
    await handle.close()
  }
}

const outputCache = new Map<string, { text: string; until: number }>()

/** Returns the output of a program: one of the user's, or the keychain of the system. */
async function readProgramOutput(form: string, declared: JsonObject, asking: ValueScope): Promise<string> {
  const argv =
    form === 'command'
      ? declared['command']
      : createKeychainArgv(declared['keychain'] as { service: string; account: string })
  if (!Array.isArray(argv) || argv.length === 0 || !argv.every((word) => typeof word === 'string'))
    throw createRefusal(asking, '{ command } must be a list of words')
  const { timeout_secs = 10, refresh_secs = 0 } = declared as { timeout_secs?: number; refresh_secs?: number }
  const key = JSON.stringify(argv)
  const before = outputCache.get(key)
  if (before && before.until > Date.now()) return before.text
  const [name, ...args] = argv as [string, ...string[]]
  const { contribution, adapterContext, signal } = asking
  requireUnchanged(adapterContext.workspace, contribution)
  const cwd = dirname(contribution.file)
  const program = name.includes('/') ? resolve(cwd, name) : name
  const text = await programOutput({
    program,
    args,
    cwd,
    path: adapterContext.env['PATH'],
    workspace: adapterContext.workspace,
    seconds: timeout_secs,
    signal,
  }).catch((error: unknown) => {
    throw error instanceof VtError ? error : createRefusal(asking, `the program '${name}' ${(error as Error).message}`)
  })
  if (refresh_secs > 0) outputCache.set(key, { text, until: Date.now() + refresh_secs * 1000 })
  return text
}

const createKeychainArgv = ({ service, account }: { service: string; account: string }): string[] =>
  process.platform === 'darwin'
    ? ['security', 'find-generic-password', '-w', '-s', service, '-a', account]
    : ['secret-tool', 'lookup', 'service', service, 'account', account]

function toValueText(value: unknown, asking: ValueScope): string | undefined {
  if (value === undefined || value === null) return undefined
  if (!['string', 'number', 'boolean'].includes(typeof value))
    throw createRefusal(asking, 'the value must be a text, number or boolean')
  const text = toText(value)
  if (text.includes('\0')) throw createRefusal(asking, 'the text contains a NUL character')
  return text
}

const createRefusal = ({ contribution, field }: ValueScope, reason: string) =>
  problem('VT_SECRET_REFUSED', { id: contribution.id, field, reason })

const VARIABLE = /\$\$|\$\{([A-Za-z_]\w*)(?::-([^}]*))?\}/g

/**
 * Expands `${NAME}` and `${NAME:-text}` in a text of the settings, in one pass; `$$` is a dollar.
 * `trust.workspace_env` lists the variables that a workspace file may use. Throws VT_CONFIG_ENV.
 */
export function expandVariables(
  text: string,
  asking: Pick<ValueScope, 'adapterContext' | 'contribution' | 'field'>,
): string {
  const { adapterContext, contribution } = asking
  const allowed = adapterContext.settings.trust?.workspace_env ?? []
  return text.replace(VARIABLE, (_whole, name: string | undefined, fallback: string | undefined) => {
    if (name === undefined) return '$'
    const closed = contribution.layer === 'workspace' && !allowed.includes(name)
    const value = closed ? undefined : readPlainVariable(adapterContext.env, name)
    if (value !== undefined && isSecretName(name)) registerSecret(value, name)
    if (value !== undefined || fallback !== undefined) return value ?? fallback!
    throw problem('VT_CONFIG_ENV', {
      field: asking.field,
      name,
      reason: closed ? 'is not among `trust.workspace_env`' : 'is not set',
    })
  })
}
