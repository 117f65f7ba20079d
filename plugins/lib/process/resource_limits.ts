import { readdirSync, readFileSync } from 'node:fs'

export interface ResourceUsage {
  /** Bytes read so far. */
  read: number
  /** Bytes in memory, without mapped files. */
  resident: number
}

export const canWatchUsage = process.platform === 'linux'

const WATCH_MS = 50

/** Calls `exceeded` once when a program exceeds a limit. Returns a function that ends the watch. */
export function watchUsage(pid: number, most: ResourceUsage, exceeded: () => void): () => void {
  const timer = setInterval(() => {
    const { read, resident } = readUsage(pid)
    if (read <= most.read && resident <= most.resident) return
    clearInterval(timer)
    exceeded()
  }, WATCH_MS)
  return () => clearInterval(timer)
}

/** Returns the bytes that a program has read; 0 after its end and on systems without this figure. */
export const countBytesRead = (pid: number): number => readFigure(`/proc/${pid}/io`, /^rchar: (\d+)/m)

/** Returns a number that increases while a program reads or computes. */
export const measureActivity = (pid: number): number =>
  countBytesRead(pid) + readFigure(`/proc/${pid}/stat`, /\) \S(?: -?\d+){10} (\d+)/)

/** Returns the usage of a program, 0 after its end. */
function readUsage(pid: number): ResourceUsage {
  return { read: countBytesRead(pid), resident: readFigure(`/proc/${pid}/status`, /^RssAnon:\s*(\d+)/m) * 1024 }
}

function readFigure(file: string, figure: RegExp): number {
  try {
    return Number(figure.exec(readFileSync(file, 'latin1'))?.[1] ?? 0)
  } catch {
    return 0
  }
}

/** Returns the bytes in memory of all processes of a group, without mapped files; 0 on systems without this figure. */
export function measureGroupMemory(leader: number): number {
  if (!canWatchUsage) return 0
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && readFigure(`/proc/${name}/stat`, /\) \S -?\d+ (\d+)/) === leader)
    .reduce((sum, name) => sum + readUsage(Number(name)).resident, 0)
}
