export { compile, type Check } from './compile.js'
export { compileContract, conform, readContract, type Fault } from './contracts.js'
