/** The front door: what embedders and plugins may use. */
export type * from './types.js'
export { defineConfig } from './config.js'
export { codes, problem, VtError } from './errors.js'
export { version } from './generation.js'
export { createKernel } from './kernel.js'
export { fail, failure, ok } from './result.js'
