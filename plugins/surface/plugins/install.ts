import { existsSync, lstatSync, mkdtempSync, readdirSync, realpathSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { resolveDataFolder, isInside, makeFolder } from '../../../core/system/index.js'
import { VtError, type Io, type Kernel } from '../../../core/index.js'
import { inspect, type Inspection } from '../../../core/manifests/index.js'
import {
  auditConsents,
  readInstalled,
  readTree,
  requireCovered,
  readTreeDigest,
  writeInstalled,
  type Installed,
} from '../../../core/trust/index.js'
import { lock } from '../../../core/workspace/index.js'
import { parseEventName } from '../../lib/hooks/index.js'
import { resolveAuditLog } from '../../lib/state/index.js'
import { confirm, isInteractive, toOneLine } from '../../lib/terminal/index.js'
import { askToAllow, forgetAllowRules } from './allow_rules.js'
import { installDependencies } from './npm.js'
import { executesHash } from './permissions.js'
import { choosePluginName, PLUGIN_NAME, readPackageFacts, describeReplacement, isOlder } from './identity.js'
import { fetchOffer, isIndexName, findOffer } from './indexes.js'
import { readProvenance } from './npm_registry.js'
import { UserError } from './user_error.js'
import { renderConsent, renderDifference, formatDiagnostic, renderProvenance } from './show.js'
import { fetchInstalled, fetchSource, linkFolder } from './source.js'
import type { FetchedSource } from './fetched_source.js'

export interface InstallOptions {
  kernel: Kernel
  io: Io
  /** Use the folder of the workspace instead of the user's. */
  here?: boolean
  yes?: boolean
}
export interface AddOptions extends InstallOptions {
  name?: string
  ref?: string
  sha256?: string
  link?: boolean
  inPlace?: boolean
  deps?: boolean
}

/** Returns the folder of a layer that holds its plugins and their lock. */
export function resolvePluginsFolder({ kernel, here = false }: Pick<InstallOptions, 'kernel' | 'here'>): string {
  return here ? join(kernel.workspace, '.vtcode') : kernel.inspection.home
}

/** Installs a plugin and returns its name. Throws UserError and changes nothing on failure. */
export async function addPlugin(address: string, options: AddOptions): Promise<string> {
  const { io, link = false, inPlace = false } = options
  return changePlugins(options, async (folder, staging) => {
    const plugins = join(folder, 'plugins')
    const before = readInstalled(folder)
    if (inPlace) {
      const root = resolve(address)
      const pluginRoots = [plugins, join(io.env['HOME'] ?? '', '.agents', 'plugins')].filter((pluginRoot) =>
        existsSync(pluginRoot),
      )
      if (!existsSync(root) || !pluginRoots.some((place) => realpathSync(place) === realpathSync(dirname(root))))
        throw new UserError(`'${address}' is not in ${plugins}, which --in-place needs`)
      const inspection = await inspectUsable(root, basename(root), options)
      await askConsent(inspection, options)
      recordInstalled(
        folder,
        before,
        {
          ...before,
          [basename(root)]: createEntry(inspection, before[basename(root)] ?? { source: { type: 'path', path: root } }),
        },
        options,
      )
      return basename(root)
    }
    const fetched = link ? linkFolder(address) : await fetchPlugin(address, staging, options)
    const name = choosePluginName(fetched, options.name, io)
    const target = join(plugins, name)
    const old = before[name]
    if (lstatSync(target, { throwIfNoEntry: false })) {
      if (link || !old || old.source.type === 'link')
        throw new UserError(`the plugin ${name} exists already; remove it first, or choose another name with --name`)
      if (isSamePlugin(fetched.root, old) && isUnchanged(target, old))
        throw new UserError(`this version of ${name} is installed already`)
      await askToAllow(await replacePlugin({ name, old, fetched, asks: 'always' }, folder, before, options), options)
      return name
    }
    const inspection = await inspectUsable(fetched.root, name, options)
    if (options.deps) await installDependencies(fetched.root, options, { check: true })
    await askConsent(inspection, options)
    if (options.deps) await installDependencies(fetched.root, options)
    const entry = createEntry(inspection, fetched, options.deps)
    if (link) symlinkSync(fetched.root, target)
    else renameSync(fetched.root, target)
    try {
      recordInstalled(folder, before, { ...before, [name]: entry }, options)
    } catch (error) {
      rmSync(target, { recursive: true, force: true })
      throw error
    }
    await askToAllow(inspection, options)
    return name
  })
}

/** Fetches a plugin. Prints its source and the attestation of the npm registry. */
async function fetchPlugin(
  address: string,
  into: string,
  { kernel, io, ref, sha256, name }: AddOptions,
): Promise<FetchedSource> {
  const fetching = { kernel, io, into, ref, sha256, name }
  const offer = isIndexName(address) ? await findOffer(address, fetching) : undefined
  const fetched = offer ? await fetchOffer(offer, fetching) : await fetchSource(address, fetching)
  const provenance = await readProvenance(fetched, fetching)
  if (typeof provenance === 'object' && !provenance.same_bytes)
    throw new UserError(
      `the attestation of its registry is for another archive than ${fetched.source.integrity ?? 'this one'}`,
    )
  const origin =
    offer || fetched.source.integrity !== undefined
      ? [`source  ${toOneLine(Object.values(fetched.source).join(' '))}`]
      : []
  const facts = [...(offer ? [`index   ${toOneLine(offer.index)}`] : []), ...origin, ...renderProvenance(provenance)]
  io.stderr.write(facts.map((line) => `${line}\n`).join(''))
  return fetched
}

/** Fetches a plugin again. Returns whether it changed. Throws UserError and changes nothing on failure. */
export async function updatePlugin(name: string, options: InstallOptions): Promise<boolean> {
  const { kernel, io } = options
  return changePlugins(options, async (folder, staging) => {
    const before = readInstalled(folder)
    const old = before[name]
    const target = join(folder, 'plugins', name)
    if (!old) throw new UserError(`${name} was not installed by \`vtcode plugins add\``)
    if (old.source.type === 'link' || (old.source.path !== undefined && old.source.path === target)) return false
    const fetched = await fetchInstalled(old, { kernel, io, into: staging })
    if (isSamePlugin(fetched.root, old) && isUnchanged(target, old)) return false
    await replacePlugin({ name, old, fetched, asks: 'when it may do more' }, folder, before, options)
    return true
  })
}

interface Replacement {
  name: string
  old: Installed
  fetched: FetchedSource
  asks: 'always' | 'when it may do more'
}

/** Replaces the installed version, which stays until the new one is complete. */
async function replacePlugin(
  { name, old, fetched, asks }: Replacement,
  folder: string,
  before: Readonly<Record<string, Installed>>,
  options: AddOptions,
): Promise<HashedInspection> {
  const target = join(folder, 'plugins', name)
  const inspection = await inspectUsable(fetched.root, name, options)
  const deps = options.deps ?? old.deps
  if (deps) await installDependencies(fetched.root, options, { check: true })
  // Dependencies are fetched after consent to the lock file that names them.
  if (
    asks === 'always' ||
    (deps ? !isSamePlugin(fetched.root, old) : createEntry(inspection, fetched).executes !== old.executes)
  ) {
    const version = readVersion(inspection)
    const backwards = isOlder(version, old.version)
    if (backwards && asks !== 'always')
      throw new UserError(
        `${name} would go back from version ${old.version} to ${version}; run \`vtcode plugins add\` with its ` +
          'source to go back',
      )
    options.io.stderr.write(describeReplacement(old, { version, source: fetched.source }, backwards))
    options.io.stderr.write(
      renderDifference(
        existsSync(target) ? await inspect(target, createInspectContext(options), { name }) : undefined,
        inspection,
        old.files,
      ),
    )
    await askConsent(inspection, options)
  }
  if (deps) await installDependencies(fetched.root, options)
  const entry = createEntry(inspection, fetched, deps)
  // The former version keeps a known name until the lock holds the new one, so that the next change can recover from
  // a kill.
  if (existsSync(target)) renameSync(target, join(dirname(target), `${FORMER_PREFIX}${name}`))
  try {
    renameSync(fetched.root, target)
    recordInstalled(folder, before, { ...before, [name]: entry }, options)
  } finally {
    finishUpdates(folder)
  }
  return inspection
}

/** Removes a plugin. Throws UserError while another plugin requires it. */
export async function removePlugin(name: string, options: InstallOptions & { data?: boolean }): Promise<void> {
  const { kernel, io, here = false } = options
  return changePlugins(options, async (folder) => {
    const before = readInstalled(folder)
    const target = join(folder, 'plugins', name)
    if (!PLUGIN_NAME.test(name) || (!before[name] && !lstatSync(target, { throwIfNoEntry: false }))) {
      throw new UserError(
        `plugin not found: ${name} in ${join(folder, 'plugins')}; \`vtcode plugins list\` lists the plugins`,
      )
    }
    for (const other of kernel.inspection.plugins()) {
      if (other.name === name) continue
      const { contributions } = await inspect(other.root, createInspectContext(options), { name: other.name })
      const dependent = contributions.find(({ manifest }) =>
        ((manifest['requires'] as { plugins?: string[] } | undefined)?.plugins ?? []).includes(name),
      )
      if (dependent) throw new UserError(`${dependent.id} requires it; remove ${other.name} first`)
    }
    if (
      !options.yes &&
      isInteractive(io) &&
      !(await confirm(io, `Remove ${name}${options.data ? ' and its data' : ''}?`))
    )
      throw new UserError('you did not agree')
    const { [name]: _, ...others } = before
    if (existsSync(target)) forgetAllowRules(await inspect(target, createInspectContext(options), { name }), options)
    // The entry goes last; without files it allows no code to run.
    rmSync(target, { recursive: true, force: true })
    recordInstalled(folder, before, others, options)
    if (!options.data) return
    rmSync(
      resolveDataFolder({ plugin: name, layer: here ? 'workspace' : 'user' }, kernel.inspection.home, kernel.workspace),
      {
        recursive: true,
        force: true,
      },
    )
  })
}

/** Long enough for another process to fetch a plugin with its dependencies. */
const LOCK_TIMEOUT_MS = 300_000

/** Runs one change at a time, after removing the remains of an interrupted change. */
async function changePlugins<T>(
  options: InstallOptions,
  work: (folder: string, staging: string) => Promise<T>,
): Promise<T> {
  const { io } = options
  if (io.env['VTCODE'] === '1')
    throw new UserError('a program that vtcode started cannot change plugins; use a terminal of your own')
  const folder = resolvePluginsFolder(options)
  const plugins = join(folder, 'plugins')
  if (options.here && lstatSync(folder, { throwIfNoEntry: false })?.isSymbolicLink())
    throw new UserError(`${folder} is a link, which --here does not follow`)
  makeFolder(plugins, options.here ? 0o755 : 0o700)
  if (options.here && !isInside(options.kernel.workspace, realpathSync(plugins)))
    throw new UserError(`${plugins} leads out of the workspace`)
  await using _ = await lock([`plugins of ${realpathSync(folder)}`], folder, io.signal, LOCK_TIMEOUT_MS)
  for (const name of readdirSync(plugins))
    if (name.startsWith('.adding-')) rmSync(join(plugins, name), { recursive: true, force: true })
  // The staging folder is a sibling of the target, so that one rename moves the plugin.
  const staging = mkdtempSync(join(plugins, '.adding-'))
  try {
    finishUpdates(folder)
    return await work(folder, staging)
  } catch (error) {
    if (error instanceof VtError) throw new UserError(error.message.replace(/\.$/, ''))
    throw error
  } finally {
    rmSync(staging, { recursive: true, force: true })
  }
}

/** Writes the audit log of consents, where the settings name one, and then the lock. */
function recordInstalled(
  folder: string,
  before: Readonly<Record<string, Installed>>,
  after: Readonly<Record<string, Installed>>,
  { kernel, io, here }: InstallOptions,
): void {
  const at = new Date().toISOString()
  const toGrants = (all: Readonly<Record<string, Installed>>, other: Readonly<Record<string, Installed>>) => {
    const changed = Object.entries(all).filter(([name, entry]) => entry !== other[name])
    return Object.fromEntries(
      changed.map(([name, { tree, executes }]) => [
        `plugin:${name}`,
        { title: `The installed plugin ${name}`, digest: tree ?? executes, at },
      ]),
    )
  }
  const place = {
    home: kernel.inspection.home,
    audit: resolveAuditLog(kernel.settings, io.env),
    workspace: here ? kernel.workspace : folder,
  }
  auditConsents(place, toGrants(before, after), toGrants(after, before))
  writeInstalled(folder, after)
}

/** Checks whether a fetched plugin equals the installed one; ignores dependencies that are installed separately. */
function isSamePlugin(root: string, { tree, files, deps = false }: Installed): boolean {
  if (!deps) return readTreeDigest(root) === tree
  const hashOwnFiles = (all: Record<string, string>) =>
    JSON.stringify(
      Object.entries(all)
        .filter(([path]) => !path.startsWith('node_modules/'))
        .sort(([a], [b]) => (a < b ? -1 : 1)),
    )
  return hashOwnFiles(readTree(root).files) === hashOwnFiles(files)
}

/** Checks whether a folder matches the lock exactly; false where it cannot be hashed. */
function isUnchanged(root: string, entry: Installed | undefined): boolean {
  try {
    return readTreeDigest(root) === entry?.tree
  } catch {
    return false
  }
}

const FORMER_PREFIX = '.former-'

/** Completes an interrupted update: keeps the version that the lock names, the new or the former one. */
function finishUpdates(folder: string): void {
  const plugins = join(folder, 'plugins')
  const installed = readInstalled(folder)
  for (const name of Object.keys(installed).filter((known) =>
    lstatSync(join(plugins, `${FORMER_PREFIX}${known}`), { throwIfNoEntry: false }),
  )) {
    const [kept, target] = [join(plugins, `${FORMER_PREFIX}${name}`), join(plugins, name)]
    const current = isUnchanged(target, installed[name])
    rmSync(current ? kept : target, { recursive: true, force: true })
    if (!current) renameSync(kept, target)
  }
}

/** Returns the context to inspect a plugin in, including the adapters of other plugins. */
export const createInspectContext = ({ kernel, io }: Pick<InstallOptions, 'kernel' | 'io'>) => {
  const adapters = kernel.inspection
    .contributions()
    .flatMap(({ layer, key }) => (layer === 'builtin' || key === undefined ? [] : [key]))
  return { workspace: kernel.workspace, home: kernel.inspection.home, env: io.env, adapters }
}

/** An inspected folder with its digest from before the inspection. */
type HashedInspection = Inspection & { tree: string }
const createChangedError = ({ name }: HashedInspection): UserError =>
  new UserError(`${name} was changed while you were asked`)

/**
 * Inspects a folder. Throws UserError where no part is usable, or a manifest or a requirement is invalid. Other
 * invalid parts are skipped and shown with their file before consent.
 */
async function inspectUsable(
  root: string,
  name: string,
  options: InstallOptions & Pick<AddOptions, 'link'>,
): Promise<HashedInspection> {
  const tree = readTree(root)
  const inspection = await inspect(root, createInspectContext(options), { name })
  const { format, contributions, invalid, skills, instructions, agents, diagnostics } = inspection
  const broken = invalid.filter(({ state }) => state === 'invalid')
  const others = diagnostics.filter(
    ({ severity, code, message }) =>
      severity === 'error' && !code.startsWith('VT_SKILL_') && !broken.some(({ reason }) => reason === message),
  )
  const wrong = [
    ...broken.map(({ file, reason }) => `${relative(root, file)}: ${reason ?? 'invalid'}`),
    ...others.map((one) => formatDiagnostic(one, root)),
  ]
  if (wrong.length > 0)
    throw new UserError(`the plugin is invalid: ${[...new Set(wrong)].join(' ')}`.replace(/\.$/, ''))
  if (contributions.length > 0 && format === 'manifests') {
    throw new UserError(
      'the folder contains manifests but is no plugin: name its manifest vtcode.yaml, or move them into a folder ' +
        'vtcode; or name the folder in `manifests` of your settings',
    )
  }
  if (!options.link)
    for (const contribution of contributions) requireCovered(contribution, { root: inspection.root, tree })
  if (contributions.length + skills.length + instructions.length + agents.length > 0)
    return { ...inspection, tree: tree.digest }
  const [first] = [...diagnostics].sort((a, b) => Number(b.severity === 'error') - Number(a.severity === 'error'))
  throw new UserError(
    first
      ? `nothing of it can be used: ${formatDiagnostic(first, root)}`.replace(/\.$/, '')
      : 'the folder contains no manifest, no package of a known format and no skill',
  )
}

async function askConsent(inspection: HashedInspection, { io, yes = false }: InstallOptions): Promise<void> {
  io.stderr.write(renderConsent(inspection, io))
  if (!yes && !isInteractive(io)) throw new UserError('there is no terminal to ask at; agree with --yes')
  if (!yes && !(await confirm(io, `May ${inspection.name} do this with your rights?`)))
    throw new UserError('you did not agree')
  if (readTreeDigest(inspection.root) !== inspection.tree) throw createChangedError(inspection)
}

const readVersion = ({ root, contributions }: Inspection): string | undefined =>
  readPackageFacts(root).version ?? contributions[0]?.manifest.version

/** Creates the entry of the lock. A linked plugin has no hashes: its files may change. */
function createEntry(
  inspection: HashedInspection,
  { source, listed }: Pick<Installed, 'source' | 'listed'>,
  deps = false,
): Installed {
  const { root, format, contributions } = inspection
  const version = readVersion(inspection)
  const { digest, files } = readTree(root)
  if (!deps && digest !== inspection.tree) throw createChangedError(inspection)
  const judges = contributions.some(({ kind }) => kind === 'policy')
  const guards = contributions.some(({ manifest }) =>
    Object.keys(manifest.hooks ?? {}).some((event) =>
      ['PreToolUse', 'PermissionRequest'].includes(parseEventName(event) ?? ''),
    ),
  )
  const sealed = source.type === 'link' ? { files: {} } : { tree: digest, files }
  return {
    format,
    ...(version !== undefined && { version }),
    source,
    ...(listed && { listed }),
    ...sealed,
    executes: executesHash(inspection),
    ...(deps && { deps }),
    ...(judges && { judges }),
    ...(guards && { guards }),
  }
}
