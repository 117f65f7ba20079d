import { Socket } from 'node:net'
import { inspect } from '../../../core/manifests/index.js'
import type { ConfinedTask } from './sandboxed.js'
import { tryAll } from './self_test.js'

/** The examples of a plugin, run in the sandbox that this whole process is in. Its socket is no descriptor of what it starts, and nobody opens one by way of /proc. */
async function validate({ path, surroundings }: ConfinedTask): Promise<void> {
  const io = {
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    env: process.env,
    signal: new AbortController().signal,
  }
  const inspection = await inspect(path, { ...surroundings, env: process.env })
  const rows = await tryAll({ path, inspection, run: true, io, confined: true })
  // What a plugin left running ends with the sandbox.
  new Socket({ fd: 3 }).end(JSON.stringify(rows), () => process.exit(0))
}

void validate(JSON.parse(process.argv[2]!) as ConfinedTask)
