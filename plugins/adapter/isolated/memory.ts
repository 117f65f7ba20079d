import { readFile } from 'node:fs/promises'

/** Returns the MiB of memory of a process and its children; 0 where the system does not report it. */
export async function residentMb(pid: number | undefined): Promise<number> {
  const [statm, children] = await Promise.all([read(`/proc/${pid}/statm`), read(`/proc/${pid}/task/${pid}/children`)])
  const own = (Number(statm.split(' ')[1] ?? 0) * 4096) / 1_048_576
  const below = await Promise.all(
    children
      .split(' ')
      .filter(Boolean)
      .map((child) => residentMb(Number(child))),
  )
  return below.reduce((sum, mb) => sum + mb, own)
}

const read = (file: string): Promise<string> => readFile(file, 'utf8').catch(() => '')
