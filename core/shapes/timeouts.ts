import type { Timeouts } from './types.js'

/**
 * The default time limits. Only the caller of `createKernel` can change them; no setting and no variable of the
 * environment does.
 */
export const DEFAULT_TIMEOUTS: Readonly<Timeouts> = {
  settings: 10_000,
  policy: 5_000,
  compactor: 2_000,
  engine: 30_000,
  parse: 20_000,
  single_file: 7_000,
  restart: 1_000,
  reading: 500,
  commit: 30_000,
  unread: 10_000,
}
