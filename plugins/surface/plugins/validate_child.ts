import { writeFileSync } from 'node:fs'
import { inspect } from '../../../core/manifests/index.js'
import type { ConfinedTask } from './sandboxed.js'
import { tryAll } from './self_test.js'

// The examples of a plugin, run in the sandbox that this whole process is in.
const { path, surroundings, report } = JSON.parse(process.argv[2]!) as ConfinedTask
const io = { stdin: process.stdin, stdout: process.stdout, stderr: process.stderr, env: process.env, signal: new AbortController().signal }
const inspection = await inspect(path, { ...surroundings, env: process.env })
writeFileSync(report, JSON.stringify(await tryAll({ path, inspection, run: true, io, confined: true })))
// What a plugin left running ends with the sandbox.
process.exit(0)
