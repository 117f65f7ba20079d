export type { Config } from '../core/index.js'
