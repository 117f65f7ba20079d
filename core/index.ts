export type * from './types.js'
export { ok, fail } from './result.js'
export { problem, VtError } from './errors.js'
