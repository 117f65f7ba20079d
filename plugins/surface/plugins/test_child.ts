import { compilerFor } from '../../../core/trust/index.js'

// Tests of a plugin: each file is loaded, and `node:test` runs what it declares.
for (const file of process.argv.slice(2)) await (await compilerFor(file)).import(file)
