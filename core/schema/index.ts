export { compileOutputCheck, type OutputCheck } from './output_check.js'
export { buildCheck, checkFileName } from './built.js'
export { compile, type Check } from './compile.js'
export { compileSchema } from './problem_check.js'
export { resolveReference, findSchemaProblem } from './cost.js'
export {
  compileContract,
  checkContract,
  listAdapterKeys,
  isReservedKey,
  keysByKind,
  readContract,
  isThreadEvent,
  handlerKeys,
} from './contracts.js'
export type { ContractFault } from './explain.js'
export { toPortableSchema } from './portable.js'
export { restoreNames } from './portable_names.js'
export { buildResourceInput } from './resource_input.js'
