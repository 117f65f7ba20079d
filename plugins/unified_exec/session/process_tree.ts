import { closeSync, openSync, readdirSync, readFileSync, readSync } from 'node:fs'
import { signalGroup } from '../../../core/system/index.js'
import { RUN_MARK } from '../../lib/process/index.js'

/** Signals a command with everything it started in its session: its process group, and the groups of job control. */
export function signalTree(leader: number, signal: NodeJS.Signals): void {
  signalGroup(leader, signal)
  for (const { pid, group, session } of listProcesses()) {
    if (session === leader && group !== leader) killProcess(pid, signal)
  }
}

/**
 * Returns whether a process of the group runs. Ended processes that were not collected yet do not count, where the
 * system reports that.
 */
export function isGroupRunning(leader: number): boolean {
  if (!signalGroup(leader, 0)) return false
  const all = listProcesses()
  return all.length === 0 || all.some(({ group, state }) => group === leader && state !== 'Z')
}

/** Returns the running processes with the mark; none on systems without /proc. */
export function findMarkedProcesses(mark: string): number[] {
  const entry = `${RUN_MARK}=${mark}\0`
  return listProcesses().flatMap(({ pid, state }) =>
    state !== 'Z' && readEnvironment(pid).includes(entry) ? [pid] : [],
  )
}

interface Process {
  pid: number
  state: string
  group: number
  session: number
}

function listProcesses(): Process[] {
  try {
    return readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? (readProcess(Number(name)) ?? []) : []))
  } catch {
    return []
  }
}

function readProcess(pid: number): Process | undefined {
  try {
    const stat = readShortFile(`/proc/${pid}/stat`)
    // The name in parentheses may contain parentheses.
    const [state = '', , group, session] = stat.slice(stat.lastIndexOf(')') + 2).split(' ', 4)
    return { pid, state, group: Number(group), session: Number(session) }
  } catch {
    return undefined
  }
}

const line = Buffer.alloc(1024)
/** Reads a short file of the system in one call, because every process has one. */
function readShortFile(path: string): string {
  const fd = openSync(path, 'r')
  try {
    return line.toString('latin1', 0, readSync(fd, line, 0, line.length, 0))
  } finally {
    closeSync(fd)
  }
}

function readEnvironment(pid: number): string {
  try {
    return `${readFileSync(`/proc/${pid}/environ`, 'latin1')}\0`
  } catch {
    return ''
  }
}

function killProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // The process has ended already.
  }
}
