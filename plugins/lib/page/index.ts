export { createRequestCheck, isLoopback, type RequestObjection } from './request_check.js'
