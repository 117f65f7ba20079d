import { existsSync, realpathSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { problem, sha256, VtError, writeStateSync, type Contribution } from '../base/index.js'
import { readBytes } from '../documents/index.js'
import { readTree, runsCode, type Tree } from './digest.js'

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
}

const MAX_BYTES = 16 * 1_048_576

/** The plugins that a lock in this `.vtcode` folder records. Throws VT_PLUGIN_LOCK when it cannot be used. */
export function readInstalled(folder: string): Record<string, Installed> {
  const file = lockOf(folder)
  if (!existsSync(file)) return {}
  const unusable = (problem_: string) => problem('VT_PLUGIN_LOCK', { id: file, problem: problem_, way: 'Fix it, or delete it and add the plugins again.' }, { details: { files: [file] } })
  try {
    const { version, plugins } = JSON.parse(readBytes(file, { limit: MAX_BYTES }).toString('utf8')) as { version?: unknown; plugins?: unknown }
    if (version !== 1 || typeof plugins !== 'object' || plugins === null) throw new Error('it is no lock of version 1')
    const entries = Object.entries(plugins as Record<string, Installed>)
    const broken = entries.find(([, entry]) => typeof entry?.source?.type !== 'string' || typeof entry.files !== 'object' || (entry.source.type !== 'link' && typeof entry.tree !== 'string'))
    if (broken) throw new Error(`its entry '${broken[0]}' has no source, files or tree`)
    return Object.assign(Object.create(null) as object, Object.fromEntries(entries))
  } catch (error) {
    throw unusable(`cannot be used: ${(error as Error).message}`)
  }
}

/** Replaces the lock in one step. */
export function writeInstalled(folder: string, plugins: Readonly<Record<string, Installed>>): void {
  const sorted = Object.fromEntries(Object.entries(plugins).sort(([a], [b]) => (a < b ? -1 : 1)))
  writeStateSync(lockOf(folder), `${JSON.stringify({ version: 1, plugins: sorted }, null, 2)}\n`)
}

const lockOf = (folder: string): string => join(folder, 'plugins.lock.json')

const hashOf = (file: string): string => `sha256-${sha256(readBytes(file, { limit: MAX_BYTES }), 'base64')}`

/** The locks of one generation, for plugins in the user's and the workspace's plugin folders. */
export interface LockVerifier {
  /** The reason why a contribution is disabled, as far as its manifest shows one. */
  objection(contribution: Contribution): VtError | undefined
  /** Hashes the whole plugin, once. Throws VT_PLUGIN_LOCK where its files differ from those that the user agreed to. */
  verify(contribution: Contribution): void
  /** The reason why a plugin folder is disabled; a folder that was never installed may be present and be read. */
  fault(root: string): VtError | undefined
  /** The plugins that the user installed and that are missing. */
  gone(): { name: string; error: VtError; judges: boolean }[]
  /** The entry of a plugin. */
  entryOf(root: string): Installed | undefined
  /** Whether a plugin lies in one of the plugin folders. */
  holds(root: string): boolean
}

/** The plugin folders, each with its lock; a `sealed` folder contains only installed plugins. */
function pluginFolders({ home, user, workspace }: { home: string; user: string; workspace: string }): { folder: string; lock: string; sealed: boolean }[] {
  // A link in the place of one of these folders is the user's own choice, here as in the search for plugins.
  const real = (folder: string) => (existsSync(folder) ? realpathSync(folder) : folder)
  return [
    { folder: real(join(home, 'plugins')), lock: home, sealed: true },
    { folder: real(join(user, '.agents', 'plugins')), lock: home, sealed: true },
    { folder: real(join(workspace, '.vtcode', 'plugins')), lock: join(workspace, '.vtcode'), sealed: false },
    { folder: real(join(workspace, '.agents', 'plugins')), lock: join(workspace, '.vtcode'), sealed: false },
  ]
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
export function openLockVerifier({ home, user, workspace, whole = false }: { home: string; user: string; workspace: string; whole?: boolean }): LockVerifier {
  const places = pluginFolders({ home, user, workspace })
  const lockAt = locksOnce()
  const checked = new Map<string, VtError | undefined>()

  /** The entry of a plugin in its folder; an error where the entry is required and missing. */
  function sealOf(id: string, root: string): Installed | VtError | undefined {
    const place = places.find(({ folder }) => folder === dirname(root))
    if (!place) return undefined
    const lock = lockAt(place.lock)
    if (lock instanceof VtError) return lock
    return lock[basename(root)] ?? (place.sealed ? broken(id, root, 'was not installed: nobody has agreed to what it may do') : undefined)
  }
  /** Compares all files, once a generation. */
  function tampering(root: string, seal: Installed): VtError | undefined {
    if (!checked.has(root)) {
      const changes = seal.source.type === 'link' ? undefined : changesOf(root, seal)
      checked.set(root, changes === undefined ? undefined : broken(basename(root), root, `is not what was installed: ${changes}`))
    }
    return checked.get(root)
  }
  return {
    objection(contribution) {
      const { id, root, file } = contribution
      const seal = sealOf(id, root)
      // A plugin that runs nothing needs no consent.
      if (seal === undefined || seal instanceof VtError) return runsCode(contribution) ? (seal as VtError | undefined) : undefined
      if (whole) return tampering(root, seal)
      if (seal.source.type === 'link' || seal.files[relative(root, file)] === hashOf(file)) return undefined
      return tampering(root, seal)
    },
    verify(contribution) {
      const { id, root } = contribution
      if (!runsCode(contribution)) return
      const seal = sealOf(id, root)
      const error = seal === undefined || seal instanceof VtError ? seal : tampering(root, seal)
      if (error) throw error
    },
    fault(root) {
      const seal = sealOf(basename(root), root)
      return seal === undefined || seal instanceof VtError ? undefined : tampering(root, seal)
    },
    gone() {
      const lock = lockAt(home)
      if (lock instanceof VtError) return []
      const folders = places.filter((place) => place.lock === home).map(({ folder }) => folder)
      const missing = Object.entries(lock).filter(([name]) => !folders.some((folder) => existsSync(join(folder, name))))
      return missing.map(([name, { judges = false }]) => ({ name, judges, error: lost(name, join(folders[0]!, name)) }))
    },
    holds: (root) => places.some(({ folder }) => folder === dirname(root)),
    entryOf(root) {
      const seal = sealOf('', root)
      return seal instanceof VtError ? undefined : seal
    },
  }
}

const NAMED = 5

/** The difference from the installed files; nothing where there is none. A folder that cannot be hashed counts as changed. */
function changesOf(root: string, { tree, files }: Installed): string | undefined {
  let now: Tree
  try {
    now = readTree(root)
  } catch (error) {
    return (error as Error).message.replace(/\.$/, '')
  }
  if (now.digest === tree) return undefined
  const were = Object.keys(files)
  const changes = [
    ...were.filter((path) => path in now.files && now.files[path] !== files[path]).map((path) => `${path} was changed`),
    ...were.filter((path) => !(path in now.files)).map((path) => `${path} is gone`),
    ...Object.keys(now.files).filter((path) => !Object.hasOwn(files, path)).map((path) => `${path} is new`),
  ]
  const more = changes.length > NAMED ? [`and ${changes.length - NAMED} more`] : []
  return [...changes.slice(0, NAMED), ...more].join(', ') || 'its lock does not fit itself'
}

const broken = (id: string, root: string, text: string): VtError =>
  problem('VT_PLUGIN_LOCK', { id, problem: text, way: `Look at it and agree: \`vtcode plugins add --in-place ${root}\`; \`vtcode plugins update\` brings back what was installed.` }, { details: { files: [root] } })

function lost(name: string, root: string): VtError {
  const way = `\`vtcode plugins update ${name}\` brings it back, \`vtcode plugins remove ${name}\` gives it up.`
  return problem('VT_PLUGIN_LOCK', { id: name, problem: 'is installed and its folder is gone', way }, { details: { files: [root] } })
}
