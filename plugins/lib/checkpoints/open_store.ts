import { existsSync } from 'node:fs'
import { toRealPath } from '../../../core/system/index.js'
import { listUncovered, toStoreFolder } from './state_index.js'
import { StateLog } from './state_log.js'
import { CheckpointStore } from './store.js'
import type { CheckpointLimits, Uncovered } from './types.js'

/** The defaults of the settings, for readers that keep nothing. */
const DEFAULT_LIMITS: CheckpointLimits = { max_mb: 2048, days: 30, wait_ms: 10_000 }
const stores = new Map<string, CheckpointStore>()

/** Returns the store of a workspace, one in a process: commands of all its sessions run in one order. */
export function openCheckpoints(root: string, home: string, limits = DEFAULT_LIMITS): CheckpointStore {
  const real = toRealPath(root)
  const key = `${home}\0${real}`
  const known = stores.get(key)
  if (known) {
    if (limits !== DEFAULT_LIMITS) known.limits = limits
    return known
  }
  const made = new CheckpointStore(real, home, limits)
  stores.set(key, made)
  return made
}

/** Describes the kept content of a workspace (bytes on disk) and what is not covered. Writes nothing. */
export function readCoverage(root: string, home: string): { bytes: number; uncovered: Uncovered[] } {
  const folder = toStoreFolder(toRealPath(root), home)
  if (!existsSync(folder)) return { bytes: 0, uncovered: [] }
  const log = new StateLog(folder)
  log.read(() => {})
  return { bytes: log.pack_bytes + log.log_bytes, uncovered: listUncovered(log) }
}
