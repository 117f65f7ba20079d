export { applyPatch } from './apply.js'
export { parsePatch } from './parse.js'
export { place } from './place.js'
