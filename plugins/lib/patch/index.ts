export { applyPatch } from './apply.js'
export { parsePatch } from './parse.js'
export { placeHunks } from './place.js'
