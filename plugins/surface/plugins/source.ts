import { hash } from 'node:crypto'
import { cpSync, existsSync, lstatSync, mkdirSync, readdirSync, realpathSync, rmSync, statSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { isObject } from '../../../core/shapes/index.js'
import { startDeadline, sha256 } from '../../../core/system/index.js'
import { readBytes } from '../../../core/documents/index.js'
import { VtError, type Io, type Kernel } from '../../../core/index.js'
import { readTreeDigest, type PluginSource } from '../../../core/trust/index.js'
import { download, toHost, networkFailure } from '../../lib/net/index.js'
import { MAX_UNPACKED_BYTES, unpack } from './archive.js'
import { runNpm } from './npm.js'
import { captureVerbOutput } from './capture_output.js'
import { UserError } from './user_error.js'

export interface FetchedSource {
  /** A temporary folder with the fetched files. */
  root: string
  source: PluginSource
  /** The default name of the plugin. */
  name: string
}
export interface FetchOptions {
  kernel: Kernel
  io: Io
  /** An empty temporary folder. */
  into: string
  ref?: string | undefined
  /** A folder of the repository. */
  subdir?: string | undefined
  /**
   * The required hash of the archive: 64 hexadecimal digits of SHA-256, or `sha256-…`, `sha384-…`, `sha512-…` in
   * base64.
   */
  sha256?: string | undefined
  /** The name that the user chose. */
  name?: string | undefined
}

export const ARCHIVE_NAME = /\.(?:tar\.gz|tgz|tar|zip|mcpb)$/
const PACKAGE_SPEC = /^(?:@[a-z0-9][\w.-]*\/)?[a-z0-9][\w.-]*(?:@[\w.^~<>=|*+-]+)?$/i
const GIT_URL = /^(?:(?:git\+)?(?:https|ssh|file):\/\/\S+|[\w.-]+@[\w.-]+:\S+)$/

/** Checks whether a text is an address and no path. */
export const isAddress = (text: string): boolean =>
  /^(?:npm|github):/.test(text) || GIT_URL.test(text) || (/^https?:\/\//.test(text) && URL.canParse(text))

/** Fetches a source into `into`. Throws UserError. */
export const fetchSource = async (address: string, fetching: FetchOptions): Promise<FetchedSource> =>
  removeGitFolder(await fetchAddress(address, fetching))

/** Fetches a source again that the lock records. */
export const fetchAgain = async (source: PluginSource, fetching: FetchOptions): Promise<FetchedSource> =>
  removeGitFolder(await fetchRecorded(source, fetching))

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
  { into, sha256: wanted }: FetchOptions,
): Promise<FetchedSource> {
  const actual = wanted === undefined ? undefined : computeHash(bytes, wanted)
  if (actual !== undefined && actual !== wanted && actual !== wanted?.toLowerCase())
    throw new UserError(`the archive has the hash ${actual} instead of ${wanted}`)
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
  const settings = fetching.kernel.settings.web
  using limit = startDeadline(300_000, fetching.io.signal)
  try {
    return await unpackArchive(
      await download(url, { max_bytes: MAX_UNPACKED_BYTES, signal: limit.signal }, settings),
      { type: 'archive', url },
      fetching,
    )
  } catch (error) {
    if (error instanceof UserError) throw error
    const known = error instanceof VtError ? error : (networkFailure(error, toHost(new URL(url))) as Error)
    throw new UserError(known.message.replace(/\.$/, ''))
  }
}

/** Downloads a text by the rules of every web request. Throws VT_WEB_*. */
export async function downloadText(
  url: URL,
  most: number,
  { kernel, io }: Pick<FetchOptions, 'kernel' | 'io'>,
): Promise<string> {
  using limit = startDeadline(30_000, io.signal)
  try {
    return (await download(url.href, { max_bytes: most, signal: limit.signal }, kernel.settings.web)).toString('utf8')
  } catch (error) {
    throw error instanceof VtError ? error : networkFailure(error, toHost(url))
  }
}

/** Git settings that disable hooks, filters and submodules of the repository, and questions at the terminal. */
const GIT_FLAGS = [
  'core.hooksPath=/dev/null',
  'core.fsmonitor=false',
  'protocol.ext.allow=never',
  'filter.lfs.smudge=',
  'filter.lfs.process=',
  'filter.lfs.required=false',
  'advice.detachedHead=false',
]
const createGitEnv = (folder: string) => ({
  GIT_CEILING_DIRECTORIES: folder,
  GIT_TERMINAL_PROMPT: '0',
  GIT_LFS_SKIP_SMUDGE: '1',
  GIT_SSH_COMMAND: 'ssh -oBatchMode=yes',
})

async function cloneRepository(
  { url, ref, subdir }: { url: string; ref?: string | undefined; subdir?: string | undefined },
  fetching: FetchOptions,
): Promise<FetchedSource> {
  const clone = join(fetching.into, 'clone')
  mkdirSync(clone)
  const git = (...args: string[]) =>
    captureVerbOutput(
      'git',
      [...GIT_FLAGS.flatMap((flag) => ['-c', flag]), ...args],
      clone,
      fetching,
      createGitEnv(fetching.into),
    )
  if (ref !== undefined && !/^[\w][\w./-]*$/.test(ref)) throw new UserError(`'${ref}' is no branch, tag or commit`)
  await git('init', '-q', '--template=')
  await git('fetch', '-q', '--depth', '1', '--no-recurse-submodules', '--', url, ref ?? 'HEAD')
  await git('checkout', '-q', 'FETCH_HEAD')
  const commit = (await git('rev-parse', 'HEAD')).trim()
  const root = subdir === undefined ? clone : realpathSync(resolve(clone, subdir))
  if (root !== realpathSync(clone) && !root.startsWith(`${realpathSync(clone)}/`))
    throw new UserError(`'${subdir}' leads out of the repository`)
  return {
    root,
    source: { type: 'git', url, ...(ref !== undefined && { ref }), commit, ...(subdir !== undefined && { subdir }) },
    name: toRepositoryName(subdir ?? url),
  }
}

/** Returns the name of a repository: acme for `…/acme.git` and `…/acme/.git`. */
const toRepositoryName = (place: string): string =>
  basename(basename(place) === '.git' ? dirname(place) : place).replace(/\.git$/, '')

async function fetchNpmPackage(spec: string, fetching: FetchOptions): Promise<FetchedSource> {
  if (!PACKAGE_SPEC.test(spec)) throw new UserError(`'${spec}' is no npm package name`)
  const packed = await runNpm(
    ['pack', spec, '--json', `--pack-destination=${fetching.into}`],
    fetching,
    (_, printed) => printed,
  )
  const report = parsePackReport(packed)
  // npm may print a wrong file name, so the folder is read.
  const [file, ...others] = readdirSync(fetching.into)
  if (report === undefined || file === undefined || others.length > 0)
    throw new UserError('npm pack did not report a package with version and hash')
  const { root, source } = await unpackArchive(
    readBytes(join(fetching.into, file), { limit: MAX_UNPACKED_BYTES }),
    { type: 'npm', path: file },
    fetching,
  )
  const name = spec
    .replace(/(?<=.)@.*$/, '')
    .replace(/^@/, '')
    .replace('/', '-')
  return { root, source: { type: 'npm', url: spec, ref: report.version, integrity: source.integrity! }, name }
}

/** Parses the report of `npm pack`, which the registry may have forged. */
function parsePackReport(printed: string): { version: string } | undefined {
  let list: unknown
  try {
    list = JSON.parse(printed)
  } catch {
    return undefined
  }
  const [first] = Array.isArray(list) ? (list as unknown[]) : []
  const { integrity, version } = isObject(first) ? first : {}
  return typeof integrity === 'string' && typeof version === 'string' ? { version } : undefined
}
