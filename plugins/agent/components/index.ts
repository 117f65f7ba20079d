export { chooseComponents, rebindComponents, resolveChoices, componentNames } from './choose.js'
export { resolveRunContext, runContexts, type RunContext } from './run_context.js'
