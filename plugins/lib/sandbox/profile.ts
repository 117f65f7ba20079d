import { existsSync, lstatSync, readdirSync, readlinkSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { isAbsolute, join, resolve } from 'node:path'
import { inside, makeFolder } from '../../../core/system/index.js'
import { OWN_FOLDERS } from '../../../core/workspace/index.js'
import type { SandboxSettings } from '../process/index.js'
import { homeWithin, liesIn, steeringPaths, type SteeringPaths } from '../steering/index.js'
import { readUserGitConfig } from './git_config.js'
import { findLinkedRepositories } from './repositories.js'
import {
  createEmptyMount,
  isSystemPath,
  isReachable,
  createNodeMounts,
  filterReachable,
  listSecrets,
  listSystemSecrets,
  createBindMount as visible,
  listSockets,
  listStartupFiles,
  createSystemMounts,
  createToolMounts,
  type Mount,
} from './sight.js'

/** Where a command runs and what of the machine it may touch there. */
export interface Confinement {
  /** Real path of the workspace. */
  workspace: string
  /** The `.vtcode` folder of the user, where the kernel has it. */
  own: string
  writable: boolean
  /** Absolute path to start in. */
  cwd: string
  /** Absolute places to show where the profile would hide them. */
  shown: string[]
  /** False: of the machine only what Node itself needs is there to be seen, and no program to be run. */
  programs?: boolean
  settings: Omit<SandboxSettings, 'mode'>
  /** Sockets that the settings leave in sight are hidden too: nobody was asked. */
  strict?: boolean
  /** What stays as it is in a workspace that is written. */
  steering?: SteeringPaths
  /** Repositories outside of the workspace whose working tree it is, or lies in it: commands work with them too. */
  repositories?: string[]
  /** The home folder of the user. */
  home?: string
  /** What of the user's git configuration commands get: it stands in `.gitconfig` of the home that they see. */
  gitConfig?: string
}

/** Where bubblewrap reads the git configuration. */
export const GIT_CONFIG_DESCRIPTOR = 6

/** Bytes that a command may put where no file of the machine is. */
const MAX_BYTES = { temp: 268_435_456, memory: 67_108_864, home: 67_108_864, hidden: 65_536 }

/** With what steers programs in the workspace. Our own folders are there from now on: what is not, a command could make, or see later. */
export async function prepareConfinement(where: Confinement): Promise<Confinement> {
  if (!where.writable) return where
  for (const name of ['', 'sessions', 'spool']) {
    const own = join(where.workspace, '.vtcode', name)
    if (!lstatSync(own, { throwIfNoEntry: false })) makeFolder(own, 0o700)
  }
  const place = { root: where.workspace, home: where.own }
  for (const home of homeWithin(place)) makeFolder(home, 0o700)
  const [steering, gitConfig] = await Promise.all([
    steeringPaths(place, where.cwd),
    readUserGitConfig(where.cwd, where.workspace),
  ])
  return {
    ...where,
    steering,
    repositories: await findLinkedRepositories(steering.gitFolders, where.workspace),
    gitConfig,
  }
}

/** Arguments of bubblewrap: nothing of the machine is in sight but what is named here, and nothing of it is written but the workspace. */
export function createProfile(where: Confinement, files: readonly string[]): string[] {
  const { settings, shown } = where
  return [
    ...['user', 'pid', 'ipc', 'uts', 'cgroup-try', ...(settings.network ? [] : ['net'])].map(
      (name) => `--unshare-${name}`,
    ),
    ...['--disable-userns', '--cap-drop', 'ALL', '--die-with-parent'],
    ...listMounts(where, files).flatMap(({ args }) => args),
    ...shown.flatMap((path) => ['--ro-bind', path, path]),
    ...(where.gitConfig ? ['--file', String(GIT_CONFIG_DESCRIPTOR), join(resolveInnerHome(where), '.gitconfig')] : []),
    // What bubblewrap itself made in memory has no limit of size.
    ...['--remount-ro', '/dev', '--remount-ro', '/', '--setenv', 'HOME', resolveInnerHome(where)],
  ]
}

/** Every place in the order in which it is put up: outer ones before inner ones, and what is denied last of all. */
function listMounts(where: Confinement, files: readonly string[]): Mount[] {
  const { workspace, own, writable, settings, programs = true, home = homedir() } = where
  const readable = programs ? settings.readable.map((path) => resolveHomePath(path, home)) : []
  const opened = settings.writable.map((path) => resolveHomePath(path, home))
  const system = programs
    ? [
        ...createSystemMounts(),
        ...(hasEmptyHome(where) ? [createEmptyMount(home, MAX_BYTES.home)] : []),
        ...createToolMounts(home, workspace),
        ...createNodeMounts(home),
      ]
    : [...NODE_PATHS, ...files].map((path) => visible(path))
  const open = [
    ...system,
    ...createKernelMounts(),
    ...readable.map((path) => visible(path)),
    visible(workspace, writable ? 'bind' : 'ro-bind'),
    ...opened.map((path) => visible(path, 'bind')),
  ]
  const among = (roots: string[]) => (path: string) => roots.some((root) => inside(root, path))
  const inSight = among(open.filter(({ outside }) => outside).map(({ path }) => path))
  const secret = [
    ...listSecrets(home, own).filter(among([workspace, ...readable, ...opened])),
    ...listSystemSecrets().filter(inSight),
  ]
  const sockets = listSockets().filter(
    (path) => inSight(path) && (where.strict || !among(readable)(path)) && isReachable(path),
  )
  const hidden = [
    ...listDeniedPaths(where, home).filter(inSight),
    ...listStateFolders(workspace).filter(isFolder),
    ...sockets,
  ]
  const all = [
    ...open,
    ...(writable ? createGuardMounts(where, home, hidden) : []),
    ...secret.filter((path) => ![...readable, ...opened].includes(path)).map(createHidingMount),
  ]
  return [...all.sort((a, b) => depth(a) - depth(b)), ...hidden.map(createHidingMount)]
}

const depth = ({ path }: Mount): number => (path === '/' ? 1 : path.split('/').length)

/** The system's own places, made anew. What steers the kernel is read-only: in the usual container root may write it. */
function createKernelMounts(): Mount[] {
  const knobs = process.getuid?.() === 0 ? ['sys', 'fs', 'acpi', 'scsi', 'driver', 'dynamic_debug', 'mtrr'] : ['sys']
  return [
    { path: '/dev', args: ['--dev', '/dev'] },
    { path: '/proc', args: ['--proc', '/proc'] },
    ...knobs.map((name) => visible(`/proc/${name}`)),
    ...['/run', '/var'].map((path) => ({ path, args: ['--dir', path] })),
    createEmptyMount('/tmp', MAX_BYTES.temp),
    createEmptyMount('/dev/shm', MAX_BYTES.memory),
  ]
}

/** Whether commands get an empty home where the user's is; elsewhere theirs is `/tmp`. */
function hasEmptyHome({ workspace, settings, programs = true, home = homedir() }: Confinement): boolean {
  const taken = [workspace, ...settings.readable.map((path) => resolveHomePath(path, home))].some((root) =>
    inside(root, home),
  )
  return programs && home !== '/' && isAbsolute(home) && !isSystemPath(home) && !taken
}
export const resolveInnerHome = (where: Confinement): string =>
  hasEmptyHome(where) ? (where.home ?? homedir()) : '/tmp'

/**
 * What commands may not change in a workspace that they write, in folders that are mounts: as mounts they cannot be moved away and put up
 * anew without the guard, nor can those of what is hidden.
 */
function createGuardMounts(
  { workspace, settings, steering, repositories = [] }: Confinement,
  home: string,
  hidden: string[],
): Mount[] {
  const kept = (steering?.readOnly ?? []).filter((path) =>
    [workspace, ...repositories].some((root) => inside(root, path)),
  )
  const own = inside(workspace, home) ? listStartupFiles(home) : []
  const guarded = [
    ...kept,
    ...own,
    ...settings.deny_write.map((path) => resolveWorkspacePath(path, workspace)).filter((path) => existsSync(path)),
  ]
  const folders = [workspace, ...repositories].flatMap((root) => listParentFolders([...guarded, ...hidden], root))
  const outer = new Set([...guarded, ...hidden])
  const free = folders.filter((folder) => !liesIn(folder, outer))
  return [
    ...[...repositories, ...free].map((path) => visible(path, 'bind')),
    ...guarded.map((path) => visible(path)),
    ...(steering?.writable ?? []).map((path) => visible(path, 'bind')),
  ]
}

/** The folders below `root` that these paths lie in, outer ones first. */
function listParentFolders(paths: string[], root: string): string[] {
  const folders = new Set<string>()
  for (const path of paths) {
    for (
      let at = path.indexOf('/', root.length + 1);
      path.startsWith(`${root}/`) && at !== -1;
      at = path.indexOf('/', at + 1)
    )
      folders.add(path.slice(0, at))
  }
  return [...folders]
}

/** What this program keeps for every session of a workspace: of it a command sees what is `shown` to it. */
const listStateFolders = (workspace: string): string[] => OWN_FOLDERS.map((name) => join(workspace, '.vtcode', name))
const isFolder = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false

/** Real places of `sandbox.deny_read`. What is relative is meant in the workspace and in the home. */
function listDeniedPaths({ workspace, settings }: Confinement, home: string): string[] {
  return filterReachable(
    settings.deny_read.flatMap((path) =>
      isAbsolute(path) || path.startsWith('~/')
        ? [resolveHomePath(path, home)]
        : [join(workspace, path), join(home, path)],
    ),
  )
}

/**
 * Why a sandbox around this workspace would not hold. A name that it has to keep and that is a link: what it leads to is kept, the link
 * itself could be put up anew. A file with a second name could be written by that one. Only git's own, our own and those the user names; of the others, commands may make such as are missing anyhow.
 */
export function findObstacle({
  workspace,
  own: home,
  settings,
  steering,
}: Confinement): { path: string; why: string } | undefined {
  if (['/usr', '/etc', '/proc', '/dev'].some((path) => inside(workspace, path)))
    return { path: workspace, why: 'it holds the system itself' }
  const held = settings.deny_write.map((path) => resolveWorkspacePath(path, workspace))
  const own = ['.git', '.vtcode'].map((name) => join(workspace, name))
  const ofGit = (steering?.links ?? []).filter((path) => /(^|\/)\.git(\/|$)/.test(path.slice(workspace.length)))
  const link =
    [...own, ...ofGit, ...listParentFolders(held, workspace), ...held].find(isLink) ?? findLink(home, workspace)
  if (link !== undefined) return { path: link, why: 'it is a symbolic link, which a command could replace' }
  const kept = (steering?.readOnly ?? []).filter(
    (path) => own[1] === path || steering!.gitFolders.some((folder) => inside(folder, path)),
  )
  const doubled = kept.flatMap((path) => [path, ...listFiles(path)]).find(hasSecondName)
  return doubled === undefined
    ? undefined
    : { path: doubled, why: 'it is a hard link: under its other name a command could write it' }
}

const listFiles = (path: string): string[] => (isFolder(path) ? readdirSync(path).map((name) => join(path, name)) : [])
function hasSecondName(path: string): boolean {
  const stat = lstatSync(path, { throwIfNoEntry: false })
  return stat !== undefined && stat.isFile() && stat.nlink > 1
}

/** The first link of the workspace on the way to a place, wherever that begins and ends. */
function findLink(path: string, workspace: string, hops = 40): string | undefined {
  let at = '/'
  for (const [index, name] of path.split('/').entries()) {
    const next = join(at, name)
    if (isLink(next)) {
      if (inside(workspace, at) || hops === 0) return next
      return findLink(join(resolve(at, readlinkSync(next)), ...path.split('/').slice(index + 1)), workspace, hops - 1)
    }
    at = next
  }
  return undefined
}

function isLink(path: string): boolean {
  try {
    return lstatSync(path).isSymbolicLink()
  } catch {
    return false
  }
}

/** What Node needs: its libraries, how names are resolved, whom to trust, what time it is. */
const NODE_PATHS = [
  ...['/lib', '/lib64', '/usr/lib', '/usr/lib64', '/usr/local/lib', '/usr/share'],
  ...[
    'ld.so.cache',
    'resolv.conf',
    'hosts',
    'nsswitch.conf',
    'ssl',
    'pki',
    'ca-certificates',
    'localtime',
    'passwd',
    'group',
  ].map((name) => `/etc/${name}`),
]
const resolveHomePath = (path: string, home: string): string =>
  isAbsolute(path) ? path : path === '~' ? home : join(home, path.replace(/^~\//, ''))
const resolveWorkspacePath = (path: string, workspace: string): string =>
  isAbsolute(path) ? path : join(workspace, path)

function createHidingMount(path: string): Mount {
  const folder = statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
  return folder ? createEmptyMount(path, MAX_BYTES.hidden) : { path, args: ['--ro-bind', '/dev/null', path] }
}
