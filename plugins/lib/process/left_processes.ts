import { readdirSync } from 'node:fs'
import { readSystemFile } from '../base/index.js'

/** The variable by which whatever a command started is found again, wherever it went. */
export const markName = 'VTCODE_RUN'

/** A process that a command started. */
export interface LeftProcess {
  pid: number
  command: string
}

/**
 * Processes of commands whose program is gone: of those that carry our mark, the ones below one that the first process of the system
 * took over. Without a sandbox such a process left the group that ends with its command.
 */
export function leftProcesses(): LeftProcess[] {
  const parents = new Map<number, number>()
  for (const pid of numbersIn('/proc'))
    if (readSystemFile(`/proc/${pid}/environ`).includes(`${markName}=`)) parents.set(pid, parentOf(pid))
  const isLeft = (pid: number, steps = 0): boolean => {
    const parent = parents.get(pid)
    return parent === 1 || (parent !== undefined && steps < 64 && isLeft(parent, steps + 1))
  }
  return [...parents.keys()]
    .filter((pid) => isLeft(pid))
    .map((pid) => ({ pid, command: readSystemFile(`/proc/${pid}/cmdline`).replaceAll('\0', ' ').trim().slice(0, 200) }))
}

function parentOf(pid: number): number {
  const stat = readSystemFile(`/proc/${pid}/stat`)
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
}

function numbersIn(folder: string): number[] {
  try {
    return readdirSync(folder)
      .filter((name) => /^\d+$/.test(name))
      .map(Number)
  } catch {
    return []
  }
}
