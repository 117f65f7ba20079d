import { existsSync, realpathSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { problem, VtError, type Contribution, type JsonObject } from '../shapes/index.js'
import { writeStateSync } from '../system/index.js'
import { readBytes } from '../documents/index.js'
import { requireCovered, runsCode, type ConsentedFiles } from './digest.js'
import { hashContent, isCompiled, readTree, type Tree } from './tree.js'

/** The source of an installed plugin, for updates. */
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
  /** The parts that an entry of a marketplace lists. */
  listed?: JsonObject
  /** `tree1` of all files that the user agreed to; a linked plugin is not hashed. */
  tree?: string
  /** Every file with its hash. */
  files: Record<string, string>
  /** Hash of the text of the consent. */
  executes: string
  /** Every update installs its dependencies too. */
  deps?: boolean
  /** The plugin has a policy: no call is made while it is missing. */
  judges?: boolean
  /** Lifecycle hooks of the plugin may stop a call; then every call is asked about while they are missing. */
  guards?: boolean
}

const MAX_BYTES = 16 * 1_048_576

/** Reads the plugins in the lock file of this `.vtcode` folder. Throws VT_PLUGIN_LOCK for an unusable file. */
export function readInstalled(folder: string): Record<string, Installed> {
  const file = lockPath(folder)
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
    if (version !== 1 || typeof plugins !== 'object' || plugins === null)
      throw new Error('it is not a lock file of version 1')
    const entries = Object.entries(plugins as Record<string, Installed>)
    // A lock file of a repository could name a folder elsewhere.
    const strange = entries.find(([name]) => !isFolderName(name))
    if (strange) throw new Error(`its entry '${strange[0]}' is not the name of a folder`)
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

export function writeInstalled(folder: string, plugins: Readonly<Record<string, Installed>>): void {
  const sorted = Object.fromEntries(Object.entries(plugins).sort(([a], [b]) => (a < b ? -1 : 1)))
  writeStateSync(lockPath(folder), `${JSON.stringify({ version: 1, plugins: sorted }, null, 2)}\n`)
}

const lockPath = (folder: string): string => join(folder, 'plugins.lock.json')

const hashFile = (file: string): string => hashContent(readBytes(file, { limit: MAX_BYTES }))

/** The lock files of one generation, for plugins in the user's and the workspace's plugin folders. */
export interface LockVerifier {
  /** Returns the reason why a contribution is disabled, as far as its manifest shows one. */
  findObjection(contribution: Contribution): VtError | undefined
  /**
   * Hashes the whole plugin, once, and returns the consented files; nothing without a lock. Throws VT_PLUGIN_LOCK if
   * files differ.
   */
  verify(contribution: Contribution): ConsentedFiles | undefined
  /** Returns the reason why a plugin folder is disabled; a folder that was never installed may be read. */
  findFault(root: string): VtError | undefined
  /** Lists the installed plugins that are missing. */
  missing(): { name: string; error: VtError; judges: boolean }[]
  /** Lists the plugins whose lifecycle hooks may stop a call. */
  guards(): { name: string; root: string }[]
  findEntry(root: string): Installed | undefined
  /** Returns whether a plugin is in a plugin folder. */
  contains(root: string): boolean
}

/** Lists the plugin folders with their lock files; a `sealed` folder contains only installed plugins. */
function listPluginFolders({
  home,
  user,
  workspace,
}: {
  home: string
  user: string
  workspace: string
}): { folder: string; lock: string; sealed: boolean }[] {
  // A link at the path of such a folder is the user's choice, as in the search for plugins.
  const real = (folder: string) => (existsSync(folder) ? realpathSync(folder) : folder)
  return [
    { folder: real(join(home, 'plugins')), lock: home, sealed: true },
    { folder: real(join(user, '.agents', 'plugins')), lock: home, sealed: true },
    { folder: real(join(workspace, '.vtcode', 'plugins')), lock: join(workspace, '.vtcode'), sealed: false },
    { folder: real(join(workspace, '.agents', 'plugins')), lock: join(workspace, '.vtcode'), sealed: false },
  ]
}

type LockAt = ReturnType<typeof createLockReader>
type Place = ReturnType<typeof listPluginFolders>[number]

/** Lists the plugins with guards. A missing plugin belongs to the first folder of its lock file. */
function listGuards(places: readonly Place[], lockAt: LockAt): { name: string; root: string }[] {
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

/** Lists the installed plugins of a lock file whose folders are missing. */
function listMissing(
  places: readonly Place[],
  home: string,
  lock: ReturnType<LockAt>,
): ReturnType<LockVerifier['missing']> {
  if (lock instanceof VtError) return []
  const folders = places.filter((place) => place.lock === home).map(({ folder }) => folder)
  const missing = Object.entries(lock).filter(([name]) => !folders.some((folder) => existsSync(join(folder, name))))
  return missing.map(([name, { judges = false }]) => ({
    name,
    judges,
    error: createMissingError(name, join(folders[0]!, name)),
  }))
}

/** Creates a reader that reads the lock file of a folder once, and returns its content or error. */
function createLockReader(): (folder: string) => Record<string, Installed> | VtError {
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

/** Opens the lock files. `whole` also hashes every listed plugin completely. */
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
  const places = listPluginFolders({ home, user, workspace })
  const lockAt = createLockReader()
  const checked = new Map<string, VtError | Tree>()

  /** Returns the entry of a plugin in its folder; an error if a required entry is missing. */
  function findLockEntry(id: string, root: string): Installed | VtError | undefined {
    const place = places.find(({ folder }) => folder === dirname(root))
    if (!place) return undefined
    const lock = lockAt(place.lock)
    if (lock instanceof VtError) return lock
    return (
      lock[basename(root)] ??
      (place.sealed
        ? createChangedError(id, root, 'was not installed, so its permissions were not accepted')
        : undefined)
    )
  }
  /** Compares all files, once a generation; returns nothing for a linked plugin. */
  function readInstalledTree(root: string, seal: Installed): VtError | Tree | undefined {
    if (seal.source.type === 'link') return undefined
    if (!checked.has(root)) {
      const now = compareWithLock(root, seal)
      checked.set(
        root,
        typeof now === 'string'
          ? createChangedError(basename(root), root, `differs from the installed version: ${now}`)
          : now,
      )
    }
    return checked.get(root)
  }
  function findTampering(root: string, seal: Installed): VtError | undefined {
    const tree = readInstalledTree(root, seal)
    return tree instanceof VtError ? tree : undefined
  }
  return {
    findObjection(contribution) {
      const { id, root, file } = contribution
      const seal = findLockEntry(id, root)
      // A plugin that runs nothing needs no consent.
      if (seal === undefined || seal instanceof VtError)
        return runsCode(contribution) ? (seal as VtError | undefined) : undefined
      if (whole) return findTampering(root, seal)
      if (
        seal.source.type === 'link' ||
        seal.files[relative(root, file)] === (contribution.manifestHash ?? hashFile(file))
      )
        return undefined
      return findTampering(root, seal)
    },
    verify(contribution) {
      const { id, root } = contribution
      if (!runsCode(contribution)) return undefined
      const seal = findLockEntry(id, root)
      const tree = seal === undefined || seal instanceof VtError ? seal : readInstalledTree(root, seal)
      if (tree instanceof VtError) throw tree
      if (tree === undefined) return undefined
      requireCovered(contribution, { root, tree })
      return { root, tree }
    },
    findFault(root) {
      const seal = findLockEntry(basename(root), root)
      return seal === undefined || seal instanceof VtError ? undefined : findTampering(root, seal)
    },
    missing: () => listMissing(places, home, lockAt(home)),
    guards: () => listGuards(places, lockAt),
    contains: (root) => places.some(({ folder }) => folder === dirname(root)),
    findEntry(root) {
      const seal = findLockEntry('', root)
      return seal instanceof VtError ? undefined : seal
    },
  }
}

const MAX_NAMED = 5

/** Returns the difference from the installed files, or the files if there is none. */
function compareWithLock(root: string, { tree, files }: Installed): string | Tree {
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
    ...were.filter((path) => !(path in now.files)).map((path) => `${path} is missing`),
    ...Object.keys(now.files)
      .filter((path) => !Object.hasOwn(files, path))
      .map((path) => `${path} is new`),
  ]
  // An older entry lists compiled modules too, which no longer count.
  if (changes.length === 0 && were.length < Object.keys(files).length) return now
  const more = changes.length > MAX_NAMED ? [`and ${changes.length - MAX_NAMED} more`] : []
  return [...changes.slice(0, MAX_NAMED), ...more].join(', ') || 'its entry in the lock file is inconsistent'
}

const createChangedError = (id: string, root: string, text: string): VtError =>
  problem(
    'VT_PLUGIN_LOCK',
    {
      id,
      problem: text,
      way:
        `Check it and agree: \`vtcode plugins add --in-place ${root}\`. ` +
        '`vtcode plugins update` restores the installed version.',
    },
    { details: { files: [root] } },
  )

function createMissingError(name: string, root: string): VtError {
  const way = `\`vtcode plugins update ${name}\` restores it, \`vtcode plugins remove ${name}\` removes it.`
  return problem(
    'VT_PLUGIN_LOCK',
    { id: name, problem: 'is installed, but its folder is missing', way },
    { details: { files: [root] } },
  )
}
