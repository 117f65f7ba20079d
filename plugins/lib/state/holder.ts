import { readFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { isObject } from '../../../core/shapes/index.js'
import { isProcessRunning, readProcessStart } from '../../../core/system/index.js'

/** Identity of a process that distinguishes it from a later process with the same number. */
export interface Holder {
  pid: number
  /** See `readProcessStart`. */
  started_at: string
  boot_id: string
  host: string
}

let ownHolder: Holder | undefined
/** Returns the identity of this process. */
export const getOwnHolder = (): Holder =>
  (ownHolder ??= {
    pid: process.pid,
    started_at: readProcessStart(process.pid),
    boot_id: readText('/proc/sys/kernel/random/boot_id').trim(),
    host: hostname(),
  })

/** Checks whether a value from a file identifies a process. */
export const isHolder = (value: unknown): value is Holder =>
  isObject(value) &&
  Number.isSafeInteger(value['pid']) &&
  (value['pid'] as number) > 0 &&
  typeof value['host'] === 'string'

/**
 * Checks whether a process is alive. A process of another machine or container counts as alive, because it is not
 * visible here.
 */
export function isHolderAlive(holder: Holder): boolean {
  const mine = getOwnHolder()
  if (holder.host !== mine.host) return true
  if (holder.boot_id !== mine.boot_id) return false
  return isProcessRunning(holder.pid) && readProcessStart(holder.pid) === holder.started_at
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'latin1')
  } catch {
    return ''
  }
}
