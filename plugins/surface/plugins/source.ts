import { hash } from 'node:crypto'
import { cpSync, existsSync, lstatSync, mkdirSync, readdirSync, realpathSync, rmSync, statSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { isObject } from '../../../core/shapes/index.js'
import { deadline, sha256 } from '../../../core/system/index.js'
import { readBytes } from '../../../core/documents/index.js'
import { VtError, type Io, type Kernel } from '../../../core/index.js'
import { treeDigest, type PluginSource } from '../../../core/trust/index.js'
import { download, hostOf, networkFailure } from '../../lib/net/index.js'
import { mostUnpackedBytes, unpack } from './archive.js'
import { npm } from './packages.js'
import { started } from './started.js'
import { UserError } from './user_error.js'

export interface Fetched {
  /** A folder of our own with what was fetched. */
  root: string
  source: PluginSource
  /** What it would be called if nothing else says so. */
  name: string
}
export interface Fetching {
  kernel: Kernel
  io: Io
  /** An empty folder of our own. */
  into: string
  ref?: string | undefined
  /** A folder of the repository. */
  subdir?: string | undefined
  /** What the archive must hash to: 64 hexadecimal digits of SHA-256, or `sha256-…`, `sha384-…`, `sha512-…` in base64. */
  sha256?: string | undefined
  /** The name that it is to have here. */
  name?: string | undefined
}

export const archives = /\.(?:tar\.gz|tgz|tar|zip|mcpb)$/
const packageSpec = /^(?:@[a-z0-9][\w.-]*\/)?[a-z0-9][\w.-]*(?:@[\w.^~<>=|*+-]+)?$/i
const gitUrl = /^(?:(?:git\+)?(?:https|ssh|file):\/\/\S+|[\w.-]+@[\w.-]+:\S+)$/

/** Is this the address of something, and no path? */
export const isAddress = (text: string): boolean =>
  /^(?:npm|github):/.test(text) || gitUrl.test(text) || (/^https?:\/\//.test(text) && URL.canParse(text))

/** Brings a source into a folder of our own. Throws Refusal. */
export const fetchSource = async (address: string, fetching: Fetching): Promise<Fetched> =>
  withoutGit(await fetched(address, fetching))

/** The same source once more, as the lock records it. */
export const fetchAgain = async (source: PluginSource, fetching: Fetching): Promise<Fetched> =>
  withoutGit(await fetchedAgain(source, fetching))

/** No digest covers a `.git`, so none is installed, whoever packed it: git in that folder would be steered by it. */
function withoutGit(one: Fetched): Fetched {
  rmSync(join(one.root, '.git'), { recursive: true, force: true })
  return one
}

async function fetched(address: string, fetching: Fetching): Promise<Fetched> {
  const [place, hash] = address.split('#') as [string, string?]
  const ref = fetching.ref ?? hash
  const github = /^github:([\w.-]+)\/([\w.-]+?)(?:\.git)?(?:\/(.+))?$/.exec(place)
  if (github)
    return fromGit(
      { url: `https://github.com/${github[1]}/${github[2]}.git`, ref, subdir: github[3] ?? fetching.subdir },
      fetching,
    )
  if (address.startsWith('npm:')) return fromNpm(address.slice(4), fetching)
  if (/^https?:\/\//.test(place) && archives.test(new URL(place).pathname)) return fromUrl(place, fetching)
  if (gitUrl.test(place) && (/^(?:git|ssh:|file:)/.test(place) || /\.git\/?$/.test(place)))
    return fromGit({ url: place.replace(/^git\+/, ''), ref, subdir: fetching.subdir }, fetching)
  const path = resolve(address.replace(/^~(?=\/)/, () => fetching.io.env['HOME'] ?? '~'))
  if (!existsSync(path))
    throw new UserError(
      `'${address}' is neither a folder or an archive here, nor git, github:, npm: or an archive of the web`,
    )
  if (statSync(path).isDirectory())
    return isRepository(path)
      ? fromGit({ url: pathToFileURL(realpathSync(path)).href, ref }, fetching)
      : fromFolder(path, fetching)
  if (!archives.test(path))
    throw new UserError(
      `'${address}' is neither a folder nor an archive (.tar.gz, .tgz, .tar, .zip, .mcpb); a single manifest is named in \`manifests\` of your settings`,
    )
  return fromArchive(readBytes(path, { limit: mostUnpackedBytes }), { type: 'archive', path }, fetching)
}

function fetchedAgain(source: PluginSource, fetching: Fetching): Promise<Fetched> {
  const { type, url, ref, subdir, path } = source
  if (type === 'git') return fromGit({ url: url!, ref, subdir }, fetching)
  if (type === 'npm') return fromNpm(url!, fetching)
  if (type === 'archive' && url !== undefined)
    return fromUrl(url, { ...fetching, sha256: fetching.sha256 ?? source.integrity })
  return fetched(path!, fetching)
}

/** What git keeps, a bare repository or a `.git`: what is committed there is meant. */
const isRepository = (path: string): boolean =>
  ['HEAD', 'objects', 'refs'].every((name) => existsSync(join(path, name)))

function fromFolder(path: string, { into }: Fetching): Fetched {
  // Pipes, devices and far too much are refused before anything is copied.
  treeDigest(path)
  const root = join(into, 'copy')
  cpSync(path, root, { recursive: true, verbatimSymlinks: true, filter: (file) => basename(file) !== '.git' })
  return { root, source: { type: 'path', path: realpathSync(path) }, name: basename(path) }
}

async function fromArchive(bytes: Buffer, source: PluginSource, { into, sha256: wanted }: Fetching): Promise<Fetched> {
  const is = wanted === undefined ? undefined : hashLike(bytes, wanted)
  if (is !== undefined && is !== wanted && is !== wanted?.toLowerCase())
    throw new UserError(`the archive is not the expected one: its hash is ${is} instead of ${wanted}`)
  const root = join(into, 'unpacked')
  mkdirSync(root)
  await unpack(bytes, root)
  const algorithm = source.type === 'npm' ? 'sha512' : 'sha256'
  const name = basename(source.path ?? new URL(source.url!).pathname).replace(archives, '')
  return {
    root: onlyFolder(root),
    source: { ...source, integrity: `${algorithm}-${hash(algorithm, bytes, 'base64')}` },
    name,
  }
}

/** The hash of an archive in the form that another one is written in. */
function hashLike(bytes: Buffer, expected: string): string {
  const [, algorithm] = /^(sha(?:256|384|512))-/.exec(expected) ?? []
  return algorithm === undefined ? sha256(bytes) : `${algorithm}-${hash(algorithm, bytes, 'base64')}`
}

/** Most archives hold one folder that holds everything. */
function onlyFolder(root: string): string {
  const [first, ...others] = readdirSync(root)
  const parts = ['vtcode', 'skills', 'commands', 'hooks']
  if (first === undefined || others.length > 0 || first.startsWith('.') || parts.includes(first)) return root
  return lstatSync(join(root, first)).isDirectory() ? join(root, first) : root
}

async function fromUrl(url: string, fetching: Fetching): Promise<Fetched> {
  if (fetching.sha256 === undefined) throw new UserError('an archive of the web is taken with --sha256 only')
  const settings = fetching.kernel.settings.web
  using limit = deadline(300_000, fetching.io.signal)
  try {
    return await fromArchive(
      await download(url, { max_bytes: mostUnpackedBytes, signal: limit.signal }, settings),
      { type: 'archive', url },
      fetching,
    )
  } catch (error) {
    if (error instanceof UserError) throw error
    const known = error instanceof VtError ? error : (networkFailure(error, hostOf(new URL(url))) as Error)
    throw new UserError(known.message.replace(/\.$/, ''))
  }
}

/** A text of the web, by the rules of every request. Throws VT_WEB_*. */
export async function webText(
  url: URL,
  most: number,
  { kernel, io }: Pick<Fetching, 'kernel' | 'io'>,
): Promise<string> {
  using limit = deadline(30_000, io.signal)
  try {
    return (await download(url.href, { max_bytes: most, signal: limit.signal }, kernel.settings.web)).toString('utf8')
  } catch (error) {
    throw error instanceof VtError ? error : networkFailure(error, hostOf(url))
  }
}

/** Neither hooks nor filters nor submodules of the other side, and no question on the terminal. */
const gitFlags = [
  'core.hooksPath=/dev/null',
  'core.fsmonitor=false',
  'protocol.ext.allow=never',
  'filter.lfs.smudge=',
  'filter.lfs.process=',
  'filter.lfs.required=false',
  'advice.detachedHead=false',
]
const gitEnv = (folder: string) => ({
  GIT_CEILING_DIRECTORIES: folder,
  GIT_TERMINAL_PROMPT: '0',
  GIT_LFS_SKIP_SMUDGE: '1',
  GIT_SSH_COMMAND: 'ssh -oBatchMode=yes',
})

async function fromGit(
  { url, ref, subdir }: { url: string; ref?: string | undefined; subdir?: string | undefined },
  fetching: Fetching,
): Promise<Fetched> {
  const clone = join(fetching.into, 'clone')
  mkdirSync(clone)
  const git = (...args: string[]) =>
    started('git', [...gitFlags.flatMap((flag) => ['-c', flag]), ...args], clone, fetching, gitEnv(fetching.into))
  if (ref !== undefined && !/^[\w][\w./-]*$/.test(ref))
    throw new UserError(`'${ref}' is no name of a branch, a tag or a commit`)
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
    name: nameIn(subdir ?? url),
  }
}

/** `…/acme.git` and `…/acme/.git` are of acme. */
const nameIn = (place: string): string =>
  basename(basename(place) === '.git' ? dirname(place) : place).replace(/\.git$/, '')

async function fromNpm(spec: string, fetching: Fetching): Promise<Fetched> {
  if (!packageSpec.test(spec)) throw new UserError(`'${spec}' is no name of an npm package`)
  const packed = await npm(
    ['pack', spec, '--json', `--pack-destination=${fetching.into}`],
    fetching,
    (_, printed) => printed,
  )
  const said = saidOf(packed)
  // What lies there, not what it is said to be called.
  const [file, ...others] = readdirSync(fetching.into)
  if (said === undefined || file === undefined || others.length > 0)
    throw new UserError('npm does not say which package it got')
  const { root, source } = await fromArchive(
    readBytes(join(fetching.into, file), { limit: mostUnpackedBytes }),
    { type: 'npm', path: file },
    fetching,
  )
  const name = spec
    .replace(/(?<=.)@.*$/, '')
    .replace(/^@/, '')
    .replace('/', '-')
  return { root, source: { type: 'npm', url: spec, ref: said.version, integrity: source.integrity! }, name }
}

/** What npm says of the package that it packed. A registry may have made it say anything. */
function saidOf(printed: string): { version: string } | undefined {
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
