export { createKernel } from './kernel.js'
