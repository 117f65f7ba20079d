export { checkReferences } from './check_references.js'
export { pointed } from './pointer.js'
export { parseReference, type Piece } from './references.js'
export { expandVariables, resolveValue, resolveValues, resolveWords, type ValueScope } from './values.js'
