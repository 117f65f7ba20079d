import { existsSync, readdirSync, rmdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { makeFolder } from '../../../core/system/index.js'
import { readSystemFile } from '../base/index.js'

/** Processes and threads of all commands together. */
export const MAX_TASKS = 2048
const CGROUP_ROOT = '/sys/fs/cgroup'
let ownGroup: { procs?: string } | undefined

/**
 * The file by which a process of one thread joins a control group of this process in which at most so many tasks run; nothing where none
 * can be made. Only root needs it: its processes are not counted by RLIMIT_NPROC.
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
    // A thread that joins by itself does not wait until the kernel knows that its process begins no other meanwhile, which takes 10 to 20 ms;
    // the shell that joins has one only. The second version takes no thread alone into such a group.
    return { procs: ['tasks', 'cgroup.procs'].map((name) => join(own, name)).find((file) => existsSync(file))! }
  } catch {
    return {}
  }
}

/** Where groups of ours can be: below our own in the first version, beside it in the second, which keeps processes to the leaves. */
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

/** Groups of processes that were killed. One in which something runs cannot be removed. */
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
    // The next of us does it.
  }
}
