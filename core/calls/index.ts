export { type Caller, createCaller } from './call.js'
export { KernelSessions } from './context.js'
export { complete, offersOf, providersOf } from './resources.js'
