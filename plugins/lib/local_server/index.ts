export { callWhenRead } from './response_end.js'
export { createRequestCheck, isLoopback, type RequestObjection } from './request_check.js'
