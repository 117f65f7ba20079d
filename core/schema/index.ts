export { compile, type Check } from './compile.js'
export { compileContract, conform, readContract } from './contracts.js'
export type { Fault } from './explain.js'
