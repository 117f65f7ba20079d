import { existsSync, lstatSync, statSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { isInside, makeFolder } from '../../../core/system/index.js'
import { OWN_FOLDERS } from '../../../core/workspace/index.js'
import { createTempFolder } from '../base/index.js'
import type { SandboxSettings } from '../process/index.js'
import { findInnerHome, isInsideAny, findSteeringPaths, type SteeringPaths } from '../steering/index.js'
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
  createBindMount,
  listSockets,
  listStartupFiles,
  createSystemMounts,
  createToolMounts,
  type Mount,
} from './mounts.js'

/** Working folder of a command, and the parts of the machine that it may use. */
export interface Confinement {
  /** Real path of the workspace. */
  workspace: string
  /** `.vtcode` folder of the user. */
  own: string
  writable: boolean
  /** Absolute path to start in. */
  cwd: string
  /** Absolute paths to show although the profile would hide them. */
  shown: string[]
  /** False: only the files that Node needs are visible, and no program can run. */
  programs?: boolean
  settings: Omit<SandboxSettings, 'mode'>
  /** Hides sockets that the settings allow, because no person approved this run. */
  strict?: boolean
  /** Paths of a writable workspace that stay read-only. */
  steering?: SteeringPaths
  /** Repositories outside the workspace with a working tree in it; commands use them too. */
  repositories?: string[]
  /** The home folder of the user. */
  home?: string
  /** Git configuration of the user for commands, as `.gitconfig` of their home. */
  gitConfig?: string
}

/** Descriptor from which bubblewrap reads the git configuration. */
export const GIT_CONFIG_DESCRIPTOR = 6

/** Limits in bytes for folders in memory. */
const MAX_BYTES = { temp: 268_435_456, memory: 67_108_864, home: 67_108_864, hidden: 65_536 }

/**
 * Adds the steering files of the workspace. Creates our own folders first, through no link: a command could create
 * one, or see it later.
 */
export async function prepareConfinement(where: Confinement): Promise<Confinement> {
  if (!where.writable) return where
  const folder = join(where.workspace, '.vtcode')
  for (const own of isLink(folder) ? [] : ['', 'sessions', 'spool'].map((name) => join(folder, name)))
    if (!lstatSync(own, { throwIfNoEntry: false })) makeFolder(own, 0o700)
  const place = { root: where.workspace, home: where.own }
  for (const home of findInnerHome(place)) makeFolder(home, 0o700)
  const [steering, gitConfig] = await Promise.all([
    findSteeringPaths(place, where.cwd),
    readUserGitConfig(where.cwd, where.workspace),
  ])
  return {
    ...where,
    steering,
    repositories: await findLinkedRepositories(steering.gitFolders, where.workspace),
    gitConfig,
  }
}

/** Returns the arguments of bubblewrap. Only listed paths are visible, and only the workspace is writable. */
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
    // Folders that bubblewrap created in memory have no size limit.
    ...['--remount-ro', '/dev', '--remount-ro', '/', '--setenv', 'HOME', resolveInnerHome(where)],
  ]
}

/** Returns the mounts in order: outer ones before inner ones, denied paths last. */
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
    : [...NODE_PATHS, ...files].map((path) => createBindMount(path))
  const open = [
    ...system,
    ...createKernelMounts(),
    ...readable.map((path) => createBindMount(path)),
    createBindMount(workspace, writable ? 'bind' : 'ro-bind'),
    ...opened.map((path) => createBindMount(path, 'bind')),
  ]
  const among = (roots: string[]) => (path: string) => roots.some((root) => isInside(root, path))
  const inSight = among(open.filter(({ outside }) => outside).map(({ path }) => path))
  const secret = [
    ...listSecrets(home, own).filter(among([workspace, ...readable, ...opened])),
    ...listSystemSecrets().filter(inSight),
  ]
  const sockets = listSockets().filter(
    (path) => inSight(path) && (where.strict || !among(readable)(path)) && isReachable(path),
  )
  const states = listStateFolders(workspace).filter(isFolder)
  const hidden = [...listDeniedPaths(where, home).filter(inSight), ...states, ...sockets]
  const all = [
    ...open,
    ...(writable ? createGuardMounts(where, home, hidden) : []),
    ...secret.filter((path) => ![...readable, ...opened].includes(path)).map(createHidingMount),
  ]
  return [
    ...all.sort((a, b) => depth(a) - depth(b)),
    ...hidden.map(createHidingMount),
    ...states.map((path) => createIgnoringMount(path)),
  ]
}

let ignoreFile: string | undefined
/** Hides a folder of records from git: the empty folder in its place has no `.gitignore`, but may show a record. */
function createIgnoringMount(folder: string): Mount {
  if (ignoreFile === undefined || !existsSync(ignoreFile)) {
    ignoreFile = join(createTempFolder('ignored'), 'gitignore')
    writeFileSync(ignoreFile, '*\n', { mode: 0o400 })
  }
  const path = join(folder, '.gitignore')
  return { path, args: ['--ro-bind', ignoreFile, path] }
}

const depth = ({ path }: Mount): number => (path === '/' ? 1 : path.split('/').length)

/**
 * Creates the folders of the kernel and of the system. Kernel settings are read-only, because root may write them in
 * a usual container.
 */
function createKernelMounts(): Mount[] {
  const knobs = process.getuid?.() === 0 ? ['sys', 'fs', 'acpi', 'scsi', 'driver', 'dynamic_debug', 'mtrr'] : ['sys']
  return [
    { path: '/dev', args: ['--dev', '/dev'] },
    { path: '/proc', args: ['--proc', '/proc'] },
    ...knobs.map((name) => createBindMount(`/proc/${name}`)),
    ...['/run', '/var'].map((path) => ({ path, args: ['--dir', path] })),
    createEmptyMount('/tmp', MAX_BYTES.temp),
    createEmptyMount('/dev/shm', MAX_BYTES.memory),
  ]
}

/** Checks whether commands get an empty home in place of the user's; otherwise their home is `/tmp`. */
function hasEmptyHome({ workspace, settings, programs = true, home = homedir() }: Confinement): boolean {
  const taken = [workspace, ...settings.readable.map((path) => resolveHomePath(path, home))].some((root) =>
    isInside(root, home),
  )
  return programs && home !== '/' && isAbsolute(home) && !isSystemPath(home) && !taken
}
export const resolveInnerHome = (where: Confinement): string =>
  hasEmptyHome(where) ? (where.home ?? homedir()) : '/tmp'

/**
 * Creates mounts for paths that commands may not change in a writable workspace. Their parent folders are mounts too,
 * so that commands cannot move them away and replace them without the guard.
 */
function createGuardMounts(
  { workspace, settings, steering, repositories = [] }: Confinement,
  home: string,
  hidden: string[],
): Mount[] {
  const kept = (steering?.readOnly ?? []).filter((path) =>
    [workspace, ...repositories].some((root) => isInside(root, path)),
  )
  const own = isInside(workspace, home) ? listStartupFiles(home) : []
  const guarded = [
    ...kept,
    ...own,
    ...settings.deny_write.map((path) => resolveWorkspacePath(path, workspace)).filter((path) => existsSync(path)),
  ]
  const folders = [workspace, ...repositories].flatMap((root) => listParentFolders([...guarded, ...hidden], root))
  const outer = new Set([...guarded, ...hidden])
  const free = folders.filter((folder) => !isInsideAny(folder, outer))
  return [
    ...[...repositories, ...free].map((path) => createBindMount(path, 'bind')),
    ...guarded.map((path) => createBindMount(path)),
    ...(steering?.writable ?? []).map((path) => createBindMount(path, 'bind')),
  ]
}

/** Returns the folders below `root` that contain these paths, outer ones first. */
export function listParentFolders(paths: string[], root: string): string[] {
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

/** Returns the folders with records of all sessions; a command sees only the paths in `shown`. */
const listStateFolders = (workspace: string): string[] => OWN_FOLDERS.map((name) => join(workspace, '.vtcode', name))
export const isFolder = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false

/** Returns the real paths of `sandbox.deny_read`. A relative path counts in the workspace and in the home. */
function listDeniedPaths({ workspace, settings }: Confinement, home: string): string[] {
  return filterReachable(
    settings.deny_read.flatMap((path) =>
      isAbsolute(path) || path.startsWith('~/')
        ? [resolveHomePath(path, home)]
        : [join(workspace, path), join(home, path)],
    ),
  )
}

export function isLink(path: string): boolean {
  try {
    return lstatSync(path).isSymbolicLink()
  } catch {
    return false
  }
}

/** Paths that Node needs: libraries, name resolution, certificates, time. */
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
export const resolveWorkspacePath = (path: string, workspace: string): string =>
  isAbsolute(path) ? path : join(workspace, path)

function createHidingMount(path: string): Mount {
  const folder = statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
  return folder ? createEmptyMount(path, MAX_BYTES.hidden) : { path, args: ['--ro-bind', '/dev/null', path] }
}
