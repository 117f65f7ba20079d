// Ends the leftovers of the run of a vitest process `pid`: processes whose environment or folder is in the folder of the run, and its folders.
import { existsSync, readdirSync, readFileSync, readlinkSync, realpathSync, statfsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** The folder where Linux keeps files in memory. */
const MEMORY_FOLDER = '/dev/shm'
/** The number with which `statfs` marks a file system in memory (linux/magic.h: TMPFS_MAGIC). */
const TMPFS = 0x01021994
/** A whole run leaves less at any time, also where a test writes files of 100 MB. */
const ENOUGH_BYTES = 4 * 1024 ** 3

/** The folder of a run, in which each worker and test file has folders of its own. */
export const folderOfRun = (pid) => join(baseOfRuns(), `vtcode-run-${pid}`)

/** The folder of a run for tests whose subject is a disk: it is on one unless the system keeps its temporary files in memory. */
export const diskFolderOfRun = (pid) => join(systemFolder(), `vtcode-run-${pid}`)

const systemFolder = () => realpathSync(tmpdir())

/** Returns TMPDIR where it is set; else memory where there is enough, since files on a disk make tests wait for it; else the system's own folder. */
function baseOfRuns() {
  if (process.env.TMPDIR || !existsSync(MEMORY_FOLDER)) return systemFolder()
  const { type, bsize, blocks } = statfsSync(MEMORY_FOLDER)
  return type === TMPFS && bsize * blocks >= ENOUGH_BYTES ? MEMORY_FOLDER : systemFolder()
}

/** Kills the processes of a run and removes its folders; returns the command lines of those processes. */
export async function sweepRun(pid) {
  const folder = folderOfRun(pid)
  const found = findProcesses(folder)
  for (const { pid: one } of found) {
    try {
      process.kill(one, 'SIGKILL')
    } catch {
      // The process has ended meanwhile.
    }
  }
  for (const one of [folder, diskFolderOfRun(pid)]) await rm(one, { recursive: true, force: true, maxRetries: 12 })
  return found.map(({ command }) => command)
}

/** Finds the other processes, of this user, that have the folder in their environment or work in it. Linux only; elsewhere it finds none. */
function findProcesses(folder) {
  if (!existsSync('/proc/self/environ')) return []
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name) || Number(name) === process.pid) return []
    try {
      const isOfRun =
        readlinkSync(`/proc/${name}/cwd`).startsWith(folder) ||
        readFileSync(`/proc/${name}/environ`, 'latin1').includes(`${folder}/`)
      const command = readFileSync(`/proc/${name}/cmdline`, 'latin1').replaceAll('\0', ' ').trim()
      // One without a command line has given up its memory: it is about to end.
      return isOfRun && command !== '' ? [{ pid: Number(name), command }] : []
    } catch {
      // The process has ended, or belongs to another user.
      return []
    }
  })
}
