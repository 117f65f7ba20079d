import {
  existsSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { dataFolder, inside, makeFolder } from '../../../core/system/index.js'
import { VtError, type Io, type Kernel } from '../../../core/index.js'
import { inspect, type Inspection } from '../../../core/manifests/index.js'
import {
  noteConsents,
  readInstalled,
  readTree,
  requireCovered,
  treeDigest,
  writeInstalled,
  type Installed,
  type PluginSource,
} from '../../../core/trust/index.js'
import { lock } from '../../../core/workspace/index.js'
import { parseEventName } from '../../lib/hooks/index.js'
import { auditLog } from '../../lib/state/index.js'
import { confirm, isInteractive, toOneLine } from '../../lib/terminal/index.js'
import { askToAllow, forget } from './allow.js'
import { dependencies } from './packages.js'
import { executesHash } from './permissions.js'
import { pluginNameOf, nameRule, claimsOf, turn, isOlder } from './identity.js'
import { fetchOffer, isIndexName, offerNamed } from './indexes.js'
import { provenanceOf } from './npm_registry.js'
import { UserError } from './user_error.js'
import { consentText, differenceText, located, provenanceLine } from './show.js'
import { fetchAgain, fetchSource, type Fetched } from './source.js'

export interface Installing {
  kernel: Kernel
  io: Io
  /** Into the workspace instead of the user's own folder. */
  here?: boolean
  yes?: boolean
}
export interface AddOptions extends Installing {
  name?: string
  ref?: string
  sha256?: string
  link?: boolean
  inPlace?: boolean
  deps?: boolean
}

/** Where the plugins of a layer and their lock lie. */
export function pluginsFolder({ kernel, here = false }: Pick<Installing, 'kernel' | 'here'>): string {
  return here ? join(kernel.workspace, '.vtcode') : kernel.inspection.home
}

/** Installs a plugin and answers with its name. Throws Refusal; what was there before is there still. */
export async function addPlugin(address: string, options: AddOptions): Promise<string> {
  const { io, link = false, inPlace = false } = options
  return changing(options, async (folder, staging) => {
    const plugins = join(folder, 'plugins')
    const before = readInstalled(folder)
    if (inPlace) {
      const root = resolve(address)
      const places = [plugins, join(io.env['HOME'] ?? '', '.agents', 'plugins')].filter((place) => existsSync(place))
      if (!existsSync(root) || !places.some((place) => realpathSync(place) === realpathSync(dirname(root))))
        throw new UserError(`--in-place is for what is in ${plugins} already`)
      const inspection = await usable(root, basename(root), options)
      await agree(inspection, options)
      record(
        folder,
        before,
        {
          ...before,
          [basename(root)]: entryOf(inspection, before[basename(root)]?.source ?? { type: 'path', path: root }),
        },
        options,
      )
      return basename(root)
    }
    const fetched = link ? linkedTo(address) : await brought(address, staging, options)
    const name = pluginNameOf(fetched, options.name, io)
    const target = join(plugins, name)
    const old = before[name]
    if (lstatSync(target, { throwIfNoEntry: false })) {
      if (link || !old || old.source.type === 'link')
        throw new UserError(`the plugin ${name} exists already; remove it first, or take another name with --name`)
      if (sameAs(fetched.root, old) && stands(target, old))
        throw new UserError(`${name} is installed already, as it is there`)
      await askToAllow(await replace({ name, old, fetched, asks: 'always' }, folder, before, options), options)
      return name
    }
    const inspection = await usable(fetched.root, name, options)
    if (options.deps) await dependencies(fetched.root, options, { check: true })
    await agree(inspection, options)
    if (options.deps) await dependencies(fetched.root, options)
    const entry = entryOf(inspection, fetched.source, options.deps)
    if (link) symlinkSync(fetched.root, target)
    else renameSync(fetched.root, target)
    try {
      record(folder, before, { ...before, [name]: entry }, options)
    } catch (error) {
      rmSync(target, { recursive: true, force: true })
      throw error
    }
    await askToAllow(inspection, options)
    return name
  })
}

/** A source, or a plugin of an index by its name; what npm brings is shown with what its registry attests. */
async function brought(address: string, into: string, { kernel, io, ref, sha256, name }: AddOptions): Promise<Fetched> {
  const fetching = { kernel, io, into, ref, sha256, name }
  const offer = isIndexName(address) ? await offerNamed(address, fetching) : undefined
  const fetched = offer ? await fetchOffer(offer, fetching) : await fetchSource(address, fetching)
  const provenance = await provenanceOf(fetched.source, fetching)
  if (typeof provenance === 'object' && !provenance.same_bytes)
    throw new UserError(
      `the attestation of its registry is one of another archive than ${fetched.source.integrity ?? 'this one'}`,
    )
  const named =
    offer || fetched.source.integrity !== undefined
      ? [`source  ${toOneLine(Object.values(fetched.source).join(' '))}`]
      : []
  const facts = [...(offer ? [`index   ${toOneLine(offer.index)}`] : []), ...named, ...provenanceLine(provenance)]
  io.stderr.write(facts.map((line) => `${line}\n`).join(''))
  return fetched
}

/** Fetches a plugin once more; true when it is another one now. Throws Refusal; what was there before is there still. */
export async function update(name: string, options: Installing): Promise<boolean> {
  const { kernel, io } = options
  return changing(options, async (folder, staging) => {
    const before = readInstalled(folder)
    const old = before[name]
    const target = join(folder, 'plugins', name)
    if (!old) throw new UserError(`${name} was not installed by \`vtcode plugins add\``)
    if (old.source.type === 'link' || (old.source.path !== undefined && old.source.path === target)) return false
    const fetched = await fetchAgain(old.source, { kernel, io, into: staging })
    if (sameAs(fetched.root, old) && stands(target, old)) return false
    await replace({ name, old, fetched, asks: 'when it may do more' }, folder, before, options)
    return true
  })
}

interface Replacing {
  name: string
  old: Installed
  fetched: Fetched
  asks: 'always' | 'when it may do more'
}

/** Puts another version in the place of the one that is there, which stays until the new one is whole. */
async function replace(
  { name, old, fetched, asks }: Replacing,
  folder: string,
  before: Readonly<Record<string, Installed>>,
  options: AddOptions,
): Promise<Shown> {
  const target = join(folder, 'plugins', name)
  const inspection = await usable(fetched.root, name, options)
  const deps = options.deps ?? old.deps
  if (deps) await dependencies(fetched.root, options, { check: true })
  // Dependencies are fetched once somebody has agreed to what names them.
  if (
    asks === 'always' ||
    (deps ? !sameAs(fetched.root, old) : entryOf(inspection, fetched.source).executes !== old.executes)
  ) {
    const version = versionIn(inspection)
    const backwards = isOlder(version, old.version)
    if (backwards && asks !== 'always')
      throw new UserError(
        `${name} would go back from version ${old.version} to ${version}; \`vtcode plugins add\` with its source does that`,
      )
    options.io.stderr.write(turn(old, { version, source: fetched.source }, backwards))
    options.io.stderr.write(
      differenceText(
        existsSync(target) ? await inspect(target, surroundings(options), { name }) : undefined,
        inspection,
        old.files,
      ),
    )
    await agree(inspection, options)
  }
  if (deps) await dependencies(fetched.root, options)
  const entry = entryOf(inspection, fetched.source, deps)
  // Until the lock knows of the new one the former is kept by a name that the next change finds, should this one be killed.
  if (existsSync(target)) renameSync(target, join(dirname(target), `${former}${name}`))
  try {
    renameSync(fetched.root, target)
    record(folder, before, { ...before, [name]: entry }, options)
  } finally {
    settle(folder)
  }
  return inspection
}

/** Takes a plugin away. Throws Refusal while another one requires it. */
export async function remove(name: string, options: Installing & { data?: boolean }): Promise<void> {
  const { kernel, io, here = false } = options
  return changing(options, async (folder) => {
    const before = readInstalled(folder)
    const target = join(folder, 'plugins', name)
    if (!nameRule.test(name) || (!before[name] && !lstatSync(target, { throwIfNoEntry: false }))) {
      throw new UserError(
        `plugin not found: ${name} in ${join(folder, 'plugins')}; \`vtcode plugins list\` shows those that are there`,
      )
    }
    for (const other of kernel.inspection.plugins()) {
      if (other.name === name) continue
      const { contributions } = await inspect(other.root, surroundings(options), { name: other.name })
      const needing = contributions.find(({ manifest }) =>
        ((manifest['requires'] as { plugins?: string[] } | undefined)?.plugins ?? []).includes(name),
      )
      if (needing) throw new UserError(`${needing.id} requires it; remove ${other.name} first`)
    }
    if (
      !options.yes &&
      isInteractive(io) &&
      !(await confirm(io, `Remove ${name}${options.data ? ' and what it has kept' : ''}?`))
    )
      throw new UserError('you did not agree')
    const { [name]: _, ...others } = before
    if (existsSync(target)) forget(await inspect(target, surroundings(options), { name }), options)
    // The entry goes last: without its files it lets nothing run.
    rmSync(target, { recursive: true, force: true })
    record(folder, before, others, options)
    if (!options.data) return
    rmSync(dataFolder({ plugin: name, layer: here ? 'workspace' : 'user' }, kernel.inspection.home, kernel.workspace), {
      recursive: true,
      force: true,
    })
  })
}

/** As long as another one may take to fetch a plugin with its dependencies. */
const patienceMs = 300_000

/** One change at a time; what an interrupted one left behind is cleared away. */
async function changing<T>(options: Installing, work: (folder: string, staging: string) => Promise<T>): Promise<T> {
  const { io } = options
  if (io.env['VTCODE'] === '1')
    throw new UserError('plugins are not changed from a program that vtcode started; use a terminal of your own')
  const folder = pluginsFolder(options)
  const plugins = join(folder, 'plugins')
  if (options.here && lstatSync(folder, { throwIfNoEntry: false })?.isSymbolicLink())
    throw new UserError(`${folder} is a link`)
  makeFolder(plugins, options.here ? 0o755 : 0o700)
  if (options.here && !inside(options.kernel.workspace, realpathSync(plugins)))
    throw new UserError(`${plugins} leads out of the workspace`)
  await using _ = await lock([`plugins of ${realpathSync(folder)}`], folder, io.signal, patienceMs)
  for (const name of readdirSync(plugins))
    if (name.startsWith('.adding-')) rmSync(join(plugins, name), { recursive: true, force: true })
  // A sibling of where it will be: moving it there is one step.
  const staging = mkdtempSync(join(plugins, '.adding-'))
  try {
    settle(folder)
    return await work(folder, staging)
  } catch (error) {
    if (error instanceof VtError) throw new UserError(error.message.replace(/\.$/, ''))
    throw error
  } finally {
    rmSync(staging, { recursive: true, force: true })
  }
}

/** Writes the lock, and before it the account of consents where the settings name one. */
function record(
  folder: string,
  before: Readonly<Record<string, Installed>>,
  after: Readonly<Record<string, Installed>>,
  { kernel, io, here }: Installing,
): void {
  const at = new Date().toISOString()
  const grants = (all: Readonly<Record<string, Installed>>, other: Readonly<Record<string, Installed>>) => {
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
    audit: auditLog(kernel.settings, io.env),
    workspace: here ? kernel.workspace : folder,
  }
  noteConsents(place, grants(before, after), grants(after, before))
  writeInstalled(folder, after)
}

/** Is what was fetched what the lock says, dependencies aside where they are fetched by themselves? */
function sameAs(root: string, { tree, files, deps = false }: Installed): boolean {
  if (!deps) return treeDigest(root) === tree
  const own = (all: Record<string, string>) =>
    JSON.stringify(
      Object.entries(all)
        .filter(([path]) => !path.startsWith('node_modules/'))
        .sort(([a], [b]) => (a < b ? -1 : 1)),
    )
  return own(readTree(root).files) === own(files)
}

/** Does a folder hold exactly what the lock says? One that cannot be hashed does not. */
function stands(root: string, entry: Installed | undefined): boolean {
  try {
    return treeDigest(root) === entry?.tree
  } catch {
    return false
  }
}

const former = '.former-'

/** Ends an update that stopped anywhere: what the lock knows stays, be it the new plugin or the former one. What it does not know was put aside by no update. */
function settle(folder: string): void {
  const plugins = join(folder, 'plugins')
  const installed = readInstalled(folder)
  for (const name of Object.keys(installed).filter((known) =>
    lstatSync(join(plugins, `${former}${known}`), { throwIfNoEntry: false }),
  )) {
    const [kept, target] = [join(plugins, `${former}${name}`), join(plugins, name)]
    const current = stands(target, installed[name])
    rmSync(current ? kept : target, { recursive: true, force: true })
    if (!current) renameSync(kept, target)
  }
}

/** In what surroundings a plugin is looked at: what others have brought may serve it. */
export const surroundings = ({ kernel, io }: Pick<Installing, 'kernel' | 'io'>) => {
  const adapters = kernel.inspection
    .contributions()
    .flatMap(({ layer, key }) => (layer === 'builtin' || key === undefined ? [] : [key]))
  return { workspace: kernel.workspace, home: kernel.inspection.home, env: io.env, adapters }
}

/** What lies in a folder, with the digest of all of it from before it was looked at. */
type Shown = Inspection & { tree: string }
const changed = ({ name }: Shown): UserError => new UserError(`${name} was changed while you were asked`)

/**
 * What lies in a folder, when something of it can be used. What cannot is left out and shown with its file before anybody agrees; only
 * what we ourselves define, a manifest or a requirement, has to be whole. Throws Refusal.
 */
async function usable(root: string, name: string, options: Installing & Pick<AddOptions, 'link'>): Promise<Shown> {
  const tree = readTree(root)
  const inspection = await inspect(root, surroundings(options), { name })
  const { format, contributions, invalid, skills, instructions, agents, diagnostics } = inspection
  const broken = invalid.filter(({ state }) => state === 'invalid')
  const others = diagnostics.filter(
    ({ severity, code, message }) =>
      severity === 'error' && !code.startsWith('VT_SKILL_') && !broken.some(({ reason }) => reason === message),
  )
  const wrong = [
    ...broken.map(({ file, reason }) => `${relative(root, file)}: ${reason ?? 'invalid'}`),
    ...others.map((one) => located(one, root)),
  ]
  if (wrong.length > 0) throw new UserError(`it cannot be used: ${[...new Set(wrong)].join(' ')}`.replace(/\.$/, ''))
  if (contributions.length > 0 && format === 'manifests') {
    throw new UserError(
      'it holds manifests and is no plugin: call its manifest vtcode.yaml, or put them into a folder vtcode; or name the folder in `manifests` of your settings',
    )
  }
  if (!options.link)
    for (const contribution of contributions) requireCovered(contribution, { root: inspection.root, tree })
  if (contributions.length + skills.length + instructions.length + agents.length > 0)
    return { ...inspection, tree: tree.digest }
  const [first] = [...diagnostics].sort((a, b) => Number(b.severity === 'error') - Number(a.severity === 'error'))
  throw new UserError(
    first
      ? `nothing of it can be used: ${located(first, root)}`.replace(/\.$/, '')
      : 'it holds no manifest, no package of a known format and no skill',
  )
}

async function agree(shown: Shown, { io, yes = false }: Installing): Promise<void> {
  io.stderr.write(consentText(shown, io))
  if (!yes && !isInteractive(io)) throw new UserError('there is no terminal to ask at; --yes agrees')
  if (!yes && !(await confirm(io, `May ${shown.name} do this with your rights?`)))
    throw new UserError('you did not agree')
  if (treeDigest(shown.root) !== shown.tree) throw changed(shown)
}

function linkedTo(address: string): Fetched {
  if (!statSync(resolve(address), { throwIfNoEntry: false })?.isDirectory())
    throw new UserError(`'${address}' is no folder, which --link needs`)
  const root = realpathSync(resolve(address))
  return { root, source: { type: 'link', path: root }, name: basename(root) }
}

const versionIn = ({ root, contributions }: Inspection): string | undefined =>
  claimsOf(root).version ?? contributions[0]?.manifest.version

/** The entry of the lock; a link stands for whatever is there. */
function entryOf(shown: Shown, source: PluginSource, deps = false): Installed {
  const { root, format, contributions } = shown
  const version = versionIn(shown)
  const { digest, files } = readTree(root)
  if (!deps && digest !== shown.tree) throw changed(shown)
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
    ...sealed,
    executes: executesHash(shown),
    ...(deps && { deps }),
    ...(judges && { judges }),
    ...(guards && { guards }),
  }
}
