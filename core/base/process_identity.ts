import { readFileSync } from 'node:fs'

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
