import { Socket } from 'node:net'
import { inspect } from '../../../core/manifests/index.js'
import type { ConfinedTask } from './run_confined.js'
import { runExamples } from './self_test.js'

/**
 * Runs the examples of a plugin in the sandbox of this process. Child processes cannot reach the result
 * socket (fd 3), not even through /proc.
 */
async function validate({ path, context }: ConfinedTask): Promise<void> {
  const io = {
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    env: process.env,
    signal: new AbortController().signal,
  }
  const inspection = await inspect(path, { ...context, env: process.env })
  const rows = await runExamples({ path, inspection, run: true, io, confined: true })
  // Processes of the plugin end with the sandbox.
  new Socket({ fd: 3 }).end(JSON.stringify(rows), () => process.exit(0))
}

void validate(JSON.parse(process.argv[2]!) as ConfinedTask)
