import { basename } from 'node:path'
import type { Contribution, ContributionInfo, Diagnostic, Layer, PluginFolder } from '../shapes/index.js'
import { findSkills, type PackageAgent, type Skill } from '../skills/index.js'
import { listPlugins, readSources, removeUnfit } from './discover.js'
import { builtinSource, createServerSource, createSource } from './locations.js'

/** The content of a folder, read as a plugin. */
export interface Inspection extends Omit<PluginFolder, 'layer'> {
  contributions: Contribution[]
  /** The parts that cannot be used, with the reason. */
  invalid: ContributionInfo[]
  diagnostics: Diagnostic[]
  skills: Skill[]
  /** For a package: files with instructions for every model, and agents that it defines. */
  instructions: string[]
  agents: PackageAgent[]
}
export interface InspectOptions {
  workspace: string
  home: string
  env: Record<string, string | undefined>
  /** Keys that adapters of other plugins serve. */
  adapters?: readonly string[]
}

const forms: Partial<Record<string, string>> = { file: 'manifest', package: 'MCP servers' }

/**
 * Reads a folder or file as if it were installed with this name and layer. Runs no code of it. Throws system errors.
 */
export async function inspect(
  path: string,
  options: InspectOptions,
  { name, layer = 'user' }: { name?: string; layer?: Layer } = {},
): Promise<Inspection> {
  const servers = createServerSource(options.workspace)
  const source = path === servers.path ? servers : createSource(path, layer)
  if (name !== undefined && source.plugin !== source.layer) source.plugin = name
  // Our own manifests declare the readers of foreign packages.
  const found = await readSources(
    { sources: [builtinSource, source], removals: [], diagnostics: [], searchedPaths: [] },
    options,
  )
  // Missing requirements become diagnostics; the contributions are listed all the same.
  await removeUnfit({ ...found, invalid: [] }, options)
  const filterLayer = <T extends { layer: string }>(all: readonly T[]): T[] =>
    all.filter((one) => one.layer === source.layer)
  const { root, plugin } = source
  const format = found.plugins.at(-1)?.format ?? forms[source.form] ?? 'manifests'
  const settings = {
    roots: [],
    pin: [],
    disable: [],
    claude_folders: false,
    workspace: 'off' as const,
    bundled: false,
    catalog_max_chars: 0,
  }
  const skills = findSkills({
    ...options,
    cwd: options.workspace,
    user: options.home,
    plugins: filterLayer(listPlugins(found)),
    settings,
    findOrigin: () => undefined,
    trusted: () => false,
  })
  const of = <T extends { plugin: string }>(all: readonly T[]): T[] => all.filter((one) => one.plugin === plugin)
  const own = skills.all.filter(({ id }) => id.startsWith(`${plugin}:`))
  const diagnostics = [
    ...found.diagnostics,
    ...skills.diagnostics.filter(({ files }) => files.some((file) => file.startsWith(root))),
  ]
  const packageContent = { instructions: of(skills.instructions).map(({ file }) => file), agents: of(skills.agents) }
  return {
    name: plugin === source.layer ? basename(source.path) : plugin,
    root,
    format,
    contributions: filterLayer(found.contributions),
    invalid: filterLayer(found.invalid),
    diagnostics,
    skills: own,
    ...packageContent,
  }
}
