import { readFile, rm, writeFile } from 'node:fs/promises'

/** Holds other processes back that want the same. What a process that is no more left behind holds nobody. Throws what the system says. */
export async function hold(lock: string, signal: AbortSignal): Promise<() => Promise<void>> {
  for (;;) {
    signal.throwIfAborted()
    const made = await writeFile(lock, String(process.pid), { flag: 'wx' }).then(() => true, (error: NodeJS.ErrnoException) => {
      if (error.code === 'EEXIST') return false
      throw error
    })
    if (made) return () => rm(lock, { force: true })
    const holder = Number(await readFile(lock, 'utf8').catch(() => ''))
    if (holder > 0 && !isRunning(holder)) await rm(lock, { force: true })
    else await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

export function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
