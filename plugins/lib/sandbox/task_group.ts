import { existsSync, readdirSync, rmdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { makeFolder } from '../../../core/system/index.js'
import { systemText } from '../base/index.js'

/** Processes and threads of all commands together. */
export const mostTasks = 2048
const groups = '/sys/fs/cgroup'
let made: { procs?: string } | undefined

/**
 * The file by which a process of one thread joins a control group of this process in which at most so many tasks run; nothing where none
 * can be made. Only root needs it: its processes are not counted by RLIMIT_NPROC.
 */
export function taskGroup(): string | undefined {
  if (process.getuid?.() !== 0) return undefined
  return (made ??= make()).procs
}

function make(): { procs?: string } {
  const parent = parentGroup()
  if (parent === undefined) return {}
  try {
    sweep(parent)
    const own = join(parent, `vtcode-${process.pid}`)
    makeFolder(own)
    process.on('exit', () => remove(own))
    writeFileSync(join(own, 'pids.max'), String(mostTasks))
    // A thread that joins by itself does not wait until the kernel knows that its process begins no other meanwhile, which takes 10 to 20 ms;
    // the shell that joins has one only. The second version takes no thread alone into such a group.
    return { procs: ['tasks', 'cgroup.procs'].map((name) => join(own, name)).find((file) => existsSync(file))! }
  } catch {
    return {}
  }
}

/** Where groups of ours can be: below our own in the first version, beside it in the second, which keeps processes to the leaves. */
function parentGroup(): string | undefined {
  const lines = systemText('/proc/self/cgroup')
    .split('\n')
    .map((line) => line.split(':'))
  const first = lines.find(([, controllers = '']) => controllers.split(',').includes('pids'))
  if (first) return existsSync(join(groups, 'pids')) ? join(groups, 'pids', first[2]!) : undefined
  const unified = lines.find(([number]) => number === '0')?.[2]
  const parent = unified === undefined ? undefined : join(groups, dirname(unified))
  return parent !== undefined && systemText(join(parent, 'cgroup.subtree_control')).split(/\s/).includes('pids')
    ? parent
    : undefined
}

/** Groups of processes that were killed. One in which something runs cannot be removed. */
function sweep(parent: string): void {
  for (const name of readdirSync(parent)) {
    const [, pid] = /^vtcode-(\d+)$/.exec(name) ?? []
    if (pid !== undefined && !existsSync(`/proc/${pid}`)) remove(join(parent, name))
  }
}

function remove(group: string): void {
  try {
    rmdirSync(group)
  } catch {
    // The next of us does it.
  }
}
