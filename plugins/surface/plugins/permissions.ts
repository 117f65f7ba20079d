import { relative, resolve } from 'node:path'
import { grantedBlocks, isProgram, sha256 } from '../../../core/system/index.js'
import { toText } from '../../../core/text/index.js'
import type { Contribution, JsonObject } from '../../../core/index.js'
import type { Inspection } from '../../../core/manifests/index.js'
import { canonicalJson, treeDigest } from '../../../core/trust/index.js'
import { formatTypedValue } from '../../lib/base/index.js'
import { foreignKey, slotMeant } from './bench.js'

export interface Permission {
  /** The contribution it comes from. */
  id: string
  /** Slot, verb or key. */
  serves?: string
  effects?: readonly string[]
  /** One sentence each, without a full stop. */
  does: string[]
  /** Where secrets and variables of the user go in. */
  reads: string[]
}

/** Everything that runs, connects, reads secrets or judges; skills and texts are none of it. */
export function permissionsOf({ contributions, root }: Inspection): Permission[] {
  // The folder is another one while it is looked at before it is installed.
  const placeless = (text: string) => text.replaceAll(root, '<plugin>')
  return contributions.map((contribution) => {
    const { id, manifest } = contribution
    const serves = slotMeant(contribution) ?? manifest.verb ?? manifest.key
    const blocks = grantedBlocks(contribution).map((name) => `the settings ${name}`)
    const secrets = Object.keys((manifest['secrets'] ?? {}) as JsonObject).map((key) => `the secret ${key}`)
    return {
      id,
      ...(serves !== undefined && { serves }),
      ...(manifest.effects && { effects: manifest.effects }),
      does: deedsOf(contribution, root).map(placeless),
      reads: [...new Set([...blocks, ...secrets, ...references(valued(manifest))])],
    }
  })
}

/** Changes with the powers and, where anything runs, with every byte that may run. */
export function executesHash(inspection: Inspection): string {
  const powers = permissionsOf(inspection)
  const tree = powers.some(({ does }) => does.length > 0) ? treeDigest(inspection.root) : ''
  return `sha256-${sha256(`${canonicalJson(powers)}\0${tree}`, 'base64')}`
}

function deedsOf(contribution: Contribution, root: string): string[] {
  const { kind, slot, stage, file, manifest, root: own } = contribution
  const { module, run, alias, http, mcp } = manifest
  const code = module ?? (alias?.['module'] as string | undefined)
  const foreign = foreignKey(contribution)
  const here = relative(root, file)
  return [
    ...(stage === 'override'
      ? [`stands in the way of every call of ${slot}`]
      : stage === 'fallback'
        ? [`answers ${slot} where others decline`]
        : []),
    ...(kindDeeds[kind]?.(manifest) ?? []),
    ...(code === undefined
      ? []
      : [
          `runs the code in ${code} (${here}) ${['surface', 'adapter', 'provider'].includes(kind) ? 'inside the program, with all your rights' : 'in a process of its own'}`,
        ]),
    ...(run
      ? [
          `starts ${JSON.stringify(run)}${cannotStart(run[0], own) ? ', which is no executable file' : ''}${env(manifest['env'])}`,
        ]
      : []),
    ...(http ? [`connects to ${toText(http['method'] ?? 'GET')} ${toText(http['url'])}`] : []),
    ...(mcp ? [serverDeed(mcp['server'], own)] : []),
    ...(foreign === undefined ? [] : [`has the adapter of '${foreign}' do ${JSON.stringify(manifest[foreign])}`]),
    ...hookDeeds(manifest.hooks),
    ...(manifest.provider ? [providerDeed(manifest.provider as JsonObject)] : []),
    ...(alias ? [`passes calls on to ${[...new Set(targets(alias))].join(', ')}`] : []),
  ]
}

const kindDeeds: Partial<Record<Contribution['kind'], (manifest: Contribution['manifest']) => string[]>> = {
  policy: ({ slots, rules }) => [`judges ${about(slots)}${rules ? ` by ${JSON.stringify(rules)}` : ''}`],
  compactor: ({ slots }) => [`changes answers of ${about(slots)}`],
  surface: ({ verb }) => [`adds the command \`vtcode ${verb}\``],
  adapter: ({ key }) => [`serves manifests with the key '${key}'`],
}

/** A file of the plugin that cannot be started as it is. */
const cannotStart = (program: unknown, root: string): boolean =>
  typeof program === 'string' && program.includes('/') && !isProgram(resolve(root, program))

function providerDeed(provider: JsonObject): string {
  const { name, base_url, package: made, api_key_env, auth, headers } = provider
  const key =
    auth === undefined && api_key_env !== 'none'
      ? [toText(api_key_env ?? `${toText(name).toUpperCase().replace(/-/g, '_')}_API_KEY`)]
      : []
  const named = [...JSON.stringify([base_url ?? '', headers ?? {}]).matchAll(/\$\{?(\w+)/g)].map(
    ([, variable]) => variable!,
  )
  const variables = [...new Set([...key, ...named])]
  return `sends conversations and tools to the models at ${toText(base_url ?? made)}${variables.length > 0 ? `, with what is in ${variables.join(', ')}` : ''}`
}

function serverDeed(server: unknown, root: string): string {
  if (typeof server !== 'object' || server === null) return `calls the server ${toText(server)} of the settings`
  const { command, args, env: variables, cwd, url } = server as JsonObject
  if (url !== undefined) return `connects to the server ${formatTypedValue(url)}`
  return `starts the server ${JSON.stringify([command, ...((args ?? []) as unknown[])].map(formatTypedValue))} in ${formatTypedValue(cwd ?? root)}${env(variables)}`
}

function hookDeeds(block: Contribution['manifest']['hooks'] = {}): string[] {
  return Object.entries(block).flatMap(([event, groups]) =>
    groups.flatMap(({ matcher, hooks = [] }) =>
      (hooks as JsonObject[]).map(({ command, args = [], url }) => {
        const at = `at ${event}${typeof matcher === 'string' && matcher !== '' && matcher !== '*' ? ` of ${matcher}` : ''}`
        return url === undefined
          ? `runs ${JSON.stringify([command, ...(args as unknown[])].map(formatTypedValue).join(' '))} with all your rights ${at}`
          : `tells ${toText(url)} ${at}`
      }),
    ),
  )
}

const about = (slots: string[] | undefined): string => (slots ? `calls of ${slots.join(', ')}` : 'every call')
const env = (declared: unknown): string => {
  const names = Object.keys((declared ?? {}) as object)
  return names.length > 0 ? ` with ${names.join(', ')} in its environment` : ''
}

function targets(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(targets)
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, item]) =>
    key === 'to' && typeof item === 'string' ? [item] : targets(item),
  )
}

/** The parts of a manifest that are more than words, schemas and examples. */
const valued = ({
  examples: _examples,
  example: _example,
  input: _input,
  output: _output,
  options: _options,
  meta: _meta,
  infer: _infer,
  ...rest
}: JsonObject): JsonObject => rest

/** References to what only the user has, wherever they stand. */
function references(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(references)
  if (typeof value !== 'object' || value === null) return []
  const [[key, item] = ['', undefined], ...others] = Object.entries(value)
  if (others.length === 0 && ['env', 'file', 'keychain'].includes(key) && typeof item !== 'object')
    return [`${key === 'env' ? 'the variable' : `the ${key}`} ${toText(item)}`]
  if (key === 'command' && Array.isArray(item)) return [`what ${JSON.stringify(item)} prints`]
  return Object.values(value).flatMap(references)
}
