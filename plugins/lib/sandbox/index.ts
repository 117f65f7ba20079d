export { confined, confinedCommand, type SandboxEnd } from './launch.js'
export { examineSandbox, sandbox, type Attempt } from './probe.js'
export { obstacle, steered, type Confinement } from './profile.js'
export { programSight, packagesAround } from './program.js'
