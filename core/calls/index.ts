export { type CallRunner, createCallRunner } from './call.js'
export { KernelSessions } from './context.js'
export { complete, listOffers, listProviders } from './resources.js'
