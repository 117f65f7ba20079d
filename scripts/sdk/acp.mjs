// What `vtcode acp` uses of the SDK.
export { agent, methods, RequestError } from '@agentclientprotocol/sdk'
