import { truncateLine, toText } from '../../../core/text/index.js'
import type { JsonObject } from '../../../core/index.js'
import { isObject } from './objects.js'
import type { Package } from './package.js'

const MAX_LISTED = 50

/** Reports the plugins of a marketplace and their sources; a marketplace itself is not a plugin. */
export function readMarketplace(found: Package, { plugins, metadata }: JsonObject): boolean {
  const file = `${found.place.root}/.claude-plugin/marketplace.json`
  const base = isObject(metadata) && typeof metadata['pluginRoot'] === 'string' ? metadata['pluginRoot'] : ''
  const offered = (Array.isArray(plugins) ? plugins : [])
    .filter(isObject)
    .flatMap(({ name, source }) =>
      typeof name === 'string' ? [`${truncateLine(name, 64)} (${truncateLine(formatSource(source, base), 120)})`] : [],
    )
  const more = offered.length > MAX_LISTED ? [`and ${offered.length - MAX_LISTED} more`] : []
  const list =
    offered.length === 0 ? 'it offers nothing' : `it offers ${[...offered.slice(0, MAX_LISTED), ...more].join(', ')}`
  found.reportOffers(
    `This is a marketplace, not a plugin: ${list}. Add one by its own address, or append its folder to this address.`,
    file,
  )
  return true
}

/** Formats a source for `vtcode plugins add`: a path to append to the address of the marketplace. */
function formatSource(source: unknown, base: string): string {
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
