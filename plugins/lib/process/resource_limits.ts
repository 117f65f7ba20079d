import { readFileSync } from 'node:fs'

export interface Burden {
  /** Bytes that it has read. */
  read: number
  /** Bytes that it has in memory; files that it maps are not counted. */
  resident: number
}

export const watchable = process.platform === 'linux'

const everyMs = 50

/** Calls once when a program has come to cost more than it may. The function returned ends the watch. */
export function watchBurden(pid: number, most: Burden, exceeded: () => void): () => void {
  const timer = setInterval(() => {
    const { read, resident } = burdenOf(pid)
    if (read <= most.read && resident <= most.resident) return
    clearInterval(timer)
    exceeded()
  }, everyMs)
  return () => clearInterval(timer)
}

/** How many bytes a program has read; 0 of one that has ended, and where the system does not tell. */
export const bytesRead = (pid: number): number => readFigure(`/proc/${pid}/io`, /^rchar: (\d+)/m)

/** Returns a number that grows as long as a program reads or computes. */
export const activityOf = (pid: number): number =>
  bytesRead(pid) + readFigure(`/proc/${pid}/stat`, /\) \S(?: -?\d+){10} (\d+)/)

/** Nothing of a program that has ended. */
function burdenOf(pid: number): Burden {
  return { read: bytesRead(pid), resident: readFigure(`/proc/${pid}/status`, /^RssAnon:\s*(\d+)/m) * 1024 }
}

function readFigure(file: string, figure: RegExp): number {
  try {
    return Number(figure.exec(readFileSync(file, 'latin1'))?.[1] ?? 0)
  } catch {
    return 0
  }
}
