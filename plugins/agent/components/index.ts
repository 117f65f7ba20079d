export { chooseComponents, componentsFor, componentChoices, componentNames } from './choose.js'
export { runContextOf, runContexts, type RunContext } from './contexts.js'
