export { translateAnswer, replaceFieldNames, findAnswerPart } from './alias.js'
export { findConstraint, applyPolicyLimits } from './constraints.js'
export { findEffects } from './infer.js'
export { confineInput } from './normalize.js'
export { listPatchedPaths, listCallPaths } from './call_paths.js'
export { prepareCall, readRequest, resolveRequest, type CallArguments, type CallRequest } from './prepared_call.js'
export {
  listEffectsByName,
  toRecordedName,
  normalizeInput,
  addExample,
  type NormalizedInput,
  type CallTarget,
} from './resolve.js'
export {
  translateNextCall,
  plainVocabulary,
  renderPlainText,
  renderTemplate,
  renderHints,
  createVocabulary,
  type Vocabulary,
} from './vocabulary.js'
