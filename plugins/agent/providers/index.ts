export { addressFault, type ApiFormat, merged, type ModelFacts, type ProviderSource } from './entry.js'
export { buildModel, type Model, windowKey } from './facts.js'
export { networkOf } from './network.js'
export {
  findModel,
  firstModels,
  isReady,
  keyVariable,
  knownModels,
  modelChoices,
  mostOfOne,
  providerShown,
  providerSources,
  providerVariables,
  uncountedModels,
} from './provider.js'
