import { relative, resolve } from 'node:path'
import { listGrantedBlocks, isProgram, sha256 } from '../../../core/system/index.js'
import { toText } from '../../../core/text/index.js'
import type { Contribution, JsonObject } from '../../../core/index.js'
import type { Inspection } from '../../../core/manifests/index.js'
import { toCanonicalJson, readTreeDigest } from '../../../core/trust/index.js'
import { formatTypedValue } from '../../lib/base/index.js'
import { findAdapterKey, resolveSlotName } from './trial_kernel.js'

export interface Permission {
  /** The id of the contribution. */
  id: string
  /** Slot, verb or key. */
  serves?: string
  effects?: readonly string[]
  /** Sentences without a full stop. */
  does: string[]
  /** Secrets and variables of the user that the contribution reads. */
  reads: string[]
}

/** Lists every contribution with what it runs, connects to, reads or judges. Skills and texts are excluded. */
export function listPermissions({ contributions, root }: Inspection): Permission[] {
  // The folder differs before and after installation.
  const hideRoot = (text: string) => text.replaceAll(root, '<plugin>')
  return contributions.map((contribution) => {
    const { id, manifest } = contribution
    const serves = resolveSlotName(contribution) ?? manifest.verb ?? manifest.key
    const blocks = listGrantedBlocks(contribution).map((name) => `the settings ${name}`)
    const secrets = Object.keys((manifest['secrets'] ?? {}) as JsonObject).map((key) => `the secret ${key}`)
    return {
      id,
      ...(serves !== undefined && { serves }),
      ...(manifest.effects && { effects: manifest.effects }),
      does: describeDeeds(contribution, root).map(hideRoot),
      reads: [...new Set([...blocks, ...secrets, ...findReferences(dropDescriptions(manifest))])],
    }
  })
}

/** Returns a hash that changes with the permissions and, where any code runs, with every file. */
export function executesHash(inspection: Inspection): string {
  const powers = listPermissions(inspection)
  const tree = powers.some(({ does }) => does.length > 0) ? readTreeDigest(inspection.root) : ''
  return `sha256-${sha256(`${toCanonicalJson(powers)}\0${tree}`, 'base64')}`
}

function describeDeeds(contribution: Contribution, root: string): string[] {
  const { kind, slot, stage, file, manifest, root: own } = contribution
  const { module, run, alias, http, mcp } = manifest
  const code = module ?? (alias?.['module'] as string | undefined)
  const foreign = findAdapterKey(contribution)
  const location = relative(root, file)
  return [
    ...(stage === 'override'
      ? [`overrides every call of ${slot}`]
      : stage === 'fallback'
        ? [`serves ${slot} when other handlers decline`]
        : []),
    ...(KIND_DEEDS[kind]?.(manifest) ?? []),
    ...(code === undefined
      ? []
      : [
          `runs the code in ${code} (${location}) ` +
            (['surface', 'adapter', 'provider', 'job_engine'].includes(kind)
              ? 'inside the program, with all your rights'
              : 'in a separate process'),
        ]),
    ...(run
      ? [
          `starts ${JSON.stringify(run)}${cannotStart(run[0], own) ? ', which is not executable' : ''}` +
            `${formatEnv(manifest['env'])}`,
        ]
      : []),
    ...(http ? [`connects to ${toText(http['method'] ?? 'GET')} ${toText(http['url'])}`] : []),
    ...(mcp ? [describeServer(mcp['server'], own)] : []),
    ...(foreign === undefined ? [] : [`makes the adapter of '${foreign}' do ${JSON.stringify(manifest[foreign])}`]),
    ...describeHooks(manifest.hooks),
    ...(manifest.provider ? [describeProvider(manifest.provider as JsonObject)] : []),
    ...(alias ? [`passes calls on to ${[...new Set(findTargets(alias))].join(', ')}`] : []),
  ]
}

const KIND_DEEDS: Partial<Record<Contribution['kind'], (manifest: Contribution['manifest']) => string[]>> = {
  policy: ({ slots, rules }) => [`judges ${formatSlots(slots)}${rules ? ` by ${JSON.stringify(rules)}` : ''}`],
  compactor: ({ slots }) => [`changes results of ${formatSlots(slots)}`],
  surface: ({ verb }) => [`adds the command \`vtcode ${verb}\``],
  adapter: ({ key }) => [`serves manifests with the key '${key}'`],
}

/** Checks whether a program of the plugin is no executable file. */
const cannotStart = (program: unknown, root: string): boolean =>
  typeof program === 'string' && program.includes('/') && !isProgram(resolve(root, program))

function describeProvider(provider: JsonObject): string {
  const { name, base_url, package: packageName, api_key_env, auth, headers } = provider
  const key =
    auth === undefined && api_key_env !== 'none'
      ? [toText(api_key_env ?? `${toText(name).toUpperCase().replace(/-/g, '_')}_API_KEY`)]
      : []
  const referenced = [...JSON.stringify([base_url ?? '', headers ?? {}]).matchAll(/\$\{?(\w+)/g)].map(
    ([, variable]) => variable!,
  )
  const variables = [...new Set([...key, ...referenced])]
  return (
    'sends conversations and tools to the models at ' +
    `${toText(base_url ?? packageName)}${variables.length > 0 ? `, with the values of ${variables.join(', ')}` : ''}`
  )
}

function describeServer(server: unknown, root: string): string {
  if (typeof server !== 'object' || server === null) return `calls the server ${toText(server)} of the settings`
  const { command, args, env: variables, cwd, url } = server as JsonObject
  if (url !== undefined) return `connects to the server ${formatTypedValue(url)}`
  return (
    `starts the server ${JSON.stringify([command, ...((args ?? []) as unknown[])].map(formatTypedValue))} in ` +
    `${formatTypedValue(cwd ?? root)}${formatEnv(variables)}`
  )
}

function describeHooks(block: Contribution['manifest']['hooks'] = {}): string[] {
  return Object.entries(block).flatMap(([event, groups]) =>
    groups.flatMap(({ matcher, hooks = [] }) =>
      (hooks as JsonObject[]).map(({ command, args = [], url }) => {
        const trigger =
          `at ${event}` + (typeof matcher === 'string' && matcher !== '' && matcher !== '*' ? ` of ${matcher}` : '')
        return url === undefined
          ? `runs ${JSON.stringify([command, ...(args as unknown[])].map(formatTypedValue).join(' '))} with all ` +
              `your rights ${trigger}`
          : `sends events to ${toText(url)} ${trigger}`
      }),
    ),
  )
}

const formatSlots = (slots: string[] | undefined): string => (slots ? `calls of ${slots.join(', ')}` : 'every call')
const formatEnv = (declared: unknown): string => {
  const names = Object.keys((declared ?? {}) as object)
  return names.length > 0 ? ` with ${names.join(', ')} in its environment` : ''
}

function findTargets(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(findTargets)
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, item]) =>
    key === 'to' && typeof item === 'string' ? [item] : findTargets(item),
  )
}

/** Drops the descriptions, schemas and examples of a manifest. */
const dropDescriptions = ({
  examples: _examples,
  example: _example,
  input: _input,
  output: _output,
  options: _options,
  meta: _meta,
  infer: _infer,
  ...rest
}: JsonObject): JsonObject => rest

/** Finds all references to variables, files, secrets and commands of the user. */
function findReferences(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(findReferences)
  if (typeof value !== 'object' || value === null) return []
  const [[key, item] = ['', undefined], ...others] = Object.entries(value)
  if (others.length === 0 && ['env', 'file', 'keychain'].includes(key) && typeof item !== 'object')
    return [`${key === 'env' ? 'the variable' : `the ${key}`} ${toText(item)}`]
  if (key === 'command' && Array.isArray(item)) return [`the output of ${JSON.stringify(item)}`]
  return Object.values(value).flatMap(findReferences)
}
