export type { AliasPart } from './alias_targets.js'
export { bind, type Withheld } from './bind.js'
export { exampleWith } from './examples.js'
export {
  adapterOf,
  slotsCovered,
  effectsOf,
  isListed,
  slotsOf,
  exampleFor,
  ownName,
  type Registry,
  type Slot,
  type Tool,
} from './registry.js'
export { offeredInput } from './resource_input.js'
export { foldKey, propertiesOf, typesOf, type InputShape } from './shape.js'
export { isEffect, type ruleFamilies } from './families.js'
export { isForAudience, isShown, leaves, reaches, rightsLeft, rightsOfCall, speaksOf, type Reader } from './rights.js'
export { exceptedBy, mayAllow, policyNames } from './rule_names.js'
export { concerns, isOwnName, toolName } from './spellings.js'
export { listTools, toolInfo } from './tools.js'
