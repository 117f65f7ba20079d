import { statSync } from 'node:fs'
import { plainly } from '../../../core/input/index.js'
import {
  redact,
  type ContributionInfo,
  type Diagnostic,
  type Effect,
  type Kernel,
  type SlotInfo,
} from '../../../core/index.js'

// What the page shows of a kernel: plain data, made when somebody looks. Nothing here calls a tool or writes.

/** One who serves a slot, or would. */
export interface SlotServer {
  id: string
  stage: string
  layer: string
  state: string
  file: string
  /** Its place among those that are asked, from 1; absent for who is not asked. */
  place?: number
  /** Why it is asked there, or is not. */
  why: string
}
export interface SlotFacts {
  slot: string
  title?: string
  description: string
  effects: readonly Effect[]
  audience?: string
  /** How models see its tool; absent where nobody lists it. */
  listed: boolean
  aliases: readonly string[]
  input: unknown
  example?: unknown
  servers: SlotServer[]
}
/** A plugin with what it brings and what is wrong with it. */
export interface PluginFacts {
  name: string
  root: string
  layer: string
  format: string
  parts: { id: string; kind: string; slot?: string; state: string; reason?: string }[]
  diagnostics: Diagnostic[]
}
export interface KernelFacts {
  workspace: string
  mode: string
  generation: number
  slots: SlotFacts[]
  policies: { id: string; kind: string; layer: string; state: string; description: string }[]
  plugins: PluginFacts[]
  /** Configured MCP servers, and how many tools each has shown so far. */
  servers: { name: string; tools: number; state: string }[]
  diagnostics: Diagnostic[]
  settings: {
    path: string
    value: unknown
    layer: string
    file: string
    line?: number
    overridden: { layer: string; file: string; value: unknown }[]
  }[]
}

/** Takes up files that changed since it was last asked, so that a page never shows settings of yesterday. */
export class FreshKernel {
  private seen: string

  constructor(private readonly kernel: Kernel) {
    this.seen = signature(kernel)
  }
  async current(): Promise<KernelFacts> {
    if (signature(this.kernel) !== this.seen) await this.kernel.reload()
    this.seen = signature(this.kernel)
    return redact(kernelFacts(this.kernel))
  }
}

const signature = (kernel: Kernel): string =>
  kernel.inspection
    .watchedFiles()
    .map((path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0)
    .join()

/** All of it, secrets and all: whoever sends it on redacts it. */
function kernelFacts(kernel: Kernel): KernelFacts {
  const contributions = kernel.inspection.contributions()
  const diagnostics = [...kernel.diagnostics(), ...kernel.inspection.skills().diagnostics]
  const listed = new Set(kernel.tools({ audience: 'agent' }).map(({ name }) => name))
  return {
    workspace: kernel.workspace,
    mode: kernel.inspection.resolveMode(),
    generation: kernel.inspection.generation,
    slots: kernel.list().map((slot) => slotFacts(slot, contributions, listed, kernel.settings.use)),
    policies: judges(contributions, 'policy').concat(judges(contributions, 'compactor')),
    plugins: pluginFacts(kernel, contributions, diagnostics),
    servers: mcpServers(kernel, contributions),
    diagnostics,
    settings: kernel.inspection.origins().map(({ path, value, layer, file, line, overridden }) => ({
      path,
      value,
      layer,
      file,
      ...(line !== undefined && { line }),
      overridden,
    })),
  }
}

const judges = (contributions: readonly ContributionInfo[], wanted: 'policy' | 'compactor'): KernelFacts['policies'] =>
  contributions
    .filter(({ kind }) => kind === wanted)
    .map(({ id, kind, layer, state, description = '' }) => ({
      id,
      kind,
      layer,
      state,
      description: plainly(description),
    }))

function slotFacts(
  info: SlotInfo,
  contributions: readonly ContributionInfo[],
  listed: ReadonlySet<string>,
  use: object,
): SlotFacts {
  const { slot, tool, title, description, effects, audience, aliases, input, example, chain } = info
  const claimants = contributions.filter((one) => one.slot === slot || chain.includes(one.id))
  const bound = Object.hasOwn(use, slot) || Object.hasOwn(use, tool)
  const servers = claimants.map((one) => serverFacts(one, chain.indexOf(one.id), bound))
  servers.sort((a, b) => (a.place ?? Infinity) - (b.place ?? Infinity) || (a.id < b.id ? -1 : 1))
  return {
    slot,
    ...(title !== undefined && { title }),
    description: plainly(description),
    effects,
    ...(audience !== undefined && { audience }),
    listed: listed.has(tool),
    aliases,
    input,
    ...(example !== undefined && { example }),
    servers,
  }
}

function serverFacts(
  { id, stage = 'primary', layer, state, file, reason }: ContributionInfo,
  at: number,
  bound: boolean,
): SlotServer {
  const known = { id, stage, layer, state, file }
  if (at < 0) return { ...known, why: reason ?? `not asked: ${state}` }
  const when = at === 0 ? 'asked first' : 'asked when those before it decline'
  const because = bound ? '`use` of the settings binds it' : stageReason[stage]
  return { ...known, place: at + 1, why: `${when}: ${because}; ${trustText(layer)}` }
}
const stageReason = {
  override: 'an override stands before the primary',
  primary: 'the primary of the slot',
  fallback: 'a fallback stands behind the primary',
} as const
const trustText = (layer: string): string =>
  layer === 'builtin'
    ? 'it comes with vtcode'
    : `it is of the layer ${layer}, and its code, if it has any, is trusted as it stands`

const isWithin = (file: string, folder: string): boolean => file === folder || file.startsWith(`${folder}/`)

function pluginFacts(
  kernel: Kernel,
  contributions: readonly ContributionInfo[],
  diagnostics: readonly Diagnostic[],
): PluginFacts[] {
  const strangers = contributions.filter(({ layer }) => layer !== 'builtin')
  const partOf = ({ id, kind, slot, state, reason }: ContributionInfo) => ({
    id,
    kind,
    ...(slot !== undefined && { slot }),
    state,
    ...(reason !== undefined && { reason }),
  })
  const partsIn = (of: (one: ContributionInfo) => boolean) => strangers.filter(of).map(partOf)
  const folders = kernel.inspection.plugins().filter(({ layer }) => layer !== 'builtin')
  const known = folders.map(({ name, root, layer, format }) => ({
    name,
    root,
    layer,
    format,
    parts: partsIn(({ file }) => isWithin(file, root)),
    diagnostics: diagnostics.filter(({ files }) =>
      files.some((file) => isWithin(file.replace(/(?::\d+){1,2}$/, ''), root)),
    ),
  }))
  const loose = partsIn(({ file }) => !folders.some(({ root }) => isWithin(file, root)))
  return loose.length === 0
    ? known
    : [
        ...known,
        {
          name: 'manifests without a plugin',
          root: kernel.workspace,
          layer: 'several',
          format: 'vtcode',
          parts: loose,
          diagnostics: [],
        },
      ]
}

function mcpServers(kernel: Kernel, contributions: readonly ContributionInfo[]): KernelFacts['servers'] {
  return Object.keys(kernel.settings.mcp.servers).map((name) => {
    const own = contributions.filter(({ id }) => id.split(/[/:]|__/).includes(name))
    const tools = own.filter(({ slot, state }) => slot !== undefined && state === 'active').length
    return {
      name,
      tools,
      state: own.find(({ state }) => state !== 'active')?.state ?? (tools > 0 ? 'active' : 'not started'),
    }
  })
}
