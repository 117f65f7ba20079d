import { closeSync, openSync, readdirSync, readSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { isProcessRunning, signalGroup } from '../../../core/system/index.js'
import { readSystemFile } from '../../lib/base/index.js'
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

/** A running process that a command started. */
export interface MarkedProcess {
  pid: number
  command: string
}
/** A command whose processes have a mark in their environment. */
export interface MarkedCommand {
  mark: string
  /** Its first process. */
  leader: number
}

/** Returns the running processes with the mark of a command; none on systems without /proc. */
export function findMarkedProcesses({ mark, leader }: MarkedCommand): MarkedProcess[] {
  const entry = `${RUN_MARK}=${mark}\0`
  return listNewerPids(leader).flatMap((pid) =>
    `${readSystemFile(`/proc/${pid}/environ`)}\0`.includes(entry)
      ? [{ pid, command: readSystemFile(`/proc/${pid}/cmdline`).replaceAll('\0', ' ').trim() }]
      : [],
  )
}

const GRACE_MS = { term: 200, kill: 100 }

/** Ends the processes with the mark of a command: SIGTERM, then SIGKILL after 200 ms. */
export async function endMarkedProcesses(command: MarkedCommand): Promise<void> {
  for (const [signal, ms] of [
    ['SIGTERM', GRACE_MS.term],
    ['SIGKILL', GRACE_MS.kill],
  ] as const) {
    const left = findMarkedProcesses(command)
    for (const { pid } of left) killProcess(pid, signal)
    const deadline = Date.now() + ms
    while (left.some(({ pid }) => isProcessRunning(pid)) && Date.now() < deadline) await pause(10)
  }
}

/**
 * Returns the ids of the processes that started after another one, which has them all if it started them. The system
 * counts ids up, and begins again at its limit; it reports the last one that it gave.
 */
function listNewerPids(pid: number): number[] {
  const all = listPids()
  const last = Number(readSystemFile('/proc/loadavg').trim().split(' ').at(-1))
  return all.filter((one) => (last >= pid ? one >= pid && one <= last : one >= pid || one <= last))
}

interface Process {
  pid: number
  state: string
  group: number
  session: number
}

const listProcesses = (): Process[] => listPids().flatMap((pid) => readProcess(pid) ?? [])

function listPids(): number[] {
  try {
    return readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? [Number(name)] : []))
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

function killProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // The process has ended already.
  }
}
