import type { ChildProcess, StdioOptions } from 'node:child_process'
import { accessSync, constants, readFileSync, statSync } from 'node:fs'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import { isProcessRunning } from './seal.js'
import type { Launch } from '../shapes/index.js'
import { cleanSearchPath } from './foreign_roots.js'
import { WATCHER_SCRIPT } from './watcher_script.js'

/** Returns the absolute path of a program by its bare name. */
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

const INHERITED_PATTERN =
  /^(PATH|HOME|USER|LOGNAME|LANG|LC_.*|TZ|TMPDIR|SystemRoot|ComSpec|PATHEXT|TEMP|USERPROFILE|APPDATA)$/

/** Returns the variables of an environment that a child may see; PATH without folders that belong to others. */
export function createChildEnvironment(
  env: Readonly<Record<string, string | undefined>> = process.env,
): Record<string, string> {
  const known = Object.entries(env).filter(
    (entry): entry is [string, string] => INHERITED_PATTERN.test(entry[0]) && entry[1] !== undefined,
  )
  const path = env['PATH'] === undefined ? {} : { PATH: cleanSearchPath(env['PATH']) }
  return { ...Object.fromEntries(known), ...path, TERM: 'dumb', NO_COLOR: '1', VTCODE: '1' }
}

/**
 * Starts a program in its own process group with exactly this environment. Some failures to start are its `error`
 * event, others are thrown. Meant for sessions and servers, which live long, and for engines, which are hot. All other
 * programs run with execa, which kills no group (sindresorhus/execa#96) and waits beyond its time limit for any process
 * that holds a pipe; `runShort` and `runProgram` of the plugins add both.
 */
export function spawnProgram(
  { file, args, cwd, env }: Launch,
  stdio: StdioOptions,
  lifetime: Lifetime = 'ours',
): ChildProcess {
  // Most runs start no program; they avoid loading this module.
  const { spawn } = process.getBuiltinModule('node:child_process')
  const child = spawn(file, args, { cwd, env, detached: lifetime !== 'shared', stdio, windowsHide: true })
  if (lifetime === 'ours' || lifetime === 'brief') endWithParent(child, lifetime)
  return child
}

/**
 * `ours`: ends with this process. `brief`: the same after a moment. `own`: a program of the user, which stays.
 * `shared`: a program in our group, which has the terminal in our place.
 */
export type Lifetime = 'ours' | 'brief' | 'own' | 'shared'

const BRIEF_MS = 200

/** Ends the group of a child together with this process, as long as a process of the group runs. */
export function endWithParent(child: ChildProcess, lifetime: 'ours' | 'brief'): void {
  const { pid } = child
  if (pid === undefined) return
  child.once('exit', () => noteLeaderExit(pid))
  if (lifetime === 'ours') return watchGroup(pid)
  const timer = setTimeout(watchGroup, BRIEF_MS, pid).unref()
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
/** Watched groups: start time by the process id of the leader. */
const watched = new Map<number, string>()
/** Groups whose leader has ended while other processes of the group run. */
const leaderless = new Set<number>()

/** Ends the group that `pid` leads together with this process. */
export function watchGroup(pid: number): void {
  for (const left of leaderless) if (!isProcessRunning(-left)) unwatchGroup(left)
  watched.set(pid, readProcessStart(pid))
  if (watcher) writeToWatcher(`+ ${pid} ${watched.get(pid)}\n`)
  else startWatcher()
}

/** Handles the end of a leader. Its group stays watched while a process of it runs; an unused number is removed. */
export function noteLeaderExit(pid: number): void {
  if (!watched.has(pid)) return
  if (isProcessRunning(-pid)) leaderless.add(pid)
  else unwatchGroup(pid)
}

function unwatchGroup(pid: number): void {
  leaderless.delete(pid)
  if (watched.delete(pid)) writeToWatcher(`- ${pid}\n`)
}

function startWatcher(): void {
  const { spawn } = process.getBuiltinModule('node:child_process')
  const child = spawn('/bin/sh', ['-c', WATCHER_SCRIPT], {
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
  // If the watcher was ended, the next group starts another one, which gets the whole list.
  child.once('exit', forget)
  child.stdin!.on('error', forget)
  // The watcher does not keep this process alive.
  child.unref()
  ;(child.stdin as Socket).unref()
  writeToWatcher([...watched].map(([pid, began]) => `+ ${pid} ${began}\n`).join(''))
}

/** Writes to the watcher immediately: this process may be killed next. */
function writeToWatcher(text: string): void {
  if (watcher?.stdin?.writable && text !== '') watcher.stdin.write(text)
}

/**
 * Returns the start time of a process in the clock of the system, or '0' if unknown. A reused process id has another
 * start time.
 */
export function readProcessStart(pid: number): string {
  try {
    // Field 22; the name before it may contain anything, including parentheses.
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '0'
  } catch {
    return '0'
  }
}
