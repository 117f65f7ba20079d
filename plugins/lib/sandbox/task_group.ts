import { existsSync, readdirSync, rmdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { makeFolder } from '../../../core/system/index.js'
import { readSystemFile } from '../base/index.js'

/** Limit for processes and threads of all commands together. */
export const MAX_TASKS = 2048
const CGROUP_ROOT = '/sys/fs/cgroup'
let ownGroup: { procs?: string } | undefined

/**
 * Returns the file by which a process joins a control group with a task limit; `undefined` if none can be created.
 * Only root needs the group, because RLIMIT_NPROC does not count its processes.
 */
export function openTaskGroup(): string | undefined {
  if (process.getuid?.() !== 0) return undefined
  return (ownGroup ??= createGroup()).procs
}

function createGroup(): { procs?: string } {
  const parent = findParentGroup()
  if (parent === undefined) return {}
  try {
    removeDeadGroups(parent)
    const own = join(parent, `vtcode-${process.pid}`)
    makeFolder(own)
    process.on('exit', () => removeGroup(own))
    writeFileSync(join(own, 'pids.max'), String(MAX_TASKS))
    // A single thread joins without the 10 to 20 ms that the kernel needs to check for new threads of a process; the
    // joining shell has one thread. Version 2 accepts no single thread in such a group.
    return { procs: ['tasks', 'cgroup.procs'].map((name) => join(own, name)).find((file) => existsSync(file))! }
  } catch {
    return {}
  }
}

/**
 * Returns the parent of our groups: our own group in version 1, its parent in version 2, where only leaves hold
 * processes.
 */
function findParentGroup(): string | undefined {
  const lines = readSystemFile('/proc/self/cgroup')
    .split('\n')
    .map((line) => line.split(':'))
  const first = lines.find(([, controllers = '']) => controllers.split(',').includes('pids'))
  if (first) return existsSync(join(CGROUP_ROOT, 'pids')) ? join(CGROUP_ROOT, 'pids', first[2]!) : undefined
  const unified = lines.find(([number]) => number === '0')?.[2]
  const parent = unified === undefined ? undefined : join(CGROUP_ROOT, dirname(unified))
  return parent !== undefined && readSystemFile(join(parent, 'cgroup.subtree_control')).split(/\s/).includes('pids')
    ? parent
    : undefined
}

/** Removes groups of processes that were killed. A group with a running process cannot be removed. */
function removeDeadGroups(parent: string): void {
  for (const name of readdirSync(parent)) {
    const [, pid] = /^vtcode-(\d+)$/.exec(name) ?? []
    if (pid !== undefined && !existsSync(`/proc/${pid}`)) removeGroup(join(parent, name))
  }
}

function removeGroup(group: string): void {
  try {
    rmdirSync(group)
  } catch {
    // The next process removes it.
  }
}
