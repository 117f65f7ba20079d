import type * as library from 'unbash'
import { requireLibrary } from '../../../core/system/index.js'

// Most calls hold no command: the reader of shells is loaded for the first that does.
let loaded: typeof library | undefined
const unbash = (): typeof library => (loaded ??= requireLibrary('unbash') as typeof library)

export const parse: typeof library.parse = (...given) => unbash().parse(...given)
export const forEachChild: typeof library.forEachChild = (...given) => unbash().forEachChild(...given)
