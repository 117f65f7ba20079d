import { existsSync, realpathSync, rmSync, statSync } from 'node:fs'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import { definedOnly, isObject } from '../../../core/shapes/index.js'
import { inside } from '../../../core/system/index.js'
import { readBytes } from '../../../core/documents/index.js'
import { VtError, type Io, type Kernel } from '../../../core/index.js'
import { treeDigest } from '../../../core/trust/index.js'
import { createTempFolder } from '../../lib/base/index.js'
import { claimsOf, nameRule } from './identity.js'
import { npmOffers } from './npm_registry.js'
import type { IndexedPlugin, IndexContents, Pinned } from './offer.js'
import { archives, fetchSource, isAddress, webText, type Fetched, type Fetching } from './source.js'
import { UserError } from './user_error.js'

/** Where the relative sources of an index are. */
type Base = { kind: 'folder'; root: string } | { kind: 'git'; address: string } | { kind: 'web'; url: string }

const mostBytes = 4 * 1_048_576
const mostEntries = 10_000
const mostText = 500
const namesAre = 'lower-case letters, digits, and between them single hyphens or dots'
const hashRule = /^(?:(?:tree1:)?sha256-|sha(?:384|512)-)[\w+/]+={0,2}$|^[0-9a-f]{64}$/i
/** How a folder, a repository or an archive of an index calls its list, in the order they are looked for. */
const lists = [
  '.claude-plugin/marketplace.json',
  '.agents/plugins/marketplace.json',
  'marketplace.json',
  'plugins.json',
  'index.json',
]
const isNpm = (index: string): boolean => /^(?:npm:?)?(?:@[a-z0-9][\w.-]*)?$/i.test(index) && index !== ''

/** Reads the offers of the indexes; `words` are for those that search. One failure does not stop the others. */
export async function readIndexes(
  { kernel, io }: { kernel: Kernel; io: Io },
  words: readonly string[] = [],
): Promise<IndexContents> {
  const { indexes } = kernel.settings.plugins
  const all = await Promise.all(
    indexes.map(async (index): Promise<IndexContents> => {
      try {
        if (isNpm(index)) return { offers: await npmOffers(index, words, { kernel, io }), problems: [] }
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

/** Whether this can be the name of an offer, and no address. */
export const isIndexName = (name: string): boolean =>
  (nameRule.test(name) || /^@[a-z0-9][\w.-]*\/[a-z0-9][\w.-]*$/i.test(name)) && !existsSync(resolve(name))

/** Finds the one offer of this name. Throws UserError for several, or one that cannot be added. */
export async function offerNamed(
  name: string,
  context: { kernel: Kernel; io: Io },
): Promise<IndexedPlugin | undefined> {
  const { offers, problems } = await readIndexes(context, [name])
  const [first, ...others] = offers.filter((one) => one.name === name)
  if (!first) {
    if (problems.length > 0)
      throw new UserError(
        `no index offers '${name}', and not all of them could be read whole: ${problems
          .slice(0, 3)
          .map(({ index, problem }) => `${index}: ${problem}`)
          .join('; ')}`,
      )
    return undefined
  }
  const by = [first, ...others].map(({ index }) => index).join(' and by ')
  if (others.length > 0)
    throw new UserError(
      `'${name}' is offered by ${by}: add the one that you mean by its source, which \`vtcode plugins search ${name}\` shows`,
    )
  return first
}

/** Brings what an index offers, and refuses what is not what the index promises. */
export async function fetchOffer(
  { name, index, pinned, unavailable }: IndexedPlugin,
  fetching: Fetching,
): Promise<Fetched> {
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
  const lies = (what: string, promised: string, is: string) =>
    new UserError(`${name} is not what ${index} says: its ${what} is ${is} instead of ${promised}`)
  if (commit !== undefined && source.commit !== commit && fetching.ref === undefined)
    throw lies('commit', commit, source.commit ?? 'unknown')
  if (ofTree && treeDigest(root) !== integrity) throw lies('hash', integrity, treeDigest(root))
  const baseless = integrity !== undefined && !ofTree && source.integrity === undefined
  if (baseless)
    throw new UserError(
      `${name} of ${index} is no archive, and the hash that the index gives for it, ${integrity}, is one of an archive; one of files begins with tree1:`,
    )
  const called = claimsOf(root).name
  if (source.type !== 'npm' && called !== undefined && called !== name && fetching.name === undefined)
    throw new UserError(`${index} calls it ${name}, and the package itself ${called}; --name says which it is`)
  return { ...fetched, name }
}

async function readList(index: string, context: { kernel: Kernel; io: Io }): Promise<IndexContents> {
  if (/^https?:\/\//.test(index) && !/\.git\/?(?:#.*)?$/.test(index) && !archives.test(new URL(index).pathname)) {
    const url = webAddress(index)
    return entriesOf(index, await webText(url, mostBytes, context), { kind: 'web', url: url.href })
  }
  if (isAddress(index)) return fetchedList(index, context)
  const path = index.replace(/^~(?=\/)/, () => context.io.env['HOME'] ?? '~')
  if (!isAbsolute(path))
    throw new UserError(
      'an index is an https:// address, a git repository (github:owner/repository), an absolute path (~/…), npm, or an npm scope (@acme)',
    )
  const found = statSync(path, { throwIfNoEntry: false })
  if (!found) throw new UserError('it does not exist')
  const file = found.isDirectory() ? listIn(path) : path
  // A list in a folder of its own speaks of the folder that holds it.
  const root = dirname(file).replace(/\/(?:\.claude-plugin|\.agents\/plugins)$/, '')
  return entriesOf(index, readBytes(file, { limit: mostBytes }).toString('utf8'), { kind: 'folder', root })
}

async function fetchedList(index: string, { kernel, io }: { kernel: Kernel; io: Io }): Promise<IndexContents> {
  const into = createTempFolder('index')
  try {
    const { root, source } = await fetchSource(index, { kernel, io, into })
    if (source.type !== 'git') throw new UserError('an index that is fetched is a list, or a git repository with one')
    return entriesOf(index, readBytes(listIn(root), { limit: mostBytes }).toString('utf8'), {
      kind: 'git',
      address: index,
    })
  } finally {
    rmSync(into, { recursive: true, force: true })
  }
}

function listIn(folder: string): string {
  const file = lists
    .map((name) => join(folder, name))
    .find((path) => existsSync(path) && inside(realpathSync(folder), realpathSync(path)))
  if (file === undefined) throw new UserError(`it holds no list of plugins: ${lists.join(', ')}`)
  return file
}

/** Whoever can change an index on its way can change the hashes in it. */
function webAddress(index: string): URL {
  const url = new URL(index)
  if (url.protocol !== 'https:' && !['127.0.0.1', 'localhost', '[::1]'].includes(url.hostname))
    throw new UserError('an index of the web is read over https only')
  return url
}

/** Claude's marketplace.json, Codex's, and plain lists: `plugins` is a list of entries, or a map by their names. */
function entriesOf(index: string, text: string, base: Base): IndexContents {
  let document: unknown
  try {
    document = JSON.parse(text.replace(/^\ufeff/, ''))
  } catch (error) {
    throw new UserError(`its list is no JSON: ${(error as Error).message}`)
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
  if (!raw) throw new UserError("its list has no 'plugins': a list of { name, source }, or a map by name")
  if (raw.length > mostEntries) throw new UserError(`its list has ${raw.length} entries, more than ${mostEntries}`)
  const folder = isObject(metadata) && typeof metadata['pluginRoot'] === 'string' ? metadata['pluginRoot'] : ''
  const problems: IndexContents['problems'] = []
  const known = new Map<string, IndexedPlugin>()
  raw.forEach((entry, at) => {
    const name = isObject(entry) ? entry['name'] : undefined
    if (!isObject(entry) || typeof name !== 'string' || !nameRule.test(name))
      return void problems.push({ index, problem: `plugins[${at}] has no name that a plugin can have (${namesAre})` })
    if (known.has(name))
      return void problems.push({
        index,
        problem: `plugins[${at}] has the name '${name}' once more; the first one counts`,
      })
    known.set(name, { name, index, ...factsOf(entry), ...pinnedOf(entry, folder, base) })
  })
  return { offers: [...known.values()], problems }
}

const text = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value.slice(0, mostText) : undefined

function factsOf({
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
    .flatMap((one) => text(one) ?? [])
  const facts = {
    description: text(description),
    version: text(version),
    author: text(isObject(author) ? author['name'] : author),
    homepage: text(homepage),
    license: text(license),
  }
  return {
    ...Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== undefined)),
    keywords: words.slice(0, 50),
  }
}

/** The source of an entry, and what is promised of it; an object says more than a text. */
function pinnedOf(
  entry: Record<string, unknown>,
  folder: string,
  base: Base,
): Pick<IndexedPlugin, 'pinned' | 'unavailable'> {
  const source = entry['source'] ?? entry['url'] ?? entry['repository']
  const said = isObject(source) ? source : {}
  const one = (...keys: string[]): string | undefined =>
    keys.map((key) => text(said[key]) ?? text(entry[key])).find((value) => value !== undefined)
  const place = isObject(source) ? placeOf(source) : text(source)
  const [ref, commit, integrity] = [text(said['ref']), one('sha', 'commit'), one('integrity', 'sha256')]
  if (place === undefined) return { unavailable: 'its source is of no known kind' }
  if (commit !== undefined && !/^[0-9a-f]{40}$/.test(commit))
    return { unavailable: `its commit '${commit}' is no 40 hexadecimal digits` }
  const odd = integrity !== undefined && !hashRule.test(integrity)
  if (odd)
    return {
      unavailable: `its hash '${integrity}' is not one that is known: sha256-…, sha512-…, tree1:sha256-… or 64 hexadecimal digits`,
    }
  const [kind, path] = [text(said['source']), text(said['path'])]
  const promised = { ...definedOnly({ ref, commit, integrity }) }
  // The folder of a repository that an object names; that of a relative source is its path.
  const below = path !== undefined && kind !== 'local' ? { subdir: path.replace(/^\.\//, '') } : {}
  if (!isAddress(place)) return besideIndex([folder, place].filter(Boolean).join('/'), promised, base)
  if (text(said['registry']) !== undefined)
    return { unavailable: 'it names a registry of its own; the one of your npm settings is asked' }
  if (base.kind !== 'folder' && /^(?:git\+)?file:/.test(place))
    return { unavailable: 'it names a file of this machine, which an index from elsewhere may not' }
  if (/^https?:/.test(place) && archives.test(new URL(place).pathname) && integrity === undefined)
    return { unavailable: 'it is an archive of the web, and the index gives no hash for it' }
  return { pinned: { address: place, ...below, ...promised } }
}

function placeOf(source: Record<string, unknown>): string | undefined {
  const { source: kind, repo, url, package: spec, version, path } = source
  if (typeof repo === 'string') return `github:${repo}`
  if (typeof spec === 'string') return `npm:${spec}${typeof version === 'string' ? `@${version}` : ''}`
  if (typeof url === 'string') return url
  return kind === 'local' && typeof path === 'string' ? path : undefined
}

/** A source that lies where the index does. */
function besideIndex(
  path: string,
  promised: Omit<Pinned, 'address'>,
  base: Base,
): Pick<IndexedPlugin, 'pinned' | 'unavailable'> {
  const leads = { unavailable: `its source '${path}' leads out of the index` }
  const parts = path.split('/').filter((part) => part !== '' && part !== '.')
  if (isAbsolute(path) || /[\\\0]|^[A-Za-z]:/.test(path) || parts.includes('..')) return leads
  if (base.kind === 'git') {
    const [address, ref] = base.address.split('#') as [string, string?]
    return {
      pinned: { address, ...definedOnly({ ref }), ...(parts.length > 0 && { subdir: parts.join('/') }), ...promised },
    }
  }
  if (base.kind === 'folder') {
    const target = join(base.root, ...parts)
    if (!existsSync(target)) return { unavailable: `its source '${path}' does not exist` }
    return inside(realpathSync(base.root), realpathSync(target)) ? { pinned: { address: target, ...promised } } : leads
  }
  if (!archives.test(path))
    return {
      unavailable:
        'its source is a folder beside the index, and only the index is on the web; use the git repository of the index',
    }
  return promised.integrity === undefined
    ? { unavailable: 'it is an archive of the web, and the index gives no hash for it' }
    : { pinned: { address: new URL(parts.join('/'), base.url).href, ...promised } }
}
