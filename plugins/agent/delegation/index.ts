export { agentLimits, parseAgent, type AgentReading, type AgentText } from './definition.js'
export { agentItems, findAgents, namedAgent, type AgentDefinition, type AgentFault, type FoundAgents } from './find.js'
export { childRights, type ChildRights } from './rights.js'
