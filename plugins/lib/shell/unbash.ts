import type * as library from 'unbash'
import { requireLibrary } from '../../../core/system/index.js'

// Most calls hold no command: the parser is loaded on first use.
let loaded: typeof library | undefined
const unbash = (): typeof library => (loaded ??= requireLibrary('unbash') as typeof library)

export const parse: typeof library.parse = (...given) => unbash().parse(...given)
export const forEachChild: typeof library.forEachChild = (...given) => unbash().forEachChild(...given)
