import { createRequire } from 'node:module'
import type * as library from 'unbash'

// Most calls hold no command: the reader of shells is loaded for the first that does.
const require = (name: string): any => createRequire(import.meta.url)(name)
let loaded: typeof library | undefined
const unbash = (): typeof library => (loaded ??= require('unbash') as typeof library)

export const parse: typeof library.parse = (...given) => unbash().parse(...given)
export const forEachChild: typeof library.forEachChild = (...given) => unbash().forEachChild(...given)
