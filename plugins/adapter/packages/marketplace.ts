import { shortLine, toText } from '../../../core/text/index.js'
import type { JsonObject } from '../../../core/index.js'
import { isObject } from './objects.js'
import type { Package } from './package.js'

const most = 50

/** A list of plugins is none itself: it says which it offers, and where each is. Nothing below it is looked at. */
export function readMarketplace(found: Package, { plugins, metadata }: JsonObject): boolean {
  const file = `${found.place.root}/.claude-plugin/marketplace.json`
  const base = isObject(metadata) && typeof metadata['pluginRoot'] === 'string' ? metadata['pluginRoot'] : ''
  const offered = (Array.isArray(plugins) ? plugins : [])
    .filter(isObject)
    .flatMap(({ name, source }) =>
      typeof name === 'string' ? [`${shortLine(name, 64)} (${shortLine(placeOf(source, base), 120)})`] : [],
    )
  const more = offered.length > most ? [`and ${offered.length - most} more`] : []
  const list =
    offered.length === 0 ? 'it offers nothing' : `it offers ${[...offered.slice(0, most), ...more].join(', ')}`
  found.offers(
    `This is a marketplace and no plugin: ${list}. Add one by its own address, or by this one with its folder behind it.`,
    file,
  )
  return true
}

/** A source as `vtcode plugins add` takes it, a path behind the address of the marketplace. */
function placeOf(source: unknown, base: string): string {
  if (typeof source === 'string')
    return (
      [base, source]
        .filter(Boolean)
        .join('/')
        .replace(/^\.\/|\/\.(?=\/|$)/g, '') || '.'
    )
  if (!isObject(source)) return 'no source'
  const { source: kind, repo, url, package: spec, path } = source as Record<string, unknown>
  if (kind === 'github' || typeof repo === 'string')
    return `github:${toText(repo)}${typeof path === 'string' ? `/${path}` : ''}`
  if (kind === 'npm' || typeof spec === 'string') return `npm:${toText(spec)}`
  return typeof url === 'string' ? url : 'no source'
}
