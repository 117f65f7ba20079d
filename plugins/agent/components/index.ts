export { choicesOf, components, dictionary } from './choose.js'
export { placeOf, places, type Place } from './contexts.js'
