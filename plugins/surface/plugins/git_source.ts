import { mkdirSync, realpathSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { startDeadline } from '../../../core/system/index.js'
import { checkUrl, findFinalUrl } from '../../lib/net/index.js'
import { captureVerbOutput } from './capture_output.js'
import type { FetchedSource, FetchOptions } from './fetched_source.js'
import { toUserError, UserError } from './user_error.js'

/** Git settings that disable hooks, filters and submodules of the repository, and questions at the terminal. */
const GIT_FLAGS = [
  'core.hooksPath=/dev/null',
  'core.fsmonitor=false',
  'protocol.ext.allow=never',
  'filter.lfs.smudge=',
  'filter.lfs.process=',
  'filter.lfs.required=false',
  'advice.detachedHead=false',
  // A server may name further addresses for its objects, which nothing checks.
  'transfer.bundleURI=false',
  'fetch.uriProtocols=',
]
const createGitEnv = (folder: string) => ({
  GIT_CEILING_DIRECTORIES: folder,
  GIT_TERMINAL_PROMPT: '0',
  GIT_LFS_SKIP_SMUDGE: '1',
  GIT_SSH_COMMAND: 'ssh -oBatchMode=yes',
})

/** Fetches one commit of a repository into a temporary folder. Throws UserError. */
export async function cloneRepository(
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
  const { remote, flags } = await checkRemote(url, (await git('ls-remote', '--get-url', url)).trim(), fetching)
  await git(...flags, 'fetch', '-q', '--depth', '1', '--no-recurse-submodules', '--', remote, ref ?? 'HEAD')
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

const GIT_PATH = '/info/refs?service=git-upload-pack'

/**
 * Checks the address of a repository on the web and each redirect, as for every web request. Git then follows no
 * redirect and connects only to checked addresses. Settings of the user's own git may rewrite an address, which then
 * counts as the user's choice.
 */
async function checkRemote(
  url: string,
  rewritten: string,
  { kernel, io }: FetchOptions,
): Promise<{ remote: string; flags: string[] }> {
  if (!url.startsWith('https://') || rewritten !== url) return { remote: url, flags: [] }
  const settings = kernel.settings.web
  using limit = startDeadline(30_000, io.signal)
  try {
    const { href } = await findFinalUrl(url.replace(/\/*$/, GIT_PATH), { signal: limit.signal }, settings)
    if (!href.endsWith(GIT_PATH)) throw new UserError(`'${url}' redirects to '${href}', which is no repository`)
    const remote = href.slice(0, -GIT_PATH.length)
    const { hostname, port } = new URL(remote)
    const addresses = await checkUrl(remote, settings)
    const places = addresses.map(({ address, family }) => (family === 6 ? `[${address}]` : address))
    const values = [
      'http.followRedirects=false',
      `http.proxy=${settings.proxy ?? ''}`,
      `http.curloptResolve=${hostname}:${port || '443'}:${places.join(',')}`,
    ]
    return { remote, flags: values.flatMap((value) => ['-c', value]) }
  } catch (error) {
    throw toUserError(error, url)
  }
}

/** Returns the name of a repository: acme for `…/acme.git` and `…/acme/.git`. */
const toRepositoryName = (place: string): string =>
  basename(basename(place) === '.git' ? dirname(place) : place).replace(/\.git$/, '')
