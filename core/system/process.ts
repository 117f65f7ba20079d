import type { ChildProcess, StdioOptions } from 'node:child_process'
import { accessSync, constants, readFileSync, statSync } from 'node:fs'
import type { Socket } from 'node:net'
import { delimiter, isAbsolute, join } from 'node:path'
import { inside } from './path_text.js'
import { realPathOf } from './seal.js'
import type { Launch } from '../shapes/index.js'
import { watcherScript } from './watcher_script.js'

/** Folders where programs are looked for: those of PATH, without relative ones and without anything of the workspace, by whatever name. */
export function searchPath(path: string | undefined, workspace: string): string[] {
  return (path ?? '')
    .split(delimiter)
    .filter((folder) => isAbsolute(folder) && ![folder, realPathOf(folder)].some((one) => inside(workspace, one)))
}

/** The absolute path of a program by its bare name. */
export function findProgram(name: string, folders: readonly string[]): string | undefined {
  if (!/^[^/\\\0]+$/.test(name)) return undefined
  return folders.map((folder) => join(folder, name)).find(isProgram)
}

export function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return statSync(file).isFile()
  } catch {
    return false
  }
}

const inherited = /^(PATH|HOME|USER|LOGNAME|LANG|LC_.*|TZ|TMPDIR|SystemRoot|ComSpec|PATHEXT|TEMP|USERPROFILE|APPDATA)$/

/** The variables of our environment that a child may see. */
export function environment(env: Record<string, string | undefined> = process.env): Record<string, string> {
  const known = Object.entries(env).filter(
    (entry): entry is [string, string] => inherited.test(entry[0]) && entry[1] !== undefined,
  )
  return { ...Object.fromEntries(known), TERM: 'dumb', NO_COLOR: '1', VTCODE: '1' }
}

/**
 * Starts a program in a process group of its own, with exactly this environment. Some failures to start are its `error` event, others
 * are thrown. It is for sessions, engines and servers, which are hot or long-lived. A short program that is not hot runs by execa, which kills no
 * group (sindresorhus/execa#96) and waits beyond its own time limit for any process that holds a pipe; `runShort` of the plugins adds both.
 */
export function start(
  { file, args, cwd, env }: Launch,
  stdio: StdioOptions,
  lifetime: Lifetime = 'ours',
): ChildProcess {
  // Most starts of ours start no program, and do without what Node needs for one.
  const { spawn } = process.getBuiltinModule('node:child_process')
  const child = spawn(file, args, { cwd, env, detached: lifetime !== 'shared', stdio, windowsHide: true })
  if (lifetime === 'ours' || lifetime === 'brief') endWithUs(child, lifetime)
  return child
}

/** `ours`: ends with us, however we end. `brief`: so does what runs longer than a moment. `own`: a program of the user's, which stays. `shared`: one in our own group, which has the terminal in our place. */
export type Lifetime = 'ours' | 'brief' | 'own' | 'shared'

const momentMs = 200

/** Puts the group that a child leads on the list of what ends with us, for as long as somebody of it runs. */
export function endWithUs(child: ChildProcess, lifetime: 'ours' | 'brief'): void {
  const { pid } = child
  if (pid === undefined) return
  child.once('exit', () => leaderEnded(pid))
  if (lifetime === 'ours') return watchGroup(pid)
  const timer = setTimeout(watchGroup, momentMs, pid).unref()
  child.once('exit', () => clearTimeout(timer))
}

/** Signals the process group that `pid` leads; false when no process of the group is left. Signal 0 only checks. */
export function signalGroup(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-pid, signal)
  } catch {
    return false
  }
}

let watcher: ChildProcess | undefined
/** Groups on the list, by their leaders: the start time of each. */
const watched = new Map<number, string>()
/** Groups whose leader has ended while somebody of them runs. */
const leaderless = new Set<number>()

/** From now on the group that `pid` leads ends with us. */
export function watchGroup(pid: number): void {
  for (const left of leaderless) if (!isProcessRunning(-left)) drop(left)
  watched.set(pid, processStart(pid))
  if (watcher) tell(`+ ${pid} ${watched.get(pid)}\n`)
  else begin()
}

/** The leader has ended. Who is left of its group stays on the list; a number that is free again leaves it. */
export function leaderEnded(pid: number): void {
  if (!watched.has(pid)) return
  if (isProcessRunning(-pid)) leaderless.add(pid)
  else drop(pid)
}

function drop(pid: number): void {
  leaderless.delete(pid)
  if (watched.delete(pid)) tell(`- ${pid}\n`)
}

function begin(): void {
  const { spawn } = process.getBuiltinModule('node:child_process')
  const child = spawn('/bin/sh', ['-c', watcherScript], {
    cwd: '/',
    env: { PATH: '/usr/bin:/bin' },
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
    windowsHide: true,
  })
  watcher = child
  const forget = (): void => {
    if (watcher === child) watcher = undefined
  }
  child.once('error', forget)
  // Somebody ended it: the next group starts another, which gets the whole list.
  child.once('exit', forget)
  child.stdin!.on('error', forget)
  // It never keeps us alive.
  child.unref()
  ;(child.stdin as Socket).unref()
  tell([...watched].map(([pid, began]) => `+ ${pid} ${began}\n`).join(''))
}

/** Written at once: a pipe with room takes it before we go on, and we may be killed next. */
function tell(text: string): void {
  if (watcher?.stdin?.writable && text !== '') watcher.stdin.write(text)
}

/** Whether a process lives, or one of a group where its number is negative. */
export function isProcessRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** When a process began, in the clock of the system: a number that was used again is another process. '0' where that is not told. */
export function processStart(pid: number): string {
  try {
    // Field 22; the name before it may hold anything, parentheses too.
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '0'
  } catch {
    return '0'
  }
}
