import { hash } from 'node:crypto'
import { cpSync, existsSync, lstatSync, mkdirSync, readdirSync, realpathSync, rmSync, statSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { omitUndefined } from '../../../core/shapes/index.js'
import { startDeadline, sha256 } from '../../../core/system/index.js'
import { readBytes } from '../../../core/documents/index.js'
import { readTreeDigest, type Installed, type PluginSource } from '../../../core/trust/index.js'
import { writeListedParts } from '../../lib/marketplace/index.js'
import { download } from '../../lib/net/index.js'
import { MAX_UNPACKED_BYTES, unpack } from './archive.js'
import { cloneRepository } from './git_source.js'
import { findTarball, isAtRegistry, runNpm } from './npm.js'
import type { FetchedSource, FetchOptions } from './fetched_source.js'
import { toUserError, UserError } from './user_error.js'

export const ARCHIVE_NAME = /\.(?:tar\.gz|tgz|tar|zip|mcpb)$/
const PACKAGE_SPEC = /^(?:@[a-z0-9][\w.-]*\/)?[a-z0-9][\w.-]*(?:@[\w.^~<>=|*+-]+)?$/i
const GIT_URL = /^(?:(?:git\+)?(?:https|ssh|file):\/\/\S+|[\w.-]+@[\w.-]+:\S+)$/

/** Checks whether a text is an address and no path. */
export const isAddress = (text: string): boolean =>
  /^(?:npm|github):/.test(text) || GIT_URL.test(text) || (/^https?:\/\//.test(text) && URL.canParse(text))

/** Checks whether git would start ssh for an address. */
export const isSsh = (address: string): boolean => /^(?:git\+)?ssh:|^[\w.-]+@/.test(address)

/** Fetches a source into `into`. Throws UserError. */
export const fetchSource = async (address: string, fetching: FetchOptions): Promise<FetchedSource> =>
  removeGitFolder(await fetchAddress(address, fetching))

/** Fetches an installed plugin again. */
export async function fetchInstalled(
  { source, listed }: Pick<Installed, 'source' | 'listed'>,
  fetching: FetchOptions,
): Promise<FetchedSource> {
  const fetched = removeGitFolder(await fetchRecorded(source, fetching))
  requireListedParts(fetched.root, listed)
  return { ...fetched, ...omitUndefined({ listed }) }
}

/** Writes the listed parts into a fetched plugin. Throws UserError. */
export function requireListedParts(root: string, listed: FetchedSource['listed']): void {
  const problem = writeListedParts(root, listed)
  if (problem !== undefined) throw new UserError(problem)
}

export function linkFolder(address: string): FetchedSource {
  if (!statSync(resolve(address), { throwIfNoEntry: false })?.isDirectory())
    throw new UserError(`'${address}' is no folder, which --link needs`)
  const root = realpathSync(resolve(address))
  return { root, source: { type: 'link', path: root }, name: basename(root) }
}

/** Removes `.git`: no digest covers it, and it could make git run code in that folder. */
function removeGitFolder(one: FetchedSource): FetchedSource {
  rmSync(join(one.root, '.git'), { recursive: true, force: true })
  return one
}

async function fetchAddress(address: string, fetching: FetchOptions): Promise<FetchedSource> {
  const [place, hash] = address.split('#') as [string, string?]
  const ref = fetching.ref ?? hash
  const github = /^github:([\w.-]+)\/([\w.-]+?)(?:\.git)?(?:\/(.+))?$/.exec(place)
  if (github)
    return cloneRepository(
      { url: `https://github.com/${github[1]}/${github[2]}.git`, ref, subdir: github[3] ?? fetching.subdir },
      fetching,
    )
  if (address.startsWith('npm:')) return fetchNpmPackage(address.slice(4), fetching)
  if (/^https?:\/\//.test(place) && ARCHIVE_NAME.test(new URL(place).pathname)) return downloadArchive(place, fetching)
  if (GIT_URL.test(place) && (/^(?:git|ssh:|file:)/.test(place) || /\.git\/?$/.test(place)))
    return cloneRepository({ url: place.replace(/^git\+/, ''), ref, subdir: fetching.subdir }, fetching)
  const path = resolve(address.replace(/^~(?=\/)/, () => fetching.io.env['HOME'] ?? '~'))
  if (!existsSync(path))
    throw new UserError(`'${address}' does not exist and is no git, github: or npm: address and no archive on the web`)
  if (statSync(path).isDirectory())
    return isRepository(path)
      ? cloneRepository({ url: pathToFileURL(realpathSync(path)).href, ref }, fetching)
      : copyFolder(path, fetching)
  if (!ARCHIVE_NAME.test(path))
    throw new UserError(
      `'${address}' is neither a folder nor an archive (.tar.gz, .tgz, .tar, .zip, .mcpb); name a single manifest ` +
        'in `manifests` of your settings',
    )
  return unpackArchive(readBytes(path, { limit: MAX_UNPACKED_BYTES }), { type: 'archive', path }, fetching)
}

function fetchRecorded(source: PluginSource, fetching: FetchOptions): Promise<FetchedSource> {
  const { type, url, ref, subdir, path } = source
  if (type === 'git') return cloneRepository({ url: url!, ref, subdir }, fetching)
  if (type === 'npm') return fetchNpmPackage(url!, fetching)
  if (type === 'archive' && url !== undefined)
    return downloadArchive(url, { ...fetching, sha256: fetching.sha256 ?? source.integrity })
  return fetchAddress(path!, fetching)
}

/** Checks whether a folder is a bare repository or a `.git`. Its committed files are the source. */
const isRepository = (path: string): boolean =>
  ['HEAD', 'objects', 'refs'].every((name) => existsSync(join(path, name)))

function copyFolder(path: string, { into }: FetchOptions): FetchedSource {
  // The digest refuses pipes, devices and too many files before the copy.
  readTreeDigest(path)
  const root = join(into, 'copy')
  cpSync(path, root, { recursive: true, verbatimSymlinks: true, filter: (file) => basename(file) !== '.git' })
  return { root, source: { type: 'path', path: realpathSync(path) }, name: basename(path) }
}

async function unpackArchive(
  bytes: Buffer,
  source: PluginSource,
  { into, sha256: expected }: FetchOptions,
): Promise<FetchedSource> {
  const actual = expected === undefined ? undefined : computeHash(bytes, expected)
  if (actual !== undefined && actual !== expected && actual !== expected?.toLowerCase())
    throw new UserError(`the archive has the hash ${actual} instead of ${expected}`)
  const root = join(into, 'unpacked')
  mkdirSync(root)
  await unpack(bytes, root)
  const algorithm = source.type === 'npm' ? 'sha512' : 'sha256'
  const name = basename(source.path ?? new URL(source.url!).pathname).replace(ARCHIVE_NAME, '')
  return {
    root: findOnlyFolder(root),
    source: { ...source, integrity: `${algorithm}-${hash(algorithm, bytes, 'base64')}` },
    name,
  }
}

/** Computes the hash of an archive in the form of the expected hash. */
function computeHash(bytes: Buffer, expected: string): string {
  const [, algorithm] = /^(sha(?:256|384|512))-/.exec(expected) ?? []
  return algorithm === undefined ? sha256(bytes) : `${algorithm}-${hash(algorithm, bytes, 'base64')}`
}

/** Returns the only folder of an archive, which most archives have, or the root. */
function findOnlyFolder(root: string): string {
  const [first, ...others] = readdirSync(root)
  const parts = ['vtcode', 'skills', 'commands', 'hooks']
  if (first === undefined || others.length > 0 || first.startsWith('.') || parts.includes(first)) return root
  return lstatSync(join(root, first)).isDirectory() ? join(root, first) : root
}

async function downloadArchive(url: string, fetching: FetchOptions): Promise<FetchedSource> {
  if (fetching.sha256 === undefined) throw new UserError('an archive on the web needs its hash in --sha256')
  return unpackArchive(await downloadBytes(url, fetching), { type: 'archive', url }, fetching)
}

/** Downloads by the rules of every web request; `check` refuses a hop by throwing. Throws UserError. */
async function downloadBytes(
  url: string,
  { kernel, io }: Pick<FetchOptions, 'kernel' | 'io'>,
  { ms = 300_000, ...rest }: { ms?: number; max_bytes: number; check?: HopCheck } = { max_bytes: MAX_UNPACKED_BYTES },
): Promise<Buffer> {
  using limit = startDeadline(ms, io.signal)
  try {
    return await download(url, { ...rest, signal: limit.signal }, kernel.settings.web)
  } catch (error) {
    throw toUserError(error, url)
  }
}

type HopCheck = (url: URL) => void

export async function downloadText(
  { href }: URL,
  max_bytes: number,
  context: Pick<FetchOptions, 'kernel' | 'io'>,
  check: HopCheck = () => {},
): Promise<string> {
  return (await downloadBytes(href, context, { ms: 30_000, max_bytes, check })).toString('utf8')
}

async function fetchNpmPackage(spec: string, fetching: FetchOptions): Promise<FetchedSource> {
  if (!PACKAGE_SPEC.test(spec)) throw new UserError(`'${spec}' is no npm package name`)
  const { tarball, version, integrity, attested } = await findTarball(spec, fetching)
  // npm checks no redirect and resolves a name again, so it fetches from registries only.
  const fetchBytes = (await isAtRegistry(tarball, fetching)) ? packTarball : downloadBytes
  const bytes = await fetchBytes(tarball, fetching)
  const { root, source } = await unpackArchive(bytes, { type: 'npm', path: spec }, fetching)
  if (integrity !== undefined && integrity !== source.integrity)
    throw new UserError(`the archive has the hash ${source.integrity} instead of ${integrity}`)
  const name = spec
    .replace(/(?<=.)@.*$/, '')
    .replace(/^@/, '')
    .replace('/', '-')
  return {
    root,
    source: { type: 'npm', url: spec, ref: version, integrity: source.integrity! },
    name,
    ...omitUndefined({ attested }),
  }
}

async function packTarball(tarball: string, fetching: FetchOptions): Promise<Buffer> {
  await runNpm(['pack', tarball, `--pack-destination=${fetching.into}`], fetching, () => undefined)
  // The output of npm may be forged.
  const [file, ...others] = readdirSync(fetching.into)
  if (file === undefined || others.length > 0) throw new UserError('npm pack did not report a package')
  return readBytes(join(fetching.into, file), { limit: MAX_UNPACKED_BYTES })
}
