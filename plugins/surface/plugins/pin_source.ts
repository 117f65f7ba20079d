import { existsSync, realpathSync } from 'node:fs'
import { isAbsolute, join } from 'node:path'
import { isObject, omitUndefined } from '../../../core/shapes/index.js'
import { isInside } from '../../../core/system/index.js'
import { toShortText } from '../../lib/marketplace/index.js'
import type { IndexedPlugin, PinnedSource } from './indexed_plugin.js'
import { ARCHIVE_NAME, isAddress, isSsh } from './source.js'

/** The place that relative sources of an index start from. */
export type Base = { kind: 'folder'; root: string } | { kind: 'git'; address: string } | { kind: 'web'; url: string }

const HASH_PATTERN = /^(?:(?:tree1:)?sha256-|sha(?:384|512)-)[\w+/]+={0,2}$|^[0-9a-f]{64}$/i

/** Returns the source of an entry with the promised commit and hash, or the reason why it is unavailable. */
export function pinSource(
  entry: Record<string, unknown>,
  folder: string,
  base: Base,
): Pick<IndexedPlugin, 'pinned' | 'unavailable'> {
  const source = entry['source'] ?? entry['url'] ?? entry['repository']
  const fields = isObject(source) ? source : {}
  const place = isObject(source) ? toAddress(source) : toShortText(source)
  if (place === undefined) return { unavailable: 'its source has no known kind' }
  const promised = readPromise(entry, fields)
  const unknown = findUnknownPromise(promised)
  if (unknown !== undefined) return { unavailable: unknown }
  if (!isAddress(place)) return pinRelativeSource([folder, place].filter(Boolean).join('/'), promised, base)
  const refusal =
    toShortText(fields['registry']) !== undefined
      ? 'it names a registry of its own, but only the registry of your npm settings is used'
      : findRefusal(place, promised, base)
  if (refusal !== undefined) return { unavailable: refusal }
  const [kind, path] = [toShortText(fields['source']), toShortText(fields['path'])]
  // `path` of an object is a folder in the repository, except for a local source.
  const subfolder = path !== undefined && kind !== 'local' ? { subdir: path.replace(/^\.\//, '') } : {}
  return { pinned: { address: place, ...subfolder, ...promised } }
}

type Promised = Omit<PinnedSource, 'address'>

function readPromise(entry: Record<string, unknown>, fields: Record<string, unknown>): Promised {
  const readField = (...keys: string[]): string | undefined =>
    keys.map((key) => toShortText(fields[key]) ?? toShortText(entry[key])).find((value) => value !== undefined)
  return omitUndefined({
    ref: toShortText(fields['ref']),
    commit: readField('sha', 'commit'),
    integrity: readField('integrity', 'sha256'),
  })
}

function findUnknownPromise({ commit, integrity }: Promised): string | undefined {
  if (commit !== undefined && !/^[0-9a-f]{40}$/.test(commit))
    return `its commit '${commit}' does not have 40 hexadecimal digits`
  if (integrity !== undefined && !HASH_PATTERN.test(integrity))
    return `its hash '${integrity}' is unknown; known: sha256-…, sha512-…, tree1:sha256-…, 64 hexadecimal digits`
  return undefined
}

/** Returns the reason why an address may not be opened. The fetch checks hosts. */
function findRefusal(place: string, { integrity }: Promised, base: Base): string | undefined {
  if (base.kind !== 'folder' && /^(?:git\+)?file:/.test(place))
    return 'it names a file of this machine, which only a local index may do'
  if (isSsh(place)) return `its address '${place}' starts ssh: check the address, and add the plugin by it`
  if (/^https?:/.test(place) && ARCHIVE_NAME.test(new URL(place).pathname) && integrity === undefined)
    return 'it is an archive on the web, and the index gives no hash for it'
  return undefined
}

function toAddress(source: Record<string, unknown>): string | undefined {
  const { source: kind, repo, url, package: spec, version, path } = source
  if (typeof repo === 'string') return `github:${repo}`
  if (typeof spec === 'string') return `npm:${spec}${typeof version === 'string' ? `@${version}` : ''}`
  if (typeof url === 'string') return url
  return kind === 'local' && typeof path === 'string' ? path : undefined
}

/** Resolves a source relative to its index. */
function pinRelativeSource(
  path: string,
  promised: Promised,
  base: Base,
): Pick<IndexedPlugin, 'pinned' | 'unavailable'> {
  const outside = { unavailable: `its source '${path}' leads out of the index` }
  const parts = path.split('/').filter((part) => part !== '' && part !== '.')
  if (isAbsolute(path) || /[\\\0]|^[A-Za-z]:/.test(path) || parts.includes('..')) return outside
  if (base.kind === 'git') {
    const [address, ref] = base.address.split('#') as [string, string?]
    return {
      pinned: { address, ...omitUndefined({ ref }), ...(parts.length > 0 && { subdir: parts.join('/') }), ...promised },
    }
  }
  if (base.kind === 'folder') {
    const target = join(base.root, ...parts)
    if (!existsSync(target)) return { unavailable: `its source '${path}' does not exist` }
    return isInside(realpathSync(base.root), realpathSync(target))
      ? { pinned: { address: target, ...promised } }
      : outside
  }
  if (!ARCHIVE_NAME.test(path))
    return {
      unavailable:
        'its source is a folder next to the index, which cannot be fetched from the web; use the git repository ' +
        'of the index',
    }
  return promised.integrity === undefined
    ? { unavailable: 'it is an archive on the web, and the index gives no hash for it' }
    : { pinned: { address: new URL(parts.join('/'), base.url).href, ...promised } }
}
