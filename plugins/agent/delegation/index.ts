export { parseAgent } from './definition.js'
export { Delegation } from './delegation.js'
export { listTrustItems, findAgents, requireAgent, type AgentDefinition, type AgentFault } from './find_agents.js'
export {
  intersectRights,
  computeChildRights,
  countOuterConversations,
  excludeDelegationTools,
  mayDelegate,
} from './rights.js'
export { settleParts } from './settle_parts.js'
export { parseReport } from './report.js'
export { delegationPart, type DelegationState } from './state.js'
export { partOrigin, type ChildPlan, type ChildThread, type OpenChild } from './types.js'
