import { readFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { isObject } from '../../../core/shapes/index.js'
import { isProcessRunning, processStart } from '../../../core/system/index.js'

/** A process, so that another one that has its number is not taken for it. */
export interface Holder {
  pid: number
  /** See `processStart`. */
  started_at: string
  boot_id: string
  host: string
}

let ours: Holder | undefined
/** This process. */
export const thisHolder = (): Holder =>
  (ours ??= {
    pid: process.pid,
    started_at: processStart(process.pid),
    boot_id: textOf('/proc/sys/kernel/random/boot_id').trim(),
    host: hostname(),
  })

/** Whether what a file says names a process. */
export const isHolder = (value: unknown): value is Holder =>
  isObject(value) &&
  Number.isSafeInteger(value['pid']) &&
  (value['pid'] as number) > 0 &&
  typeof value['host'] === 'string'

/** Whether a process lives. On another machine or in a stopped container that cannot be seen from here: it is taken to live. */
export function holderLives(holder: Holder): boolean {
  const mine = thisHolder()
  if (holder.host !== mine.host) return true
  if (holder.boot_id !== mine.boot_id) return false
  return isProcessRunning(holder.pid) && processStart(holder.pid) === holder.started_at
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'latin1')
  } catch {
    return ''
  }
}
