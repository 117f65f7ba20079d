export type { AliasPart } from './alias_targets.js'
export { bind, type Withheld } from './bind.js'
export { findExampleWithField } from './examples.js'
export {
  findAdapter,
  createSlotMatcher,
  listEffects,
  isListed,
  listSlots,
  findExample,
  findOwnToolName,
  type Registry,
  type Slot,
  type Tool,
} from './registry.js'
export { foldKey, listPropertiesWithFormat, listTypes, type InputShape } from './shape.js'
export { isEffect, type ruleFamilies } from './families.js'
export {
  isForAudience,
  isShown,
  hasGrant,
  canReach,
  validateRights,
  validateCallRights,
  isRuleMatch,
  type Reader,
} from './rights.js'
export { parseExcept, canAllow, checkPolicyNames } from './rule_names.js'
export { isSpelling, isOwnName, stripDecoration } from './spellings.js'
export { listTools, describeTool } from './tools.js'
