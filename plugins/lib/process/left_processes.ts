import { readdirSync } from 'node:fs'
import { readSystemFile } from '../base/index.js'

/** Environment variable that marks every process that a command started. */
export const RUN_MARK = 'VTCODE_RUN'

/** A process that a command started. */
export interface LeftProcess {
  pid: number
  command: string
}

/**
 * Lists processes whose command has ended: marked processes below one that was reparented to process 1. Without a
 * sandbox such a process left the process group of its command.
 */
export function listLeftProcesses(): LeftProcess[] {
  const parents = new Map<number, number>()
  for (const pid of listPids('/proc'))
    if (readSystemFile(`/proc/${pid}/environ`).includes(`${RUN_MARK}=`)) parents.set(pid, readParentPid(pid))
  const isLeft = (pid: number, steps = 0): boolean => {
    const parent = parents.get(pid)
    return parent === 1 || (parent !== undefined && steps < 64 && isLeft(parent, steps + 1))
  }
  return [...parents.keys()]
    .filter((pid) => isLeft(pid))
    .map((pid) => ({ pid, command: readSystemFile(`/proc/${pid}/cmdline`).replaceAll('\0', ' ').trim().slice(0, 200) }))
}

function readParentPid(pid: number): number {
  const stat = readSystemFile(`/proc/${pid}/stat`)
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
}

function listPids(folder: string): number[] {
  try {
    return readdirSync(folder)
      .filter((name) => /^\d+$/.test(name))
      .map(Number)
  } catch {
    return []
  }
}
