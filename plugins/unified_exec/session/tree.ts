import { closeSync, openSync, readdirSync, readFileSync, readSync } from 'node:fs'
import { signalGroup } from '../../../core/system/index.js'
import { markName } from '../../lib/process/index.js'

/** Signals a command with everything it started that stayed in its session: its process group, and the groups that job control made. */
export function signalTree(leader: number, signal: NodeJS.Signals): void {
  signalGroup(leader, signal)
  for (const { pid, group, session } of processes()) {
    if (session === leader && group !== leader) kill(pid, signal)
  }
}

/** Whether anybody of the group still runs. The dead whom nobody has collected yet do not count, where that can be told. */
export function groupRuns(leader: number): boolean {
  if (!signalGroup(leader, 0)) return false
  const all = processes()
  return all.length === 0 || all.some(({ group, state }) => group === leader && state !== 'Z')
}

/** Processes that carry the mark and have not ended. None on systems without /proc. */
export function carriersOf(mark: string): number[] {
  const entry = `${markName}=${mark}\0`
  return processes().flatMap(({ pid, state }) => (state !== 'Z' && environmentOf(pid).includes(entry) ? [pid] : []))
}

interface Process {
  pid: number
  state: string
  group: number
  session: number
}

function processes(): Process[] {
  try {
    return readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? (read(Number(name)) ?? []) : []))
  } catch {
    return []
  }
}

function read(pid: number): Process | undefined {
  try {
    const stat = lineOf(`/proc/${pid}/stat`)
    // The name in parentheses may hold anything, parentheses too.
    const [state = '', , group, session] = stat.slice(stat.lastIndexOf(')') + 2).split(' ', 4)
    return { pid, state, group: Number(group), session: Number(session) }
  } catch {
    return undefined
  }
}

const line = Buffer.alloc(1024)
/** A short file of the system, in one read: there are as many of these as processes of the machine. */
function lineOf(path: string): string {
  const fd = openSync(path, 'r')
  try {
    return line.toString('latin1', 0, readSync(fd, line, 0, line.length, 0))
  } finally {
    closeSync(fd)
  }
}

function environmentOf(pid: number): string {
  try {
    return `${readFileSync(`/proc/${pid}/environ`, 'latin1')}\0`
  } catch {
    return ''
  }
}

function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // It has ended meanwhile.
  }
}
