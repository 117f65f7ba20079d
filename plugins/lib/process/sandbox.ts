import { existsSync, lstatSync, statSync } from 'node:fs'
import { readdir, rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { findProgram, searchPath, type Launch } from '../../../core/base/index.js'
import { runProgram, tail } from './run.js'
import type { SandboxSettings } from './sandbox_settings.js'
import { tempFolder } from '../base/index.js'

/** Where a command runs and what of the machine it may touch there. */
export interface Confinement {
  /** Real path of the workspace. */
  workspace: string
  writable: boolean
  /** Absolute path to start in. */
  cwd: string
  /** Absolute folders to show where the profile would hide them. */
  shown: string[]
  /** False: of the machine only what Node itself needs is there to be seen, and no program to be run. */
  programs?: boolean
  settings: Omit<SandboxSettings, 'mode'>
}

interface Tools {
  env: string
  bwrap: string
  prlimit: string
}

/** A program as bubblewrap runs it: nothing of the machine is writable but the workspace, and nothing outlives it. */
export function confined(tools: Tools, launch: Launch, where: Confinement): Launch {
  const { TMPDIR: _, ...env } = launch.env
  // The outer process must outlive the signals that are meant for the command; its own end would be a SIGKILL for everything inside.
  const outer = ['--ignore-signal=INT,QUIT,TSTP,TERM,HUP', tools.bwrap, ...profile(where, tools), '--chdir', where.cwd, '--']
  const limits = [tools.prlimit, '--nproc=1024', '--fsize=1073741824', '--nofile=1024', '--core=0']
  const inner = [...limits, tools.env, '--default-signal=INT,QUIT,TSTP,TERM,HUP', launch.file, ...launch.args]
  return { file: tools.env, args: [...outer, ...inner], cwd: launch.cwd, env: { ...env, HOME: '/tmp' } }
}

function profile({ workspace, writable, shown, settings, programs = true }: Confinement, { env, prlimit }: Tools): string[] {
  const within = (path: string): string => (isAbsolute(path) ? path : join(workspace, path))
  // In a worktree .git is a file: it says which folder steers git.
  const pointer = statSync(within('.git'), { throwIfNoEntry: false })?.isFile() ? ['.git'] : []
  const guarded = [...pointer, ...steering, ...settings.deny_write].map(within).filter((path) => existsSync(path))
  return [
    ...['user', 'pid', 'ipc', 'uts', 'cgroup-try', ...(settings.network ? [] : ['net'])].map((name) => `--unshare-${name}`),
    ...['--disable-userns', '--cap-drop', 'ALL', '--die-with-parent'],
    ...(programs ? ['--ro-bind', '/', '/'] : [...essentials, process.execPath, env, prlimit].flatMap((path) => ['--ro-bind-try', path, path])),
    ...['--dev', '/dev', '--proc', '/proc'],
    ...['--size', '268435456', '--tmpfs', '/tmp', '--size', '67108864', '--tmpfs', '/dev/shm'],
    ...(programs ? [...secrets, ...settings.deny_read].map(fromHome).filter((path) => !settings.readable.includes(path)).flatMap(hiding) : []),
    ...[writable ? '--bind' : '--ro-bind', workspace, workspace],
    ...(writable ? foldersOf(guarded, workspace).flatMap((path) => ['--bind', path, path]) : []),
    ...settings.writable.map(fromHome).flatMap((path) => ['--bind-try', path, path]),
    ...guarded.flatMap((path) => ['--ro-bind-try', path, path]),
    ...shown.flatMap((path) => ['--ro-bind', path, path]),
  ]
}

/** The folders that guarded paths lie in, outer ones first. As mounts they cannot be moved away and put up anew without the guard. */
function foldersOf(guarded: string[], workspace: string): string[] {
  const folders = new Set<string>()
  for (const path of guarded) {
    for (let at = path.indexOf('/', workspace.length + 1); path.startsWith(`${workspace}/`) && at !== -1; at = path.indexOf('/', at + 1)) folders.add(path.slice(0, at))
  }
  return [...folders]
}

/**
 * A name that the sandbox has to hold and cannot, for it is a link: what it leads to is guarded, the link itself could be put up anew. Only
 * git's own and those the user names; of the others, commands may make such as are missing anyhow.
 */
export function loose({ workspace, settings }: Confinement): string | undefined {
  const held = [...steering.filter((name) => name.startsWith('.git/')), ...settings.deny_write].map((path) => (isAbsolute(path) ? path : join(workspace, path)))
  return [...foldersOf(held, workspace), ...held].find(isLink)
}

function isLink(path: string): boolean {
  try {
    return lstatSync(path).isSymbolicLink()
  } catch {
    return false
  }
}

/** What Node needs: its libraries, how names are resolved, whom to trust, what time it is. */
const essentials = [
  ...['/lib', '/lib64', '/usr/lib', '/usr/lib64', '/usr/local/lib', '/usr/share'],
  ...['ld.so.cache', 'resolv.conf', 'hosts', 'nsswitch.conf', 'ssl', 'pki', 'ca-certificates', 'localtime', 'passwd', 'group'].map((name) => `/etc/${name}`),
]
/** What steers other programs stays as it is, where it exists; bubblewrap cannot guard what does not. */
const steering = [
  ...['.git/config', '.git/hooks', '.vtcode', '.mcp.json', '.agents', '.claude', '.husky'],
  ...['yaml', 'yml', 'json', 'ts', 'js'].map((end) => `vtcode.config.${end}`),
]
/** What commands have no business reading, wherever it exists. */
const secrets = [
  ...['.ssh', '.gnupg', '.aws', '.azure', '.kube', '.docker', '.config/gcloud', '.config/gh', '.vtcode'],
  ...['.netrc', '.npmrc', '.pypirc', '.git-credentials'],
]
const fromHome = (path: string): string => (isAbsolute(path) ? path : join(homedir(), path.replace(/^~\//, '')))

function hiding(path: string): string[] {
  const stat = statSync(path, { throwIfNoEntry: false })
  if (!stat) return []
  return stat.isDirectory() ? ['--tmpfs', path] : ['--ro-bind', '/dev/null', path]
}

export type Sandbox = { tools: Tools } | { missing: string }

let probed: Promise<Sandbox> | undefined

/** bubblewrap, if it is here and holds: on the first question every act that it has to prevent is attempted in it. */
export async function sandbox(): Promise<Sandbox> {
  const folders = searchPath(process.env.PATH, process.cwd())
  const [env, bwrap, prlimit] = ['env', 'bwrap', 'prlimit'].map((name) => findProgram(name, folders))
  if (!bwrap) return { missing: 'bubblewrap (bwrap) is not installed' }
  if (!env || !prlimit) return { missing: 'the programs env and prlimit are not installed' }
  return (probed ??= probe({ env, bwrap, prlimit }))
}

async function probe(tools: Tools): Promise<Sandbox> {
  const outside = tempFolder('probe')
  try {
    const settings = { network: false, deny_read: [], deny_write: [], writable: [], readable: [] }
    const where: Confinement = { workspace: outside, writable: false, cwd: '/', shown: [], settings }
    const known = { PATH: '/usr/bin:/bin', PROBE: outside, OUTSIDE_PID: String(process.pid) }
    const program = confined(tools, { file: '/bin/sh', args: ['-c', attempts], cwd: '/', env: known }, where)
    const output = { out: tail(), err: tail() }
    const ended = await runProgram(program, { signal: new AbortController().signal, seconds: 10 }, output.out.take, output.err.take)
    const held = ended?.exit_code === 0 && output.out.text() === 'held\n' && (await readdir(outside)).length === 0
    if (held) return { tools }
    const why = (output.out.text() + output.err.text()).trim().slice(0, 200)
    return { missing: `bubblewrap does not hold here: ${why || 'it does not start'}` }
  } finally {
    await rm(outside, { recursive: true, force: true })
  }
}

const attempts = `
touch "$PROBE/written" 2>/dev/null && echo "files outside can be written"
mount -o remount,rw,bind "$PROBE" 2>/dev/null && echo "mounts can be changed"
touch "$PROBE/written" 2>/dev/null && echo "files outside can be written after a remount"
touch /usr/vtcode-probe 2>/dev/null && { rm -f /usr/vtcode-probe; echo "the system can be written"; }
unshare -U true 2>/dev/null && echo "user namespaces can be made"
grep -q '^CapEff:.*[1-9a-f]' /proc/self/status && echo "capabilities are left"
sed 1,2d /proc/net/dev | grep -qv '^ *lo:' && echo "the network is there"
kill -0 "$OUTSIDE_PID" 2>/dev/null && echo "processes outside can be signalled"
echo held
`
