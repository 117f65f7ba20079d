import { existsSync, realpathSync, rmSync, statSync } from 'node:fs'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import { omitUndefined, isObject } from '../../../core/shapes/index.js'
import { isInside } from '../../../core/system/index.js'
import { readBytes } from '../../../core/documents/index.js'
import { VtError, type Io, type Kernel } from '../../../core/index.js'
import { readTreeDigest } from '../../../core/trust/index.js'
import { createTempFolder } from '../../lib/base/index.js'
import { readPackageFacts, PLUGIN_NAME } from './identity.js'
import { searchNpm } from './npm_registry.js'
import type { IndexedPlugin, IndexContents, PinnedSource } from './indexed_plugin.js'
import { ARCHIVE_NAME, fetchSource, isAddress, downloadText, type FetchedSource, type FetchOptions } from './source.js'
import { UserError } from './user_error.js'

/** The place that relative sources of an index start from. */
type Base = { kind: 'folder'; root: string } | { kind: 'git'; address: string } | { kind: 'web'; url: string }

const MAX_BYTES = 4 * 1_048_576
const MAX_ENTRIES = 10_000
const MAX_TEXT = 500
const NAME_RULE = 'lower-case letters, digits, and single hyphens or dots between them'
const HASH_PATTERN = /^(?:(?:tree1:)?sha256-|sha(?:384|512)-)[\w+/]+={0,2}$|^[0-9a-f]{64}$/i
/** File names of the list in the folder or repository of an index, in search order. */
const LIST_FILES = [
  '.claude-plugin/marketplace.json',
  '.agents/plugins/marketplace.json',
  'marketplace.json',
  'plugins.json',
  'index.json',
]
const isNpm = (index: string): boolean => /^(?:npm:?)?(?:@[a-z0-9][\w.-]*)?$/i.test(index) && index !== ''

/** Reads the offers of the indexes. `words` go to indexes with a search. One failure does not stop the others. */
export async function readIndexes(
  { kernel, io }: { kernel: Kernel; io: Io },
  words: readonly string[] = [],
): Promise<IndexContents> {
  const { indexes } = kernel.settings.plugins
  const all = await Promise.all(
    indexes.map(async (index): Promise<IndexContents> => {
      try {
        if (isNpm(index)) return { offers: await searchNpm(index, words, { kernel, io }), problems: [] }
        return await readList(index, { kernel, io })
      } catch (error) {
        if (error instanceof UserError || error instanceof VtError)
          return { offers: [], problems: [{ index, problem: error.message.split('\n', 1)[0]!.replace(/\.$/, '') }] }
        throw error
      }
    }),
  )
  return { offers: all.flatMap(({ offers }) => offers), problems: all.flatMap(({ problems }) => problems) }
}

/** Checks whether a text is a possible offer name and no path. */
export const isIndexName = (name: string): boolean =>
  (PLUGIN_NAME.test(name) || /^@[a-z0-9][\w.-]*\/[a-z0-9][\w.-]*$/i.test(name)) && !existsSync(resolve(name))

/** Finds the one offer of this name. Throws UserError for several, or one that cannot be added. */
export async function findOffer(name: string, context: { kernel: Kernel; io: Io }): Promise<IndexedPlugin | undefined> {
  const { offers, problems } = await readIndexes(context, [name])
  const [first, ...others] = offers.filter((one) => one.name === name)
  if (!first) {
    if (problems.length > 0)
      throw new UserError(
        `no index offers '${name}', and some indexes could not be read: ${problems
          .slice(0, 3)
          .map(({ index, problem }) => `${index}: ${problem}`)
          .join('; ')}`,
      )
    return undefined
  }
  const indexNames = [first, ...others].map(({ index }) => index).join(' and by ')
  if (others.length > 0)
    throw new UserError(
      `'${name}' is offered by ${indexNames}: add one by its source, which \`vtcode plugins search ${name}\` shows`,
    )
  return first
}

/** Fetches an offer. Throws UserError where it differs from the promises of the index. */
export async function fetchOffer(
  { name, index, pinned, unavailable }: IndexedPlugin,
  fetching: FetchOptions,
): Promise<FetchedSource> {
  if (!pinned) throw new UserError(`${name} of ${index} cannot be added: ${unavailable ?? 'it has no source'}`)
  const { address, ref, subdir, commit, integrity } = pinned
  const ofTree = integrity?.startsWith('tree1:') === true
  const fetched = await fetchSource(address, {
    ...fetching,
    ref: fetching.ref ?? commit ?? ref,
    subdir,
    ...(integrity !== undefined && !ofTree && { sha256: fetching.sha256 ?? integrity }),
  })
  const { source, root } = fetched
  const createMismatch = (what: string, promised: string, is: string) =>
    new UserError(`${name} does not match ${index}: its ${what} is ${is} instead of ${promised}`)
  if (commit !== undefined && source.commit !== commit && fetching.ref === undefined)
    throw createMismatch('commit', commit, source.commit ?? 'unknown')
  if (ofTree && readTreeDigest(root) !== integrity) throw createMismatch('hash', integrity, readTreeDigest(root))
  const hasArchiveHash = integrity !== undefined && !ofTree && source.integrity === undefined
  if (hasArchiveHash)
    throw new UserError(
      `${name} of ${index} is no archive, but the index gives the archive hash ${integrity}; a hash of files ` +
        'begins with tree1:',
    )
  const ownName = readPackageFacts(root).name
  if (source.type !== 'npm' && ownName !== undefined && ownName !== name && fetching.name === undefined)
    throw new UserError(
      `${index} calls it ${name}, but the package calls itself ${ownName}; choose the name with --name`,
    )
  return { ...fetched, name }
}

async function readList(index: string, context: { kernel: Kernel; io: Io }): Promise<IndexContents> {
  if (/^https?:\/\//.test(index) && !/\.git\/?(?:#.*)?$/.test(index) && !ARCHIVE_NAME.test(new URL(index).pathname)) {
    const url = parseIndexUrl(index)
    return parseEntries(index, await downloadText(url, MAX_BYTES, context), { kind: 'web', url: url.href })
  }
  if (isAddress(index)) return fetchList(index, context)
  const path = index.replace(/^~(?=\/)/, () => context.io.env['HOME'] ?? '~')
  if (!isAbsolute(path))
    throw new UserError(
      'an index is an https:// address, a git repository (github:owner/repository), an absolute path (~/…), npm, ' +
        'or an npm scope (@acme)',
    )
  const found = statSync(path, { throwIfNoEntry: false })
  if (!found) throw new UserError('the path does not exist')
  const file = found.isDirectory() ? findListFile(path) : path
  // The paths of a list in such a subfolder start at its parent.
  const root = dirname(file).replace(/\/(?:\.claude-plugin|\.agents\/plugins)$/, '')
  return parseEntries(index, readBytes(file, { limit: MAX_BYTES }).toString('utf8'), { kind: 'folder', root })
}

async function fetchList(index: string, { kernel, io }: { kernel: Kernel; io: Io }): Promise<IndexContents> {
  const into = createTempFolder('index')
  try {
    const { root, source } = await fetchSource(index, { kernel, io, into })
    if (source.type !== 'git')
      throw new UserError('the source is no git repository; an index is a git repository or the URL of a list')
    return parseEntries(index, readBytes(findListFile(root), { limit: MAX_BYTES }).toString('utf8'), {
      kind: 'git',
      address: index,
    })
  } finally {
    rmSync(into, { recursive: true, force: true })
  }
}

function findListFile(folder: string): string {
  const file = LIST_FILES.map((name) => join(folder, name)).find(
    (path) => existsSync(path) && isInside(realpathSync(folder), realpathSync(path)),
  )
  if (file === undefined)
    throw new UserError(`the index contains no list of plugins: expected ${LIST_FILES.join(', ')}`)
  return file
}

/** Parses the URL of an index. Requires https: an attacker who can change an index in transit can change its hashes. */
function parseIndexUrl(index: string): URL {
  const url = new URL(index)
  if (url.protocol !== 'https:' && !['127.0.0.1', 'localhost', '[::1]'].includes(url.hostname))
    throw new UserError('an index on the web needs https')
  return url
}

/** Parses marketplace.json of Claude and Codex and plain lists: `plugins` is a list of entries or a map by name. */
function parseEntries(index: string, text: string, base: Base): IndexContents {
  let document: unknown
  try {
    document = JSON.parse(text.replace(/^\ufeff/, ''))
  } catch (error) {
    throw new UserError(`the list is no JSON: ${(error as Error).message}`)
  }
  const { plugins, metadata } = Array.isArray(document)
    ? { plugins: document, metadata: undefined }
    : isObject(document)
      ? document
      : {}
  const raw = Array.isArray(plugins)
    ? (plugins as unknown[])
    : isObject(plugins)
      ? Object.entries(plugins).map(([name, entry]) => (isObject(entry) ? { name, ...entry } : entry))
      : undefined
  if (!raw) throw new UserError("the list has no 'plugins': add a list of { name, source }, or a map by name")
  if (raw.length > MAX_ENTRIES) throw new UserError(`the list has ${raw.length} entries, more than ${MAX_ENTRIES}`)
  const folder = isObject(metadata) && typeof metadata['pluginRoot'] === 'string' ? metadata['pluginRoot'] : ''
  const problems: IndexContents['problems'] = []
  const known = new Map<string, IndexedPlugin>()
  raw.forEach((entry, at) => {
    const name = isObject(entry) ? entry['name'] : undefined
    if (!isObject(entry) || typeof name !== 'string' || !PLUGIN_NAME.test(name))
      return void problems.push({ index, problem: `plugins[${at}] has no valid plugin name (${NAME_RULE})` })
    if (known.has(name))
      return void problems.push({
        index,
        problem: `plugins[${at}] repeats the name '${name}'; the first entry counts`,
      })
    known.set(name, { name, index, ...readFacts(entry), ...pinSource(entry, folder, base) })
  })
  return { offers: [...known.values()], problems }
}

const toShortText = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value.slice(0, MAX_TEXT) : undefined

function readFacts({
  description,
  version,
  author,
  homepage,
  license,
  keywords,
  tags,
  category,
}: Record<string, unknown>): Pick<IndexedPlugin, 'keywords'> & Partial<IndexedPlugin> {
  const words = [keywords, tags, [category]]
    .flatMap((one) => (Array.isArray(one) ? (one as unknown[]) : []))
    .flatMap((one) => toShortText(one) ?? [])
  const facts = {
    description: toShortText(description),
    version: toShortText(version),
    author: toShortText(isObject(author) ? author['name'] : author),
    homepage: toShortText(homepage),
    license: toShortText(license),
  }
  return {
    ...Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== undefined)),
    keywords: words.slice(0, 50),
  }
}

/** Returns the source of an entry with the promised commit and hash, or the reason why it is unavailable. */
function pinSource(
  entry: Record<string, unknown>,
  folder: string,
  base: Base,
): Pick<IndexedPlugin, 'pinned' | 'unavailable'> {
  const source = entry['source'] ?? entry['url'] ?? entry['repository']
  const fields = isObject(source) ? source : {}
  const readField = (...keys: string[]): string | undefined =>
    keys.map((key) => toShortText(fields[key]) ?? toShortText(entry[key])).find((value) => value !== undefined)
  const place = isObject(source) ? toAddress(source) : toShortText(source)
  const [ref, commit, integrity] = [
    toShortText(fields['ref']),
    readField('sha', 'commit'),
    readField('integrity', 'sha256'),
  ]
  if (place === undefined) return { unavailable: 'its source has no known kind' }
  if (commit !== undefined && !/^[0-9a-f]{40}$/.test(commit))
    return { unavailable: `its commit '${commit}' does not have 40 hexadecimal digits` }
  const isUnknownHash = integrity !== undefined && !HASH_PATTERN.test(integrity)
  if (isUnknownHash)
    return {
      unavailable:
        `its hash '${integrity}' is unknown; known: sha256-…, sha512-…, tree1:sha256-…, ` + '64 hexadecimal digits',
    }
  const [kind, path] = [toShortText(fields['source']), toShortText(fields['path'])]
  const promised = { ...omitUndefined({ ref, commit, integrity }) }
  // `path` of an object is a folder in the repository, except for a local source.
  const subfolder = path !== undefined && kind !== 'local' ? { subdir: path.replace(/^\.\//, '') } : {}
  if (!isAddress(place)) return pinRelativeSource([folder, place].filter(Boolean).join('/'), promised, base)
  if (toShortText(fields['registry']) !== undefined)
    return { unavailable: 'it names a registry of its own, but only the registry of your npm settings is used' }
  if (base.kind !== 'folder' && /^(?:git\+)?file:/.test(place))
    return { unavailable: 'it names a file of this machine, which only a local index may do' }
  if (/^https?:/.test(place) && ARCHIVE_NAME.test(new URL(place).pathname) && integrity === undefined)
    return { unavailable: 'it is an archive on the web, and the index gives no hash for it' }
  return { pinned: { address: place, ...subfolder, ...promised } }
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
  promised: Omit<PinnedSource, 'address'>,
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
