export { compile, type Check } from './compile.js'
export { compileContract, conform, dataKeys, isTaken, keysOf, readContract, waysOf, type Fault } from './contracts.js'
