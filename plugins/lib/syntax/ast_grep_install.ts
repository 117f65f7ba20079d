import { createHash } from 'node:crypto'
import { existsSync, realpathSync } from 'node:fs'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { VtError } from '../../../core/shapes/index.js'
import { startDeadline, makeFolder, writeState } from '../../../core/system/index.js'
import { lock } from '../../../core/workspace/index.js'
import { readTarEntries, type TarEntry } from '../files/index.js'
import type { WebSettings } from '../net/index.js'
import { pinned } from './ast_grep_pins.js'

export const astGrepProgram = 'ast-grep'

/** Returns the folder of programs that vtcode installs. */
export const resolveBinFolder = (home: string): string => join(home, 'bin')

/** The program cannot be installed; the message is a sentence without its full stop. */
export class InstallProblem extends Error {
  constructor(
    message: string,
    /** Web settings refuse the download before any request. */ readonly isBlocked = false,
  ) {
    super(message)
  }
}

const HOUR_MS = 3_600_000
const COOLDOWN_MS = 24 * HOUR_MS
const MAX_BYTES = 256 * 1024 * 1024
const TIMEOUT_SECONDS = 180

let running: Promise<string> | undefined

/** Downloads the program at first use. Throws InstallProblem if disabled, failed within 24 h, or failed now. */
export function installAutomatically(home: string, signal: AbortSignal, web: WebSettings): Promise<string> {
  return (running ??= attemptInstall(home, signal, web).finally(() => (running = undefined)))
}

async function attemptInstall(home: string, signal: AbortSignal, web: WebSettings): Promise<string> {
  if (process.env['VTCODE_AST_GREP_NO_INSTALL'] === '1')
    throw new InstallProblem('VTCODE_AST_GREP_NO_INSTALL=1 forbids the download')
  const failed = await readFile(resolveFailureFile(home), 'utf8').then(
    (text) => JSON.parse(text) as { at: number; reason: string },
    () => undefined,
  )
  if (failed && Date.now() - failed.at < COOLDOWN_MS) {
    throw new InstallProblem(
      `the download failed ${Math.floor((Date.now() - failed.at) / HOUR_MS)} h ago (${failed.reason}); ` +
        'the next attempt is possible 24 h later',
    )
  }
  try {
    return await install(home, signal, { again: false, web })
  } catch (error) {
    // An abort or a blocked download starts no waiting time.
    if (signal.aborted || !(error instanceof InstallProblem) || error.isBlocked) throw error
    await writeState(resolveFailureFile(home), JSON.stringify({ at: Date.now(), reason: error.message }), {
      durable: false,
    }).catch(() => {})
    throw error
  }
}

/** Downloads the program if missing, or always with `again`, and returns its path. Throws InstallProblem. */
export async function install(
  home: string,
  signal: AbortSignal,
  { again, web }: { again: boolean; web: WebSettings },
): Promise<string> {
  const wanted = pinned.packages[`${process.platform} ${process.arch}`]
  if (!wanted || !isGlibc())
    throw new InstallProblem(`the registry has no ast-grep for ${process.platform} ${process.arch}`)
  const folder = resolveBinFolder(home)
  const target = join(folder, astGrepProgram)
  await attempt((async () => makeFolder(folder, 0o755))())
  await using _ = await attempt(
    lock([`ast-grep of ${realpathSync(folder)}`], folder, signal, (TIMEOUT_SECONDS + 20) * 1000),
  )
  // Another process may have installed the program while this one waited for the lock.
  if (!again && existsSync(target)) return target
  const archive = await fetchArchive(wanted, signal, web)
  const program = await extractMember(
    await attempt(promisify(gunzip)(archive, { maxOutputLength: MAX_BYTES })),
    `package/${astGrepProgram}`,
  )
  await attempt(writeState(target, program, { mode: 0o755 }))
  await rm(resolveFailureFile(home), { force: true })
  return target
}

const resolveFailureFile = (home: string): string => join(resolveBinFolder(home), 'ast-grep.failed.json')

/** Returns whether the published programs run here: on Linux they need glibc. */
function isGlibc(): boolean {
  if (process.platform !== 'linux') return true
  const { header } = process.report.getReport() as { header: { glibcVersionRuntime?: string } }
  return header.glibcVersionRuntime !== undefined
}

async function fetchArchive(
  { name, integrity }: { name: string; integrity: string },
  signal: AbortSignal,
  web: WebSettings,
): Promise<Buffer> {
  // Every search loads this module and hardly any downloads.
  const [{ download }, { toHost, networkFailure, readUrl }] = await Promise.all([
    import('../net/index.js'),
    import('../net/index.js'),
  ])
  const named = process.env['npm_config_registry']
  const registry = (named ?? 'https://registry.npmjs.org').replace(/\/$/, '')
  const url = `${registry}/${name}/-/${name.split('/')[1]}-${pinned.version}.tgz`
  try {
    const host = toHost(readUrl(url))
    // The environment names the registry, which may be in a private network.
    const settings = named === undefined ? web : { ...web, private_hosts: [...web.private_hosts, host] }
    using limit = startDeadline(TIMEOUT_SECONDS * 1000, signal)
    const limits = { max_bytes: MAX_BYTES, signal: limit.signal }
    const archive = await download(url, limits, settings).catch((error: unknown) => {
      throw networkFailure(error, host)
    })
    const found = `sha512-${createHash('sha512').update(archive).digest('base64')}`
    if (found !== integrity)
      throw new InstallProblem(`${url} is not the pinned package: its hash is ${found.slice(0, 20)}…`)
    return archive
  } catch (error) {
    if (!(error instanceof VtError)) throw error
    throw new InstallProblem(
      error.message.replace(/\.$/, ''),
      error.code === 'VT_WEB_BLOCKED' || error.code === 'VT_WEB_URL',
    )
  }
}

async function extractMember(tar: Buffer, wanted: string): Promise<Buffer> {
  let found: TarEntry | undefined
  await attempt(
    readTarEntries(tar, (entry) => {
      if (entry.path === wanted) found = entry
    }),
  )
  if (!found) throw new InstallProblem(`the package does not hold ${wanted}`)
  return found.bytes()
}

/** Converts an error to an InstallProblem. */
async function attempt<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    const { message, cause } = error as Error
    throw new InstallProblem(cause instanceof Error ? `${message}: ${cause.message}` : message)
  }
}
