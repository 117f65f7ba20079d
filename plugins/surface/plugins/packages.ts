import { cpSync, existsSync, lstatSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { toText } from '../../../core/text/index.js'
import { readBytes } from '../../../core/documents/index.js'
import type { JsonObject } from '../../../core/index.js'
import { started, type Starting } from './started.js'
import { UserError } from './user_error.js'

const manual = 'package-lock.json'
const MAX_LOCK = 64 * 1_048_576

/** What npm is told whatever a package or a repository says: it runs nothing, and no git. */
const environment = {
  npm_config_git: '/nonexistent/git',
  npm_config_ignore_scripts: 'true',
  npm_config_audit: 'false',
  npm_config_fund: 'false',
  npm_config_update_notifier: 'false',
}

/**
 * Runs npm in a folder of ours outside of every repository, with a `package.json` of ours or these files alone: no `.npmrc` but the user's own
 * says where packages come from or which programs are run.
 */
export async function npm<T>(
  args: string[],
  fetching: Starting,
  use: (folder: string, printed: string) => T,
  files: Record<string, string> = {},
): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'vtcode-npm-'))
  try {
    writeFileSync(join(folder, 'package.json'), '{ "private": true }\n')
    for (const [name, from] of Object.entries(files)) cpSync(from, join(folder, name))
    return use(
      folder,
      await started('npm', [...args, '--ignore-scripts', '--loglevel=error'], folder, fetching, environment),
    )
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Installs the dependencies of a package from its lock, without scripts; `check` only tries it. */
export async function dependencies(root: string, fetching: Starting, { check = false } = {}): Promise<void> {
  const own = requireSound(root)
  if (check) return
  const files = Object.fromEntries(['package.json', manual, ...own].map((name) => [name, join(root, name)]))
  await npm(
    ['ci', '--omit=dev', '--no-audit', '--no-fund'],
    fetching,
    (folder) => {
      rmSync(join(root, 'node_modules'), { recursive: true, force: true })
      if (existsSync(join(folder, 'node_modules'))) move(join(folder, 'node_modules'), join(root, 'node_modules'))
    },
    files,
  )
}

/** Requires hash and https, a tarball in the package, or a part of one. Returns those tarballs. */
function requireSound(root: string): string[] {
  if (!lstatSync(join(root, manual), { throwIfNoEntry: false })?.isFile())
    throw new UserError(`--deps needs a ${manual} in the package`)
  const packages = packagesIn(join(root, manual))
  const own: string[] = []
  for (const [path, { resolved, integrity, link, inBundle, hasShrinkwrap }] of Object.entries(packages)) {
    if (hasShrinkwrap === true) throw refuse(`'${path}' has a lock of its own, which npm would follow`)
    // What the package itself bundles npm fetches like any other.
    if (path === '' || (inBundle === true && resolved === undefined && isInTarball(packages, path))) continue
    const from = toText(resolved)
    const [, tarball = ''] = /^file:((?!.*\.\.)[\w@-][\w@./-]*\.t(?:ar\.)?gz)$/.exec(from) ?? []
    if (link === true) throw refuse(`'${path}' is a link`)
    if (typeof integrity !== 'string' || !/^sha(?:1|256|384|512)-/.test(integrity))
      throw refuse(`'${path}' is without a hash`)
    if (tarball !== '' && lstatSync(join(root, tarball), { throwIfNoEntry: false })?.isFile()) own.push(tarball)
    else if (!from.startsWith('https://')) throw refuse(`'${path}' is from ${from}`)
  }
  return own
}

const refuse = (why: string) =>
  new UserError(`--deps takes what a ${manual} of version 2 or 3 names over https with its hash; ${why}`)

function packagesIn(lock: string): Record<string, JsonObject> {
  let packages: unknown
  try {
    packages = (JSON.parse(readBytes(lock, { limit: MAX_LOCK }).toString('utf8')) as JsonObject)['packages']
  } catch (error) {
    throw refuse(`this one cannot be read: ${(error as Error).message}`)
  }
  if (typeof packages !== 'object' || packages === null) throw refuse('this one names no packages')
  return packages as Record<string, JsonObject>
}

/** Whether a package above bundles this one in its own tarball, and is fetched itself. */
function isInTarball(packages: Readonly<Record<string, JsonObject>>, path: string): boolean {
  for (let at = path.lastIndexOf('/node_modules/'); at > 0; at = path.lastIndexOf('/node_modules/', at - 1)) {
    const { bundleDependencies, inBundle } = packages[path.slice(0, at)] ?? {}
    if (inBundle !== true && Array.isArray(bundleDependencies) && bundleDependencies.length > 0) return true
  }
  return false
}

/** The temporary folder may lie on another disk. */
function move(from: string, to: string): void {
  try {
    renameSync(from, to)
  } catch {
    cpSync(from, to, { recursive: true, verbatimSymlinks: true })
  }
}
