import { readFile } from 'node:fs/promises'

/** MiB of memory that a process and all it started hold; 0 where the system does not tell. */
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
