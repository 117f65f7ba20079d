import { existsSync, realpathSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { problem, VtError, type Contribution } from '../shapes/index.js'
import { writeStateSync } from '../system/index.js'
import { readBytes } from '../documents/index.js'
import { requireCovered, runsCode, type AgreedFiles } from './digest.js'
import { fileHash, isCompiled, readTree, type Tree } from './tree.js'

/** Where an installed plugin came from, so that it can be fetched again. */
export interface PluginSource {
  type: 'git' | 'npm' | 'archive' | 'path' | 'link'
  url?: string
  ref?: string
  commit?: string
  subdir?: string
  integrity?: string
  path?: string
}
/** One entry of `plugins.lock.json`. */
export interface Installed {
  /** `vtcode`, `Agent Plugins`, … */
  format: string
  version?: string
  source: PluginSource
  /** `tree1` of all files that the user agreed to; a linked plugin is not hashed. */
  tree?: string
  /** Every file with its hash: a listing checks single files by them, and they name the changed files. */
  files: Record<string, string>
  /** Hash of the text that was shown for consent. */
  executes: string
  /** Whether its dependencies were installed too; then every update installs them. */
  deps?: boolean
  /** Whether the plugin has a policy; then no call is made while the plugin is missing. */
  judges?: boolean
  /** Whether lifecycle hooks of the plugin may stop a call; then every call is asked about while they are missing. */
  guards?: boolean
}

const MAX_BYTES = 16 * 1_048_576

/** The plugins that a lock in this `.vtcode` folder records. Throws VT_PLUGIN_LOCK when it cannot be used. */
export function readInstalled(folder: string): Record<string, Installed> {
  const file = lockOf(folder)
  if (!existsSync(file)) return {}
  const unusable = (problem_: string) =>
    problem(
      'VT_PLUGIN_LOCK',
      { id: file, problem: problem_, way: 'Fix it, or delete it and add the plugins again.' },
      { details: { files: [file] } },
    )
  try {
    const { version, plugins } = JSON.parse(readBytes(file, { limit: MAX_BYTES }).toString('utf8')) as {
      version?: unknown
      plugins?: unknown
    }
    if (version !== 1 || typeof plugins !== 'object' || plugins === null) throw new Error('it is no lock of version 1')
    const entries = Object.entries(plugins as Record<string, Installed>)
    // An entry is named as its folder is; a repository ships a lock too, and would name a place elsewhere.
    const strange = entries.find(([name]) => !isFolderName(name))
    if (strange) throw new Error(`its entry '${strange[0]}' is no name of a folder`)
    const texts = (source: PluginSource): boolean => Object.values(source).every((value) => typeof value === 'string')
    const broken = entries.find(
      ([, entry]) =>
        typeof entry?.source?.type !== 'string' ||
        !texts(entry.source) ||
        typeof entry.files !== 'object' ||
        (entry.source.type !== 'link' && typeof entry.tree !== 'string'),
    )
    if (broken) throw new Error(`its entry '${broken[0]}' has no source, files or tree`)
    return Object.assign(Object.create(null) as object, Object.fromEntries(entries))
  } catch (error) {
    throw unusable(`cannot be used: ${(error as Error).message}`)
  }
}

const isFolderName = (name: string): boolean => /^[^./\\\0][^/\\\0]{0,254}$/.test(name)

/** Replaces the lock in one step. */
export function writeInstalled(folder: string, plugins: Readonly<Record<string, Installed>>): void {
  const sorted = Object.fromEntries(Object.entries(plugins).sort(([a], [b]) => (a < b ? -1 : 1)))
  writeStateSync(lockOf(folder), `${JSON.stringify({ version: 1, plugins: sorted }, null, 2)}\n`)
}

const lockOf = (folder: string): string => join(folder, 'plugins.lock.json')

const hashOf = (file: string): string => fileHash(readBytes(file, { limit: MAX_BYTES }))

/** The locks of one generation, for plugins in the user's and the workspace's plugin folders. */
export interface LockVerifier {
  /** The reason why a contribution is disabled, as far as its manifest shows one. */
  objection(contribution: Contribution): VtError | undefined
  /**
   * Hashes the whole plugin, once, and answers with the files that the user agreed to; nothing for one that is not locked. Throws VT_PLUGIN_LOCK
   * where its files differ from those.
   */
  verify(contribution: Contribution): AgreedFiles | undefined
  /** Returns why a plugin folder is disabled; a folder that was never installed may be read. */
  fault(root: string): VtError | undefined
  /** The plugins that the user installed and that are missing. */
  gone(): { name: string; error: VtError; judges: boolean }[]
  /** The plugins whose lifecycle hooks may stop a call, as they were installed, by name. */
  guards(): { name: string; root: string }[]
  /** The entry of a plugin. */
  entryOf(root: string): Installed | undefined
  /** Whether a plugin lies in one of the plugin folders. */
  holds(root: string): boolean
}

/** The plugin folders, each with its lock; a `sealed` folder contains only installed plugins. */
function pluginFolders({
  home,
  user,
  workspace,
}: {
  home: string
  user: string
  workspace: string
}): { folder: string; lock: string; sealed: boolean }[] {
  // A link in the place of one of these folders is the user's own choice, here as in the search for plugins.
  const real = (folder: string) => (existsSync(folder) ? realpathSync(folder) : folder)
  return [
    { folder: real(join(home, 'plugins')), lock: home, sealed: true },
    { folder: real(join(user, '.agents', 'plugins')), lock: home, sealed: true },
    { folder: real(join(workspace, '.vtcode', 'plugins')), lock: join(workspace, '.vtcode'), sealed: false },
    { folder: real(join(workspace, '.agents', 'plugins')), lock: join(workspace, '.vtcode'), sealed: false },
  ]
}

type LockAt = ReturnType<typeof locksOnce>
type Place = ReturnType<typeof pluginFolders>[number]

/** The plugins with guards that the locks of these folders record; the first folder of a lock stands for one that lies in neither. */
function guardsIn(places: readonly Place[], lockAt: LockAt): { name: string; root: string }[] {
  return places.flatMap(({ folder, lock }, index) => {
    const entries = lockAt(lock)
    if (entries instanceof VtError) return []
    const others = places.filter((place) => place.lock === lock)
    const owns = (name: string) =>
      existsSync(join(folder, name)) ||
      (others[0] === places[index] && !others.some((place) => existsSync(join(place.folder, name))))
    return Object.entries(entries).flatMap(([name, { guards }]) =>
      guards && owns(name) ? [{ name, root: join(folder, name) }] : [],
    )
  })
}

/** The installed plugins of a lock whose folders are gone. */
function goneFrom(places: readonly Place[], home: string, lock: ReturnType<LockAt>): ReturnType<LockVerifier['gone']> {
  if (lock instanceof VtError) return []
  const folders = places.filter((place) => place.lock === home).map(({ folder }) => folder)
  const missing = Object.entries(lock).filter(([name]) => !folders.some((folder) => existsSync(join(folder, name))))
  return missing.map(([name, { judges = false }]) => ({ name, judges, error: lost(name, join(folders[0]!, name)) }))
}

/** The lock of a folder, read once, or the error that it has. */
function locksOnce(): (folder: string) => Record<string, Installed> | VtError {
  const locks = new Map<string, Record<string, Installed> | VtError>()
  return (folder) => {
    let lock = locks.get(folder)
    if (!lock) {
      try {
        lock = readInstalled(folder)
      } catch (error) {
        lock = error as VtError
      }
      locks.set(folder, lock)
    }
    return lock
  }
}

/** `whole` hashes listed plugins completely too, for a surface that reports faults. */
export function openLockVerifier({
  home,
  user,
  workspace,
  whole = false,
}: {
  home: string
  user: string
  workspace: string
  whole?: boolean
}): LockVerifier {
  const places = pluginFolders({ home, user, workspace })
  const lockAt = locksOnce()
  const checked = new Map<string, VtError | Tree>()

  /** The entry of a plugin in its folder; an error where the entry is required and missing. */
  function sealOf(id: string, root: string): Installed | VtError | undefined {
    const place = places.find(({ folder }) => folder === dirname(root))
    if (!place) return undefined
    const lock = lockAt(place.lock)
    if (lock instanceof VtError) return lock
    return (
      lock[basename(root)] ??
      (place.sealed ? broken(id, root, 'was not installed: its permissions were not accepted') : undefined)
    )
  }
  /** All files, compared once a generation; nothing for a linked plugin. */
  function treeOf(root: string, seal: Installed): VtError | Tree | undefined {
    if (seal.source.type === 'link') return undefined
    if (!checked.has(root)) {
      const now = changesOf(root, seal)
      checked.set(
        root,
        typeof now === 'string' ? broken(basename(root), root, `is not what was installed: ${now}`) : now,
      )
    }
    return checked.get(root)
  }
  function tampering(root: string, seal: Installed): VtError | undefined {
    const tree = treeOf(root, seal)
    return tree instanceof VtError ? tree : undefined
  }
  return {
    objection(contribution) {
      const { id, root, file } = contribution
      const seal = sealOf(id, root)
      // A plugin that runs nothing needs no consent.
      if (seal === undefined || seal instanceof VtError)
        return runsCode(contribution) ? (seal as VtError | undefined) : undefined
      if (whole) return tampering(root, seal)
      if (seal.source.type === 'link' || seal.files[relative(root, file)] === (contribution.read ?? hashOf(file)))
        return undefined
      return tampering(root, seal)
    },
    verify(contribution) {
      const { id, root } = contribution
      if (!runsCode(contribution)) return undefined
      const seal = sealOf(id, root)
      const tree = seal === undefined || seal instanceof VtError ? seal : treeOf(root, seal)
      if (tree instanceof VtError) throw tree
      if (tree === undefined) return undefined
      requireCovered(contribution, { root, tree })
      return { root, tree }
    },
    fault(root) {
      const seal = sealOf(basename(root), root)
      return seal === undefined || seal instanceof VtError ? undefined : tampering(root, seal)
    },
    gone: () => goneFrom(places, home, lockAt(home)),
    guards: () => guardsIn(places, lockAt),
    holds: (root) => places.some(({ folder }) => folder === dirname(root)),
    entryOf(root) {
      const seal = sealOf('', root)
      return seal instanceof VtError ? undefined : seal
    },
  }
}

const NAMED = 5

/** The difference from the installed files, or the files where there is none. A folder that cannot be hashed counts as changed. */
function changesOf(root: string, { tree, files }: Installed): string | Tree {
  let now: Tree
  try {
    now = readTree(root, { outward: true })
  } catch (error) {
    return (error as Error).message.replace(/\.$/, '')
  }
  if (now.digest === tree) return now
  const were = Object.keys(files).filter((path) => !isCompiled(path))
  const changes = [
    ...were.filter((path) => path in now.files && now.files[path] !== files[path]).map((path) => `${path} was changed`),
    ...were.filter((path) => !(path in now.files)).map((path) => `${path} is gone`),
    ...Object.keys(now.files)
      .filter((path) => !Object.hasOwn(files, path))
      .map((path) => `${path} is new`),
  ]
  // An entry of before that names compiled modules too, which count no longer.
  if (changes.length === 0 && were.length < Object.keys(files).length) return now
  const more = changes.length > NAMED ? [`and ${changes.length - NAMED} more`] : []
  return [...changes.slice(0, NAMED), ...more].join(', ') || 'its lock does not fit itself'
}

const broken = (id: string, root: string, text: string): VtError =>
  problem(
    'VT_PLUGIN_LOCK',
    {
      id,
      problem: text,
      way: `Look at it and agree: \`vtcode plugins add --in-place ${root}\`; \`vtcode plugins update\` restores what was installed.`,
    },
    { details: { files: [root] } },
  )

function lost(name: string, root: string): VtError {
  const way = `\`vtcode plugins update ${name}\` restores it, \`vtcode plugins remove ${name}\` removes it.`
  return problem(
    'VT_PLUGIN_LOCK',
    { id: name, problem: 'is installed and its folder is gone', way },
    { details: { files: [root] } },
  )
}
