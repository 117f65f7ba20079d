import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { omitUndefined } from '../../core/shapes/index.js'
import { toText } from '../../core/text/index.js'
import type { JsonObject, PackageReader } from '../../core/index.js'
import { readAgentPlugin } from './packages/agent_plugins.js'
import { readClaudePlugin, readServers } from './packages/claude.js'
import { readGeminiExtension } from './packages/gemini.js'
import { readMarketplace } from './packages/marketplace.js'
import { readBundle } from './packages/mcpb.js'
import { Package } from './packages/package.js'
import { readPi } from './packages/pi.js'

/** The manifests by which each format is recognised. */
const MARKERS_BY_FORMAT: Record<string, readonly string[]> = {
  'Claude Code': ['.claude-plugin/plugin.json', '.claude-plugin/marketplace.json'],
  Codex: ['.codex-plugin/plugin.json'],
  Gemini: ['gemini-extension.json'],
  marketplace: ['.claude-plugin/marketplace.json'],
}
const MARKERS = [...new Set(Object.values(MARKERS_BY_FORMAT).flat())]

/** Reads a plugin made for another program. A fault of its reader counts for that plugin only. */
const packages: PackageReader = (place) => {
  try {
    return readPackage(place)
  } catch (error) {
    const found = new Package('package', place)
    found.reportInvalid(`${place.root} cannot be read: ${(error as Error).message}.`, place.root)
    return { format: found.format, manifests: [], diagnostics: found.diagnostics, usable: false }
  }
}

type PackagePlace = Parameters<PackageReader>[0]

interface Marker {
  path: string
  /** Returns the format of a package with such a document; `plugin` is its `plugin.json`. */
  formatOf(document: JsonObject, plugin: JsonObject | undefined): string | false
  read(found: Package, document: JsonObject, file: string): boolean
}

const isAgentPlugin = ({ $schema }: JsonObject): boolean =>
  toText($schema ?? '').startsWith('https://agent-plugins.org/schemas/')

/** Formats in the order in which they are tried. */
const FORMATS: readonly Marker[] = [
  { path: 'plugin.json', formatOf: (plugin) => isAgentPlugin(plugin) && 'Agent Plugins', read: readAgentPlugin },
  { path: '.claude-plugin/plugin.json', formatOf: () => 'Claude Code', read: readClaudePlugin },
  { path: '.codex-plugin/plugin.json', formatOf: () => 'Codex', read: readClaudePlugin },
  { path: 'gemini-extension.json', formatOf: () => 'Gemini', read: readGeminiExtension },
  { path: '.claude-plugin/marketplace.json', formatOf: (_, plugin) => !plugin && 'marketplace', read: readMarketplace },
  { path: 'plugin.json', formatOf: (plugin) => !('abi_version' in plugin) && 'bare', read: readClaudePlugin },
  {
    path: 'manifest.json',
    formatOf: (it) => ('manifest_version' in it || 'dxt_version' in it) && 'server' in it && 'MCPB',
    read: readBundle,
  },
  { path: 'package.json', formatOf: (code) => ('omp' in code ? 'omp' : 'pi' in code && 'pi'), read: readPi },
]

/** Reads a package by the first marker that exists, even if that is invalid. */
function readPackage(place: PackagePlace): ReturnType<PackageReader> {
  if (place.file !== undefined) return readServerFile(place, place.file)
  const probe = new Package('package', place)
  const plugin = probe.readJson('plugin.json')
  for (const { path, formatOf, read } of FORMATS) {
    const document = path === 'plugin.json' ? plugin : probe.readJson(path)
    const format = document && formatOf(document, plugin)
    if (format) return readAs(format, place, (found) => read(found, document!, `${place.root}/${path}`))
  }
  const { format, diagnostics } = probe
  if (diagnostics.length > 0) return { format, manifests: [], diagnostics, usable: false }
  return readAs('Claude Code', place, (found) => readClaudePlugin(found, {}, place.root))
}

function readServerFile(place: PackagePlace, name: string): ReturnType<PackageReader> {
  const file = `${place.root}/${name}`
  const found = new Package('.mcp.json', place)
  const document = found.readJson(name)
  if (document) readServers(found, document, file)
  // The path is shared with other programs: anything but a file is only worth a remark.
  const isFile = statSync(file, { throwIfNoEntry: false })?.isFile()
  const diagnostics = found.diagnostics.map((one) => (isFile ? one : { ...one, severity: 'info' as const }))
  return { format: found.format, manifests: found.manifests, diagnostics }
}

function readAs(format: string, place: PackagePlace, read: (found: Package) => boolean): ReturnType<PackageReader> {
  const found = new Package(format, place)
  const usable = read(found) && !found.isRefused
  const others = MARKERS.filter(
    (path) => !MARKERS_BY_FORMAT[format]?.includes(path) && existsSync(join(place.root, path)),
  )
  if (usable && others.length > 0) found.reportOtherManifests(others)
  const { manifests, diagnostics, native, skills } = found
  if (!usable) return { format, manifests: [], diagnostics, usable }
  return { format, manifests, diagnostics, usable, ...omitUndefined({ native, skills }) }
}
export default packages
