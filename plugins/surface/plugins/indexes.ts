import { existsSync, realpathSync, rmSync, statSync } from 'node:fs'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import { isObject, omitUndefined } from '../../../core/shapes/index.js'
import { isInside } from '../../../core/system/index.js'
import { readBytes } from '../../../core/documents/index.js'
import { VtError, type Io, type Kernel } from '../../../core/index.js'
import { readTreeDigest } from '../../../core/trust/index.js'
import { createTempFolder } from '../../lib/base/index.js'
import { readEntry } from '../../lib/marketplace/index.js'
import { readPackageFacts, PLUGIN_NAME } from './identity.js'
import { searchNpm } from './npm_registry.js'
import type { IndexedPlugin, IndexContents } from './indexed_plugin.js'
import { pinSource, type Base } from './pin_source.js'
import { ARCHIVE_NAME, fetchSource, isAddress, downloadText, requireListedParts } from './source.js'
import type { FetchedSource, FetchOptions } from './fetched_source.js'
import { UserError } from './user_error.js'

const MAX_BYTES = 4 * 1_048_576
const MAX_ENTRIES = 10_000
const NAME_RULE = 'lower-case letters, digits, and single hyphens or dots between them'
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
  { name, index, pinned, unavailable, listed }: IndexedPlugin,
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
  requireListedParts(root, listed)
  const ownName = readPackageFacts(root).name
  if (source.type !== 'npm' && ownName !== undefined && ownName !== name && fetching.name === undefined)
    throw new UserError(
      `${index} calls it ${name}, but the package calls itself ${ownName}; choose the name with --name`,
    )
  return { ...fetched, name, ...omitUndefined({ listed }) }
}

async function readList(index: string, context: { kernel: Kernel; io: Io }): Promise<IndexContents> {
  if (/^https?:\/\//.test(index) && !/\.git\/?(?:#.*)?$/.test(index) && !ARCHIVE_NAME.test(new URL(index).pathname)) {
    const url = parseIndexUrl(index)
    return parseEntries(index, await downloadText(url, MAX_BYTES, context, requireHttps), {
      kind: 'web',
      url: url.href,
    })
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
  requireHttps(url)
  return url
}

function requireHttps(url: URL): void {
  if (url.protocol !== 'https:' && !['127.0.0.1', 'localhost', '[::1]'].includes(url.hostname))
    throw new UserError('an index on the web needs https')
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
    known.set(name, { name, index, ...readEntry(entry), ...pinSource(entry, folder, base) })
  })
  return { offers: [...known.values()], problems }
}
