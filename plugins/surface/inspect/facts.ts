import { statSync } from 'node:fs'
import { renderPlainText } from '../../../core/input/index.js'
import {
  redact,
  type ContributionInfo,
  type Diagnostic,
  type Effect,
  type Kernel,
  type SlotInfo,
} from '../../../core/index.js'

// Collects facts of a kernel for the page as plain data, on request. Nothing here calls a tool or writes.

/** A handler of a slot, active or not. */
export interface SlotServer {
  id: string
  stage: string
  layer: string
  state: string
  file: string
  /** Position in the chain of the slot, from 1; absent for a handler that is never called. */
  place?: number
  /** The reason for the position, or for not being called. */
  why: string
}
export interface SlotFacts {
  slot: string
  title?: string
  description: string
  effects: readonly Effect[]
  audience?: string
  /** `true` if models see its tool. */
  listed: boolean
  aliases: readonly string[]
  input: unknown
  example?: unknown
  servers: SlotServer[]
}
/** A plugin with its parts and diagnostics. */
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
  /** Configured MCP servers, with the number of tools that each has listed so far. */
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

/** Reloads the kernel before a read if watched files have changed, so that a page never shows old settings. */
export class FreshKernel {
  private seen: string

  constructor(private readonly kernel: Kernel) {
    this.seen = computeSignature(kernel)
  }
  async current(): Promise<KernelFacts> {
    if (computeSignature(this.kernel) !== this.seen) await this.kernel.reload()
    this.seen = computeSignature(this.kernel)
    return redact(collectKernelFacts(this.kernel))
  }
}

const computeSignature = (kernel: Kernel): string =>
  kernel.inspection
    .watchedFiles()
    .map((path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0)
    .join()

/** Collects the facts unredacted; the caller redacts them. */
function collectKernelFacts(kernel: Kernel): KernelFacts {
  const contributions = kernel.inspection.contributions()
  const diagnostics = [...kernel.diagnostics(), ...kernel.inspection.skills().diagnostics]
  const listed = new Set(kernel.tools({ audience: 'agent' }).map(({ name }) => name))
  return {
    workspace: kernel.workspace,
    mode: kernel.inspection.resolveMode(),
    generation: kernel.inspection.generation,
    slots: kernel.list().map((slot) => toSlotFacts(slot, contributions, listed, kernel.settings.use)),
    policies: listJudges(contributions, 'policy').concat(listJudges(contributions, 'compactor')),
    plugins: collectPluginFacts(kernel, contributions, diagnostics),
    servers: listMcpServers(kernel, contributions),
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

const listJudges = (
  contributions: readonly ContributionInfo[],
  wanted: 'policy' | 'compactor',
): KernelFacts['policies'] =>
  contributions
    .filter(({ kind }) => kind === wanted)
    .map(({ id, kind, layer, state, description = '' }) => ({
      id,
      kind,
      layer,
      state,
      description: renderPlainText(description),
    }))

function toSlotFacts(
  info: SlotInfo,
  contributions: readonly ContributionInfo[],
  listed: ReadonlySet<string>,
  use: object,
): SlotFacts {
  const { slot, tool, title, description, effects, audience, aliases, input, example, chain } = info
  const claimants = contributions.filter((one) => one.slot === slot || chain.includes(one.id))
  const bound = Object.hasOwn(use, slot) || Object.hasOwn(use, tool)
  const servers = claimants.map((one) => toSlotServer(one, chain.indexOf(one.id), bound))
  servers.sort((a, b) => (a.place ?? Infinity) - (b.place ?? Infinity) || (a.id < b.id ? -1 : 1))
  return {
    slot,
    ...(title !== undefined && { title }),
    description: renderPlainText(description),
    effects,
    ...(audience !== undefined && { audience }),
    listed: listed.has(tool),
    aliases,
    input,
    ...(example !== undefined && { example }),
    servers,
  }
}

function toSlotServer(
  { id, stage = 'primary', layer, state, file, reason }: ContributionInfo,
  at: number,
  bound: boolean,
): SlotServer {
  const known = { id, stage, layer, state, file }
  if (at < 0) return { ...known, why: reason ?? `not called: ${state}` }
  const when = at === 0 ? 'called first' : 'called when earlier handlers decline'
  const because = bound ? 'the setting `use` binds it' : STAGE_REASONS[stage]
  return { ...known, place: at + 1, why: `${when}: ${because}; ${describeTrust(layer)}` }
}
const STAGE_REASONS = {
  override: 'an override comes before the primary',
  primary: 'the primary of the slot',
  fallback: 'a fallback comes after the primary',
} as const
const describeTrust = (layer: string): string =>
  layer === 'builtin' ? 'built in' : `from the layer ${layer}; its code, if any, is trusted`

const isInFolder = (file: string, folder: string): boolean => file === folder || file.startsWith(`${folder}/`)

function collectPluginFacts(
  kernel: Kernel,
  contributions: readonly ContributionInfo[],
  diagnostics: readonly Diagnostic[],
): PluginFacts[] {
  const external = contributions.filter(({ layer }) => layer !== 'builtin')
  const toPart = ({ id, kind, slot, state, reason }: ContributionInfo) => ({
    id,
    kind,
    ...(slot !== undefined && { slot }),
    state,
    ...(reason !== undefined && { reason }),
  })
  const listParts = (of: (one: ContributionInfo) => boolean) => external.filter(of).map(toPart)
  const folders = kernel.inspection.plugins().filter(({ layer }) => layer !== 'builtin')
  const known = folders.map(({ name, root, layer, format }) => ({
    name,
    root,
    layer,
    format,
    parts: listParts(({ file }) => isInFolder(file, root)),
    diagnostics: diagnostics.filter(({ files }) =>
      files.some((file) => isInFolder(file.replace(/(?::\d+){1,2}$/, ''), root)),
    ),
  }))
  const loose = listParts(({ file }) => !folders.some(({ root }) => isInFolder(file, root)))
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

function listMcpServers(kernel: Kernel, contributions: readonly ContributionInfo[]): KernelFacts['servers'] {
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
