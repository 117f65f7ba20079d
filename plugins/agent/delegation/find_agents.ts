import { readdirSync, realpathSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { omitUndefined, VtError } from '../../../core/shapes/index.js'
import { isInside, programFile, sha256, resolveUserFolder } from '../../../core/system/index.js'
import { findNearest } from '../../../core/text/index.js'
import { readBytes } from '../../../core/documents/index.js'
import type { Kernel } from '../../../core/contract/index.js'
import { hasGrant } from '../../../core/registry/index.js'
import { openTrust, type TrustItem } from '../../../core/trust/index.js'
import { createHiddenFilter, createSecretFilter } from '../../../core/workspace/index.js'
import { AgentError, toErrorMessage } from '../base/index.js'
import { agentLimits, parseAgent, type AgentRemark, type AgentFields } from './definition.js'

/** The author of a definition: the repository, the user, a plugin, or this program. */
export type AgentSource = 'workspace' | 'user' | 'plugin' | 'builtin'
export interface AgentDefinition extends AgentFields {
  source: AgentSource
  /** The plugin of the definition. */
  plugin?: string
  file: string
  /** `false`: the agent only reads; only its texts and its limits are used. */
  trusted: boolean
  /** Present if the user can consent to the rights of the definition. */
  item?: TrustItem
}
/** A diagnostic about a file, or about a definition that another one replaces. */
export interface AgentFault extends AgentRemark {
  file: string
}
export interface FoundAgents {
  /** One definition for each name, sorted by name. */
  agents: readonly AgentDefinition[]
  faults: readonly AgentFault[]
}
interface AgentFolder {
  source: AgentSource
  folder: string
  plugin?: string
  /** The definitions, if they are not those of the folder. */
  files?: readonly string[]
  /** The folder belongs to the repository. */
  fromRepository: boolean
}
type Environment = Readonly<Record<string, string | undefined>>
const MAX_FILES = 200

/**
 * Finds every agent, with the nearest definition of each name: workspace, user, plugins, built in. Contract: does not
 * throw for invalid files.
 */
export function findAgents(kernel: Kernel, env: Environment): FoundAgents {
  const faults: AgentFault[] = []
  const agents = new Map<string, AgentDefinition>()
  const trust = openTrust({ home: kernel.inspection.home, workspace: kernel.workspace, env: { ...env } })
  for (const place of listAgentFolders(kernel, env)) {
    for (const file of listDefinitions(place, faults)) {
      const found = readDefinition(place, file, kernel, faults)
      if (!found) continue
      const winner = agents.get(found.name)
      if (winner)
        faults.push({
          severity: 'warning',
          message: `The agent '${found.name}' is not used: ${winner.file} also defines it and has priority.`,
          line: 1,
          file,
        })
      else {
        const trusted = found.item === undefined ? found.trusted : trust.isTrusted(found.item)
        agents.set(found.name, { ...(trusted ? found : restrict(found)), trusted })
      }
    }
  }
  for (const agent of agents.values()) reportRights(agent, kernel, faults)
  return { agents: [...agents.values()].sort((a, b) => (a.name < b.name ? -1 : 1)), faults }
}

/** Returns a definition without the choices that the user did not agree to: of a model, a worktree, the background. */
function restrict({ reasoning_effort: _, ...agent }: AgentDefinition): AgentDefinition {
  return { ...agent, model: 'inherit', isolation: 'shared', background: false }
}

/** Returns the agent of this name. Throws VT_AGENT_UNKNOWN with the nearest name. */
export function requireAgent({ agents }: FoundAgents, name: string): AgentDefinition {
  const found = agents.find((one) => one.name === name)
  if (found) return found
  const names = agents.map((one) => one.name)
  const like = findNearest(name, names)
  throw new AgentError(
    'VT_AGENT_UNKNOWN',
    `Unknown agent '${name.slice(0, 64)}'${like === undefined ? '' : `; nearest: ${like}`}; ` +
      `known: ${names.join(', ')}.`,
  )
}

/** Lists the definitions of the repository that need consent, with their digests, for `vtcode trust`. */
export const listTrustItems = (kernel: Kernel, env: Environment): TrustItem[] =>
  findAgents(kernel, env).agents.flatMap(({ item }) => item ?? [])

function listAgentFolders(kernel: Kernel, env: Environment): AgentFolder[] {
  const {
    workspace,
    inspection: { home },
  } = kernel
  const user = env['HOME'] ?? dirname(home)
  const { claude_folders: claude } = kernel.settings.skills
  const folder = (source: 'workspace' | 'user', path: string): AgentFolder => ({
    source,
    folder: path,
    fromRepository: source === 'workspace',
  })
  const own = [
    folder('user', join(home, 'agents')),
    ...(claude ? [folder('user', join(user, '.claude', 'agents'))] : []),
  ]
  const userFolders = own.flatMap((place) => resolveRealPath(place.folder) ?? [])
  const workspaceFolders = [
    join(workspace, '.vtcode', 'agents'),
    ...(claude ? [join(workspace, '.claude', 'agents')] : []),
  ]
  const layers = new Map(kernel.inspection.plugins().map(({ name, layer }) => [name, layer]))
  const plugins = new Map<string, string[]>()
  for (const { plugin, file } of kernel.inspection.skills().agents)
    plugins.set(plugin, [...(plugins.get(plugin) ?? []), file])
  return [
    // In the home folder of the user, the folders of the workspace are the user's own.
    ...workspaceFolders
      .filter((path) => !userFolders.includes(resolveRealPath(path) ?? ''))
      .map((path) => folder('workspace', path)),
    ...own,
    ...[...plugins].map(([plugin, files]): AgentFolder => ({
      source: 'plugin',
      plugin,
      folder: dirname(files[0]!),
      files,
      fromRepository: layers.get(plugin) === 'workspace',
    })),
    { source: 'builtin', folder: programFile('manifests/agents'), fromRepository: false },
  ]
}

const resolveRealPath = (path: string): string | undefined => {
  try {
    return realpathSync(path)
  } catch {
    return undefined
  }
}

function listDefinitions({ folder, files }: AgentFolder, faults: AgentFault[]): readonly string[] {
  if (files) return files
  let names: string[]
  try {
    names = readdirSync(folder)
      .filter((name) => name.endsWith('.md') && !name.startsWith('.'))
      .sort()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
      faults.push({
        severity: 'error',
        message: `The folder cannot be read: ${toErrorMessage(error)}.`,
        line: 1,
        file: folder,
      })
    return []
  }
  if (names.length > MAX_FILES)
    faults.push({
      severity: 'warning',
      message: `The folder holds ${names.length} definitions; the first ${MAX_FILES} are used.`,
      line: 1,
      file: folder,
    })
  return names.slice(0, MAX_FILES).map((name) => join(folder, name))
}

function readDefinition(
  place: AgentFolder,
  file: string,
  kernel: Kernel,
  faults: AgentFault[],
): AgentDefinition | undefined {
  let bytes: Buffer
  try {
    bytes = readBytes(file, {
      limit: agentLimits.file,
      judge: place.source === 'workspace' ? (real) => refuseHidden(kernel, file, real) : undefined,
    })
  } catch (error) {
    faults.push({
      severity: 'error',
      message: error instanceof VtError ? error.message : `The file cannot be read: ${toErrorMessage(error)}.`,
      line: 1,
      file,
    })
    return undefined
  }
  const { agent, remarks } = parseAgent(bytes)
  faults.push(...remarks.map((remark) => ({ ...remark, file })))
  if (!agent) return undefined
  const { source, plugin, fromRepository } = place
  const asks = fromRepository && needsConsent(agent)
  const item = asks && source === 'workspace' ? { item: toTrustItem(agent, file, bytes, kernel.workspace) } : {}
  return { ...agent, source, file, ...(plugin !== undefined && { plugin }), trusted: !fromRepository, ...item }
}

/**
 * Throws for a definition of the repository that is outside of the workspace or hidden from tools, because its text
 * goes into a prompt.
 */
function refuseHidden({ workspace, settings, inspection: { home, env } }: Kernel, file: string, real: string): void {
  if (!isInside(workspace, real)) throw new AgentError('VT_PATH_OUTSIDE', 'The link leads out of the workspace')
  const hidden = [
    createHiddenFilter(settings, { root: workspace, user: resolveUserFolder({ env }) }),
    createSecretFilter(workspace, home),
  ]
  if ([file, real].some((path) => hidden.some((matches) => matches?.(relative(workspace, path)))))
    throw new AgentError('VT_POLICY_DENIED', 'A rule denies reading the file')
}

/** Returns whether a definition requests more than texts and limits. One without `tools` requests all of them. */
const needsConsent = ({ mode, tools, model, reasoning_effort, isolation, background }: AgentFields): boolean =>
  mode !== 'plan' ||
  tools === undefined ||
  tools.length > 0 ||
  model !== 'inherit' ||
  reasoning_effort !== undefined ||
  isolation !== 'shared' ||
  background

function toTrustItem(agent: AgentFields, file: string, bytes: Uint8Array, workspace: string): TrustItem {
  const path = relative(workspace, file)
  const {
    name,
    description,
    tools = ['(all of the conversation)'],
    mode = '(that of the conversation)',
    model,
    reasoning_effort,
    isolation,
    background,
    body,
  } = agent
  const more = omitUndefined({ reasoning_effort })
  return {
    id: `agent:${path}`,
    title: `The agent ${name} in ${basename(file)}, with the rights, the model and the isolation that it asks for`,
    files: [file],
    digest: sha256(bytes),
    value: { name, description, tools, mode, model, ...more, isolation, background, prompt: body },
  }
}

function reportRights(agent: AgentDefinition, kernel: Kernel, faults: AgentFault[]): void {
  const { file, tools = [], disallowed, trusted, item } = agent
  const slots = kernel.list()
  for (const name of [...tools, ...disallowed]) {
    if (!slots.some((slot) => hasGrant([name], slot)))
      faults.push({
        severity: 'warning',
        message: `The tool '${name.slice(0, 80)}' is unknown and left out.`,
        line: 1,
        file,
      })
  }
  if (!trusted) {
    const advice = item
      ? 'run `vtcode trust` to consent to its rights'
      : 'plugins of the workspace give their agents no rights'
    faults.push({
      severity: 'warning',
      message: `The agent '${agent.name}' belongs to the workspace and only reads; ${advice}.`,
      line: 1,
      file,
    })
  }
}
