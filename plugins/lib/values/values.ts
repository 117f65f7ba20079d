import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import { problem, VtError, type Contribution, type JsonObject, type Settings } from '../../../core/shapes/index.js'
import { keepSecret, looksSecret, toText } from '../../../core/text/index.js'
import type { AdapterContext } from '../../../core/contract/index.js'
import { requireStanding } from '../../../core/trust/index.js'
import { printed as programOutput } from '../process/index.js'

/** Who asks for a value, and what the forms `option` and `input` look into. */
export interface ValueScope {
  contribution: Pick<Contribution, 'id' | 'plugin' | 'layer' | 'file' | 'manifest'>
  adapterContext: Pick<AdapterContext, 'env' | 'workspace'> & {
    settings: Partial<Settings>
    optionsOf(contribution: ValueScope['contribution']): Readonly<JsonObject>
  }
  /** Names the place of the value in error texts: `http.auth.value`. */
  field: string
  input?: Readonly<JsonObject>
  signal: AbortSignal
}

const MAX_BYTES = 65_536
const forms = ['env', 'file', 'command', 'keychain', 'secret', 'option', 'input', 'join']

/**
 * The text a typed value stands for, resolved at the moment it is used; `undefined` for an absent input, an unset option or a secret
 * that is not required. What is secret is known to the redactor before anybody gets it. Throws VT_SECRET_MISSING, VT_SECRET_REFUSED.
 */
export async function resolveValue(value: unknown, asking: ValueScope): Promise<string | undefined> {
  if (typeof value === 'string') return value
  const declared = (value ?? {}) as JsonObject
  const [form = '', ...others] = forms.filter((name) => Object.hasOwn(declared, name))
  if (others.length > 0 || form === '')
    throw refused(
      asking,
      `it is not one of: text, ${forms
        .slice(0, -1)
        .map((name) => `{ ${name} }`)
        .join(', ')}`,
    )
  const own = asking.contribution.layer !== 'workspace'
  if (!own && (form === 'file' || form === 'keychain'))
    throw refused(asking, `{ ${form} } counts in your own settings and manifests only`)
  if (form === 'option') return textOf(option(toText(declared['option']), asking), asking)
  if (form === 'join')
    return (await Promise.all((declared['join'] as unknown[]).map((part) => resolveValue(part, asking)))).join('')
  if (form === 'input') return textOf(asking.input?.[toText(declared['input'])], asking)
  if (form === 'secret') return secret(toText(declared['secret']), asking)
  return outside(form, declared, asking)
}

/** Every value of a map; absent ones are left out. */
export async function resolveValues(values: unknown, asking: ValueScope): Promise<Record<string, string>> {
  const found = Object.entries((values ?? {}) as JsonObject).map(async ([name, value]): Promise<[string, string][]> => {
    const text = await resolveValue(value, { ...asking, field: `${asking.field}.${name}` })
    return text === undefined ? [] : [[name, text]]
  })
  return Object.fromEntries((await Promise.all(found)).flat())
}

/** Words of an argument list: a list of the user's stands for several where it is all of one. */
export async function resolveWords(values: readonly unknown[], asking: ValueScope): Promise<string[]> {
  const words = values.map(async (value) => {
    const key = typeof value === 'object' && value !== null ? (value as JsonObject)['option'] : undefined
    const found = key === undefined ? undefined : option(toText(key), asking)
    if (Array.isArray(found)) return found.map((item) => textOf(item, asking) ?? '')
    const text = await resolveValue(value, asking)
    return text === undefined ? [] : [text]
  })
  return (await Promise.all(words)).flat()
}

/** What the user set for the plugin. Throws VT_SECRET_MISSING for what it cannot do without. */
function option(key: string, { contribution, adapterContext, field }: ValueScope): unknown {
  const options = adapterContext.optionsOf(contribution)
  const value = Object.hasOwn(options, key) ? options[key] : undefined
  if (value !== undefined || !(contribution.manifest.options?.['required'] as string[] | undefined)?.includes(key))
    return value
  const way = `Write to ~/.vtcode/vtcode.config.yaml: plugins: { settings: { '${contribution.plugin}': { options: { ${JSON.stringify(key)}: … } } } }`
  throw problem('VT_SECRET_MISSING', { field, id: contribution.id, what: `the option '${key}'`, way })
}

/** A need that the manifest names and the user binds in `secrets`. */
async function secret(key: string, asking: ValueScope): Promise<string | undefined> {
  const { contribution, adapterContext } = asking
  const needs = (contribution.manifest['secrets'] ?? {}) as Record<string, { required?: boolean }>
  if (!Object.hasOwn(needs, key))
    throw refused(asking, `the manifest does not name the secret '${key}' under \`secrets\``)
  const name = `${contribution.plugin}:${key}`
  const bound = adapterContext.settings.secrets?.[name]
  if (bound === undefined) {
    if (needs[key]?.required === false) return undefined
    const way = `Write to ~/.vtcode/vtcode.config.yaml: secrets: { '${name}': { env: NAME } }`
    throw problem('VT_SECRET_MISSING', { field: asking.field, id: contribution.id, what: `the secret '${name}'`, way })
  }
  // What the user bound is the user's word, whoever asks for it.
  const text = await resolveValue(bound, {
    ...asking,
    contribution: { ...contribution, layer: 'user' },
    field: `secrets['${name}']`,
  })
  if (text !== undefined) keepSecret(text, name)
  return text
}

async function outside(form: string, declared: JsonObject, asking: ValueScope): Promise<string> {
  if (form === 'env') return variable(toText(declared['env']), asking, declared['default'])
  const text =
    form === 'file' ? await fileText(toText(declared['file']), asking) : await printed(form, declared, asking)
  keepSecret(text, asking.field)
  return text
}

/** Packages may say what counts where the variable is not set. */
function variable(name: string, { adapterContext, contribution, field }: ValueScope, byDefault: unknown): string {
  const text = adapterContext.env[name]
  if (text === undefined) {
    if (typeof byDefault === 'string') return byDefault
    throw problem('VT_SECRET_MISSING', {
      field,
      id: contribution.id,
      what: `the variable ${name}`,
      way: `Set ${name} where the program is started.`,
    })
  }
  if (looksSecret(name)) keepSecret(text, name)
  return text
}

async function fileText(path: string, asking: ValueScope): Promise<string> {
  const home = asking.adapterContext.env['HOME'] ?? homedir()
  const file = path.startsWith('~/')
    ? join(home, path.slice(2))
    : isAbsolute(path)
      ? path
      : resolve(dirname(asking.contribution.file), path)
  // Opened without waiting for a writer, so that a pipe is refused instead of waited for.
  const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw refused(asking, `${file} cannot be read (${error.code})`)
    throw problem('VT_SECRET_MISSING', {
      field: asking.field,
      id: asking.contribution.id,
      what: `the file ${file}`,
      way: 'Make the file, readable by you alone.',
    })
  })
  try {
    const stat = await handle.stat()
    if (!stat.isFile()) throw refused(asking, `${file} is no regular file`)
    if ((stat.mode & 0o022) !== 0) throw refused(asking, `others may write ${file}; chmod go-w it`)
    if (stat.size > MAX_BYTES) throw refused(asking, `${file} is larger than 64 KiB`)
    return (await handle.readFile('utf8')).replace(/\r?\n$/, '')
  } finally {
    await handle.close()
  }
}

const printedBefore = new Map<string, { text: string; until: number }>()

/** What a program prints: one of the user's own, or the keeper of secrets of the system. */
async function printed(form: string, declared: JsonObject, asking: ValueScope): Promise<string> {
  const argv =
    form === 'command' ? declared['command'] : keeper(declared['keychain'] as { service: string; account: string })
  if (!Array.isArray(argv) || argv.length === 0 || !argv.every((word) => typeof word === 'string'))
    throw refused(asking, '{ command } is a list of words')
  const { timeout_secs = 10, refresh_secs = 0 } = declared as { timeout_secs?: number; refresh_secs?: number }
  const key = JSON.stringify(argv)
  const before = printedBefore.get(key)
  if (before && before.until > Date.now()) return before.text
  const [name, ...args] = argv as [string, ...string[]]
  const { contribution, adapterContext, signal } = asking
  requireStanding(adapterContext.workspace, contribution)
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
    throw error instanceof VtError ? error : refused(asking, `the program ${name} ${(error as Error).message}`)
  })
  if (refresh_secs > 0) printedBefore.set(key, { text, until: Date.now() + refresh_secs * 1000 })
  return text
}

const keeper = ({ service, account }: { service: string; account: string }): string[] =>
  process.platform === 'darwin'
    ? ['security', 'find-generic-password', '-w', '-s', service, '-a', account]
    : ['secret-tool', 'lookup', 'service', service, 'account', account]

function textOf(value: unknown, asking: ValueScope): string | undefined {
  if (value === undefined || value === null) return undefined
  if (!['string', 'number', 'boolean'].includes(typeof value))
    throw refused(asking, 'a text, number or boolean is needed')
  const text = toText(value)
  if (text.includes('\0')) throw refused(asking, 'the text would hold a NUL character')
  return text
}

const refused = ({ contribution, field }: ValueScope, reason: string) =>
  problem('VT_SECRET_REFUSED', { id: contribution.id, field, reason })

const reference = /\$\$|\$\{([A-Za-z_]\w*)(?::-([^}]*))?\}/g

/**
 * `${NAME}` and `${NAME:-text}` in a text of the settings, in one pass; `$$` is a dollar. What a workspace file may name the user
 * lists in `trust.workspace_env`. Throws VT_CONFIG_ENV.
 */
export function expandVariables(
  text: string,
  asking: Pick<ValueScope, 'adapterContext' | 'contribution' | 'field'>,
): string {
  const { adapterContext, contribution } = asking
  const allowed = adapterContext.settings.trust?.workspace_env ?? []
  return text.replace(reference, (whole, name: string | undefined, fallback: string | undefined) => {
    if (name === undefined) return '$'
    const closed = contribution.layer === 'workspace' && !allowed.includes(name)
    const value = closed ? undefined : adapterContext.env[name]
    if (value !== undefined && looksSecret(name)) keepSecret(value, name)
    if (value !== undefined || fallback !== undefined) return value ?? fallback!
    throw problem('VT_CONFIG_ENV', {
      field: asking.field,
      name,
      reason: closed ? 'is not among `trust.workspace_env`' : 'is not set',
    })
  })
}
