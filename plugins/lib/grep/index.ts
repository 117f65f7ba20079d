export { createGrep } from './grep.js'
