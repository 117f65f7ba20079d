export { check, discover, pluginsOf, readPlaces } from './discover.js'
export { builtinSource, markers, serverSource, sourceAt } from './locations.js'
export { compileCatalogue, fromError, readManifest } from './read.js'
export type { PackagePlace, PackageReader } from './types.js'
