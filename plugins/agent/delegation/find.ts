import { readdirSync, realpathSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { VtError } from '../../../core/shapes/index.js'
import { inside, programFile, sha256, userOf } from '../../../core/system/index.js'
import { nearest } from '../../../core/text/index.js'
import { readBytes } from '../../../core/documents/index.js'
import type { Kernel } from '../../../core/contract/index.js'
import { leaves } from '../../../core/registry/index.js'
import { openTrust, type TrustItem } from '../../../core/trust/index.js'
import { createHiddenFilter, createSecretFilter } from '../../../core/workspace/index.js'
import { AgentError, messageOf } from '../base/index.js'
import { agentLimits, parseAgent, type AgentRemark, type AgentText } from './definition.js'

/** Who wrote a definition: the repository, the user, a plugin, or this program. */
export type AgentSource = 'workspace' | 'user' | 'plugin' | 'builtin'
export interface AgentDefinition extends AgentText {
  source: AgentSource
  /** The plugin that brings it. */
  plugin?: string
  file: string
  /** `false`: its words count and nothing else; it only reads. */
  trusted: boolean
  /** Present where the user may agree to what it asks for. */
  item?: TrustItem
}
/** A remark about a file; of a definition that another one of its name hides, the remark says so. */
export interface AgentFault extends AgentRemark {
  file: string
}
export interface FoundAgents {
  /** One of each name, by name. */
  agents: readonly AgentDefinition[]
  faults: readonly AgentFault[]
}
interface Place {
  source: AgentSource
  folder: string
  plugin?: string
  /** Instead of what lies in the folder. */
  files?: readonly string[]
  /** It came with the repository. */
  foreign: boolean
}
type Environment = Readonly<Record<string, string | undefined>>
const mostFiles = 200

/** Every agent that can be started, the nearest definition of each name: workspace, user, plugins, built in. Contract: does not throw for what a file holds. */
export function findAgents(kernel: Kernel, env: Environment): FoundAgents {
  const faults: AgentFault[] = []
  const agents = new Map<string, AgentDefinition>()
  const trust = openTrust({ home: kernel.inspection.home, workspace: kernel.workspace, env: { ...env } })
  for (const place of placesOf(kernel, env)) {
    for (const file of filesIn(place, faults)) {
      const found = definitionIn(place, file, kernel, faults)
      if (!found) continue
      const winner = agents.get(found.name)
      if (winner)
        faults.push({
          severity: 'warning',
          message: `The agent '${found.name}' is not used: ${winner.file} defines it too and is nearer.`,
          line: 1,
          file,
        })
      else
        agents.set(found.name, {
          ...found,
          trusted: found.item === undefined ? found.trusted : trust.isTrusted(found.item),
        })
    }
  }
  for (const agent of agents.values()) remarkRights(agent, kernel, faults)
  return { agents: [...agents.values()].sort((a, b) => (a.name < b.name ? -1 : 1)), faults }
}

/** The agent of this name. Throws VT_AGENT_UNKNOWN with the nearest. */
export function namedAgent({ agents }: FoundAgents, name: string): AgentDefinition {
  const found = agents.find((one) => one.name === name)
  if (found) return found
  const names = agents.map((one) => one.name)
  const like = nearest(name, names)
  throw new AgentError(
    'VT_AGENT_UNKNOWN',
    `Unknown agent '${name.slice(0, 64)}'${like === undefined ? '' : `; nearest: ${like}`}; known: ${names.join(', ')}.`,
  )
}

/** What a repository's definitions ask for beyond reading, each with its digest: `vtcode trust` shows them and asks. */
export const agentItems = (kernel: Kernel, env: Environment): TrustItem[] =>
  findAgents(kernel, env).agents.flatMap(({ item }) => item ?? [])

function placesOf(kernel: Kernel, env: Environment): Place[] {
  const {
    workspace,
    inspection: { home },
  } = kernel
  const user = env['HOME'] ?? dirname(home)
  const { claude_folders: claude } = kernel.settings.skills
  const folder = (source: 'workspace' | 'user', path: string): Place => ({
    source,
    folder: path,
    foreign: source === 'workspace',
  })
  const own = [
    folder('user', join(home, 'agents')),
    ...(claude ? [folder('user', join(user, '.claude', 'agents'))] : []),
  ]
  const mine = own.flatMap((place) => realOf(place.folder) ?? [])
  const theirs = [join(workspace, '.vtcode', 'agents'), ...(claude ? [join(workspace, '.claude', 'agents')] : [])]
  const layers = new Map(kernel.inspection.plugins().map(({ name, layer }) => [name, layer]))
  const plugins = new Map<string, string[]>()
  for (const { plugin, file } of kernel.inspection.skills().agents)
    plugins.set(plugin, [...(plugins.get(plugin) ?? []), file])
  return [
    // A workspace that is the home of the user has the user's own.
    ...theirs.filter((path) => !mine.includes(realOf(path) ?? '')).map((path) => folder('workspace', path)),
    ...own,
    ...[...plugins].map(([plugin, files]): Place => ({
      source: 'plugin',
      plugin,
      folder: dirname(files[0]!),
      files,
      foreign: layers.get(plugin) === 'workspace',
    })),
    { source: 'builtin', folder: programFile('manifests/agents'), foreign: false },
  ]
}

const realOf = (path: string): string | undefined => {
  try {
    return realpathSync(path)
  } catch {
    return undefined
  }
}

function filesIn({ folder, files }: Place, faults: AgentFault[]): readonly string[] {
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
        message: `The folder cannot be read: ${messageOf(error)}.`,
        line: 1,
        file: folder,
      })
    return []
  }
  if (names.length > mostFiles)
    faults.push({
      severity: 'warning',
      message: `The folder holds ${names.length} definitions; the first ${mostFiles} are used.`,
      line: 1,
      file: folder,
    })
  return names.slice(0, mostFiles).map((name) => join(folder, name))
}

function definitionIn(place: Place, file: string, kernel: Kernel, faults: AgentFault[]): AgentDefinition | undefined {
  let bytes: Buffer
  try {
    bytes = readBytes(file, {
      limit: agentLimits.file,
      judge: place.source === 'workspace' ? (real) => refuseKept(kernel, file, real) : undefined,
    })
  } catch (error) {
    faults.push({
      severity: 'error',
      message: error instanceof VtError ? error.message : `The file cannot be read: ${messageOf(error)}.`,
      line: 1,
      file,
    })
    return undefined
  }
  const { agent, remarks } = parseAgent(bytes)
  faults.push(...remarks.map((remark) => ({ ...remark, file })))
  if (!agent) return undefined
  const { source, plugin, foreign } = place
  const asks = foreign && asksForMore(agent)
  const item = asks && source === 'workspace' ? { item: itemOf(agent, file, bytes, kernel.workspace) } : {}
  return { ...agent, source, file, ...(plugin !== undefined && { plugin }), trusted: !foreign, ...item }
}

/** Throws for a definition of the repository that a link leads out of the workspace, or that a rule keeps from tools: its words go into a prompt. */
function refuseKept({ workspace, settings, inspection: { home, env } }: Kernel, file: string, real: string): void {
  if (!inside(workspace, real)) throw new AgentError('VT_PATH_OUTSIDE', 'The link leads out of the workspace')
  const hidden = [
    createHiddenFilter(settings, { root: workspace, user: userOf({ env }) }),
    createSecretFilter(workspace, home),
  ]
  if ([file, real].some((path) => hidden.some((matches) => matches?.(relative(workspace, path)))))
    throw new AgentError('VT_POLICY_DENIED', 'A rule denies reading it')
}

/** Does a definition want to do more than read? One that says nothing wants everything. */
const asksForMore = ({ mode, tools }: AgentText): boolean => mode !== 'plan' || tools === undefined || tools.length > 0

function itemOf(agent: AgentText, file: string, bytes: Uint8Array, workspace: string): TrustItem {
  const path = relative(workspace, file)
  const {
    name,
    description,
    tools = ['(all of the conversation)'],
    mode = '(that of the conversation)',
    model,
    body,
  } = agent
  return {
    id: `agent:${path}`,
    title: `The agent ${name} in ${basename(file)}, with more than reading`,
    files: [file],
    digest: sha256(bytes),
    value: { name, description, tools, mode, model, prompt: body },
  }
}

function remarkRights(agent: AgentDefinition, kernel: Kernel, faults: AgentFault[]): void {
  const { file, tools = [], disallowed, trusted, item } = agent
  const slots = kernel.list()
  for (const name of [...tools, ...disallowed]) {
    if (!slots.some((slot) => leaves([name], slot)))
      faults.push({
        severity: 'warning',
        message: `The tool '${name.slice(0, 80)}' is not known here and is left out.`,
        line: 1,
        file,
      })
  }
  if (!trusted) {
    const way = item ? '`vtcode trust` shows it and asks' : 'a plugin of the workspace gives its agents no rights'
    faults.push({
      severity: 'warning',
      message: `The agent '${agent.name}' came with the workspace and only reads; ${way}.`,
      line: 1,
      file,
    })
  }
}
