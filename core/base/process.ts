import { spawn, type ChildProcess, type StdioOptions } from 'node:child_process'
import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, isAbsolute, join } from 'node:path'
import { inside } from './path_text.js'
import type { Launch } from './types.js'

/** Folders where programs are looked for: those of PATH, without relative ones and without anything of the workspace. */
export function searchPath(path: string | undefined, workspace: string): string[] {
  return (path ?? '').split(delimiter).filter((folder) => isAbsolute(folder) && !inside(workspace, folder))
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
  const known = Object.entries(env).filter((entry): entry is [string, string] => inherited.test(entry[0]) && entry[1] !== undefined)
  return { ...Object.fromEntries(known), TERM: 'dumb', NO_COLOR: '1', VTCODE: '1' }
}

/**
 * Starts a program in a process group of its own, with exactly this environment. Some failures to start are its `error` event, others
 * are thrown. It is for sessions, engines and servers, which are hot or long-lived. A short program that is not hot runs by execa, which kills no
 * group (sindresorhus/execa#96) and waits beyond its own time limit for any process that holds a pipe; `runShort` of the plugins adds both.
 */
export function start({ file, args, cwd, env }: Launch, stdio: StdioOptions): ChildProcess {
  return spawn(file, args, { cwd, env, detached: true, stdio, windowsHide: true })
}

/** Signals the process group that `pid` leads; false when no process of the group is left. Signal 0 only checks. */
export function signalGroup(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(process.platform === 'win32' ? pid : -pid, signal)
  } catch {
    return false
  }
}
