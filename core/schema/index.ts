export { compile, type Check } from './compile.js'
export { referredPart, schemaObjection } from './cost.js'
export { compileContract, conform, dataKeys, isTaken, keysOf, readContract, waysOf } from './contracts.js'
export type { ContractFault } from './explain.js'
