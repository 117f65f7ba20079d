import { cpSync, existsSync, lstatSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isObject, omitUndefined } from '../../../core/shapes/index.js'
import { toText } from '../../../core/text/index.js'
import { readBytes } from '../../../core/documents/index.js'
import type { JsonObject } from '../../../core/index.js'
import { checkUrl } from '../../lib/net/index.js'
import { captureVerbOutput, type ProgramContext } from './capture_output.js'
import { toUserError, UserError } from './user_error.js'

const LOCK_FILE = 'package-lock.json'
const MAX_LOCK_BYTES = 64 * 1_048_576
const PUBLIC_REGISTRY = 'https://registry.npmjs.org'

/** npm settings that override those of packages and repositories: no scripts, no git. */
const NPM_ENV = {
  npm_config_git: '/nonexistent/git',
  npm_config_ignore_scripts: 'true',
  npm_config_audit: 'false',
  npm_config_fund: 'false',
  npm_config_update_notifier: 'false',
}

/**
 * Runs npm in a temporary folder outside every repository, with our own `package.json` or only `files`. Therefore only
 * the user's `.npmrc` decides about registries and programs.
 */
export async function runNpm<T>(
  args: string[],
  fetching: ProgramContext,
  use: (folder: string, printed: string) => T,
  files: Record<string, string> = {},
): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'vtcode-npm-'))
  try {
    writeFileSync(join(folder, 'package.json'), '{ "private": true }\n')
    for (const [name, from] of Object.entries(files)) cpSync(from, join(folder, name))
    return use(
      folder,
      await captureVerbOutput('npm', [...args, '--ignore-scripts', '--loglevel=error'], folder, fetching, NPM_ENV),
    )
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Finds the archive of a package: the latest version if it matches, otherwise the newest one. */
export async function findTarball(
  spec: string,
  fetching: ProgramContext,
): Promise<{ tarball: string; version: string; integrity?: string; attested?: string }> {
  const fields = ['version', 'dist', 'dist-tags']
  const printed = await runNpm(['view', spec, ...fields, '--json'], fetching, (_, text) => text)
  const view: unknown = parseJson(printed)
  const matching = (Array.isArray(view) ? (view as unknown[]) : [view]).filter(isObject)
  const isLatest = ({ version, 'dist-tags': tags }: JsonObject) => isObject(tags) && tags['latest'] === version
  const { dist, version } = matching.find(isLatest) ?? matching.at(-1) ?? {}
  const { tarball, integrity, attestations } = isObject(dist) ? dist : {}
  const attested = isObject(attestations) ? attestations['url'] : undefined
  const isNamed = typeof tarball === 'string' && typeof version === 'string'
  if (!isNamed || !/^https?:\/\//.test(tarball) || !URL.canParse(tarball))
    throw new UserError(`the registry names no archive of '${spec}'`)
  const [sha512] = /sha512-[\w+/=]+/.exec(toText(integrity)) ?? []
  return {
    tarball: new URL(tarball).href,
    version,
    ...omitUndefined({ integrity: sha512 }),
    ...(typeof attested === 'string' && { attested }),
  }
}

/** Checks addresses as every web request does, except for registries of npm's settings. Throws UserError. */
async function checkPackageAddresses(addresses: readonly string[], fetching: ProgramContext): Promise<void> {
  const origins = new Set(addresses.map((address) => new URL(address).origin))
  let registries: Set<string> | undefined
  for (const origin of origins) {
    try {
      await checkUrl(origin, fetching.kernel.settings.web)
    } catch (error) {
      registries ??= await listRegistries(fetching)
      if (!registries.has(origin)) throw toUserError(error, origin)
    }
  }
}

/** Checks whether an archive is at the public registry or at one of npm's settings. Elsewhere it requires https. */
export async function isAtRegistry(tarball: string, fetching: ProgramContext): Promise<boolean> {
  const { origin } = new URL(tarball)
  if (origin === PUBLIC_REGISTRY || (await listRegistries(fetching)).has(origin)) return true
  if (tarball.startsWith('https:')) return false
  throw new UserError(`the registry names an archive at '${origin}' without https`)
}

/** Returns the origins of registries in the user's npm settings. */
async function listRegistries(fetching: ProgramContext): Promise<Set<string>> {
  const settings = parseJson(await runNpm(['config', 'list', '--json'], fetching, (_, text) => text).catch(() => ''))
  const entries = isObject(settings) ? Object.entries(settings) : []
  const urls = entries.flatMap(([key, value]) => (/(?:^|:)registry$/.test(key) ? toText(value) : []))
  return new Set(urls.filter((url) => URL.canParse(url)).map((url) => new URL(url).origin))
}

/** Installs the dependencies of a package from its lock without scripts; with `check` it only checks the lock. */
export async function installDependencies(
  root: string,
  fetching: ProgramContext,
  { check = false } = {},
): Promise<void> {
  const { own, addresses } = requireVerifiable(root)
  if (check) return
  await checkPackageAddresses(addresses, fetching)
  const files = Object.fromEntries(['package.json', LOCK_FILE, ...own].map((name) => [name, join(root, name)]))
  await runNpm(
    ['ci', '--omit=dev', '--no-audit', '--no-fund'],
    fetching,
    (folder) => {
      rmSync(join(root, 'node_modules'), { recursive: true, force: true })
      if (existsSync(join(folder, 'node_modules'))) move(join(folder, 'node_modules'), join(root, 'node_modules'))
    },
    files,
  )
}

/** Requires for each dependency a hash and https, or a tarball in the package. Returns those tarballs and addresses. */
function requireVerifiable(root: string): { own: string[]; addresses: string[] } {
  if (!lstatSync(join(root, LOCK_FILE), { throwIfNoEntry: false })?.isFile())
    throw new UserError(`--deps needs a ${LOCK_FILE} in the package`)
  const packages = readLockPackages(join(root, LOCK_FILE))
  const own: string[] = []
  const addresses: string[] = []
  for (const [path, { resolved, integrity, link, inBundle, hasShrinkwrap }] of Object.entries(packages)) {
    if (hasShrinkwrap === true) throw createLockError(`'${path}' has its own lock, which npm would follow`)
    // npm fetches the bundled dependencies of the package itself like any other.
    if (path === '' || (inBundle === true && resolved === undefined && isInTarball(packages, path))) continue
    const from = toText(resolved)
    const [, tarball = ''] = /^file:((?!.*\.\.)[\w@-][\w@./-]*\.t(?:ar\.)?gz)$/.exec(from) ?? []
    if (link === true) throw createLockError(`'${path}' is a link`)
    if (typeof integrity !== 'string' || !/^sha(?:1|256|384|512)-/.test(integrity))
      throw createLockError(`'${path}' has no hash`)
    if (tarball !== '' && lstatSync(join(root, tarball), { throwIfNoEntry: false })?.isFile()) own.push(tarball)
    else addresses.push(requireHttps(path, from))
  }
  return { own, addresses }
}

function requireHttps(path: string, address: string): string {
  if (!address.startsWith('https://') || !URL.canParse(address)) throw createLockError(`'${path}' is from ${address}`)
  return address
}

const createLockError = (why: string) =>
  new UserError(`--deps needs a ${LOCK_FILE} of version 2 or 3 with https and a hash for each package, but ${why}`)

function readLockPackages(lock: string): Record<string, JsonObject> {
  let packages: unknown
  try {
    packages = (JSON.parse(readBytes(lock, { limit: MAX_LOCK_BYTES }).toString('utf8')) as JsonObject)['packages']
  } catch (error) {
    throw createLockError(`this lock cannot be read: ${(error as Error).message}`)
  }
  if (typeof packages !== 'object' || packages === null) throw createLockError('this lock names no packages')
  return packages as Record<string, JsonObject>
}

/** Checks whether the tarball of a parent package, which is fetched itself, bundles this package. */
function isInTarball(packages: Readonly<Record<string, JsonObject>>, path: string): boolean {
  for (let at = path.lastIndexOf('/node_modules/'); at > 0; at = path.lastIndexOf('/node_modules/', at - 1)) {
    const { bundleDependencies, inBundle } = packages[path.slice(0, at)] ?? {}
    if (inBundle !== true && Array.isArray(bundleDependencies) && bundleDependencies.length > 0) return true
  }
  return false
}

/** Moves a folder; copies it where the target is on another disk. */
function move(from: string, to: string): void {
  try {
    renameSync(from, to)
  } catch {
    cpSync(from, to, { recursive: true, verbatimSymlinks: true })
  }
}

/** Parses JSON that npm printed; undefined for other text. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}
