export { findAddressFault, type ApiFormat, mergeObjects, type ModelFacts, type ProviderSource } from './entry.js'
export { buildModel, type Model, formatWindowKey } from './facts.js'
export { createFetch } from './entry_fetch.js'
export {
  findModel,
  rankModels,
  hasKey,
  getKeyVariable,
  listKnownModels,
  listModelChoices,
  MAX_MODELS_PER_PROVIDER,
  describeProvider,
  listProviderSources,
  listProviderVariables,
  listIgnoredModels,
} from './provider.js'
