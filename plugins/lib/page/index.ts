export { createGuard, isLoopback, type RequestObjection } from './guard.js'
