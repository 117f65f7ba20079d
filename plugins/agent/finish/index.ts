export { type Circumstances, decide } from './decide.js'
export { Finish, type FinishOptions } from './finish.js'
