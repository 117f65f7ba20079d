import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { toText } from '../../core/base/index.js'
import type { PackageReader } from '../../core/index.js'
import { readAgentPlugin } from './packages/agent_plugins.js'
import { readClaudePlugin, readServers } from './packages/claude.js'
import { readGeminiExtension } from './packages/gemini.js'
import { readMarketplace } from './packages/marketplace.js'
import { readBundle } from './packages/mcpb.js'
import { Package } from './packages/package.js'
import { readPi } from './packages/pi.js'

/** Manifests of which the first that is there decides, and who reads which. */
const own: Record<string, readonly string[]> = {
  'Claude Code': ['.claude-plugin/plugin.json', '.claude-plugin/marketplace.json'],
  Codex: ['.codex-plugin/plugin.json'],
  Gemini: ['gemini-extension.json'],
  marketplace: ['.claude-plugin/marketplace.json'],
}
const markers = [...new Set(Object.values(own).flat())]

/** Reads a plugin made for another program. What its reader cannot stand is a fault of that plugin alone. */
const packages: PackageReader = (place) => {
  try {
    return readingOf(place)
  } catch (error) {
    const found = new Package('package', place)
    found.invalid(`${place.root} cannot be used: ${(error as Error).message}.`, place.root)
    return { format: found.format, manifests: [], diagnostics: found.diagnostics, usable: false }
  }
}

/** The first marker that is there decides, even when it is invalid. */
function readingOf(place: Parameters<PackageReader>[0]): ReturnType<PackageReader> {
  if (place.file !== undefined) {
    const found = new Package('.mcp.json', place)
    const document = found.read(place.file)
    if (document) readServers(found, document, `${place.root}/${place.file}`)
    // Other programs would read it too; that it is no file at all is a word for who looks, not one for every call.
    const idle = !statSync(`${place.root}/${place.file}`, { throwIfNoEntry: false })?.isFile()
    const diagnostics = found.diagnostics.map((one) => (idle ? { ...one, severity: 'info' as const } : one))
    return { format: found.format, manifests: found.manifests, diagnostics }
  }
  const probe = new Package('package', place)
  const plugin = probe.read('plugin.json')
  if (plugin && toText(plugin['$schema'] ?? '').startsWith('https://agent-plugins.org/schemas/')) return using('Agent Plugins', (found) => readAgentPlugin(found, plugin))
  for (const [format, path] of [['Claude Code', '.claude-plugin/plugin.json'], ['Codex', '.codex-plugin/plugin.json']] as const) {
    const manifest = probe.read(path)
    if (manifest) return using(format, (found) => readClaudePlugin(found, manifest, `${place.root}/${path}`))
  }
  const gemini = probe.read('gemini-extension.json')
  if (gemini) return using('Gemini', (found) => readGeminiExtension(found, gemini))
  const offers = probe.read('.claude-plugin/marketplace.json')
  if (offers && !plugin) return using('marketplace', (found) => readMarketplace(found, offers))
  if (plugin && !('abi_version' in plugin)) return using('bare', (found) => readClaudePlugin(found, plugin, `${place.root}/plugin.json`))
  const bundle = probe.read('manifest.json')
  if (bundle && ('manifest_version' in bundle || 'dxt_version' in bundle) && 'server' in bundle) return using('MCPB', (found) => readBundle(found, bundle))
  const code = probe.read('package.json')
  if (code && ('pi' in code || 'omp' in code)) return using('omp' in code ? 'omp' : 'pi', (found) => readPi(found, code))
  if (probe.diagnostics.length > 0) return { format: probe.format, manifests: [], diagnostics: probe.diagnostics, usable: false }
  return using('Claude Code', (found) => readClaudePlugin(found, {}, place.root))

  function using(format: string, read: (found: Package) => boolean) {
    const found = new Package(format, place)
    const usable = read(found)
    const others = markers.filter((path) => !(own[format] ?? []).includes(path) && existsSync(join(place.root, path)))
    if (usable && others.length > 0) found.alsoThere(others)
    const { manifests, diagnostics, native, skills } = found
    return { format, manifests: usable ? manifests : [], diagnostics, usable, ...(native && { native }), ...(skills && { skills }) }
  }
}
export default packages
