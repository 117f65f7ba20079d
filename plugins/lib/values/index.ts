export { checkReferences } from './check_references.js'
export { resolvePointer } from './pointer.js'
export { parseReference, type Piece } from './references.js'
export { expandVariables, resolveValue, resolveValues, resolveWords, type ValueScope } from './values.js'
