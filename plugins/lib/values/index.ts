export { pointed } from './pointer.js'
export { parseText, type Piece } from './references.js'
export { expandVariables, resolveValue, resolveValues, resolveWords, type Asking } from './values.js'
