// Runs many commands in a separate process, so that its memory is its own: `node --expose-gc leaks.mjs BATCHES CANCELLED WARMING`.
import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { bootKernel } from 'vtcode/test'

const [batches, cancelled, warming] = process.argv.slice(2).map(Number)
const booted = await bootKernel({ config: { sandbox: { mode: 'off' } } })
const run = (input, options) => booted.call('unified_exec', { action: 'run', ...input }, options)

async function batch() {
  const inputs = Array.from({ length: 8 }, (_, index) => ({
    command: ['/bin/echo', String(index)],
    ...(index === 0 && { tty: true }),
  }))
  const results = await Promise.all(inputs.map((input) => run(input)))
  return results.filter(({ ok, output }) => !ok || output.exit_code !== 0).length
}

/** Signs of a leak: descriptors, zombies, bytes. */
function state() {
  const { stdout } = spawnSync('ps', ['-o', 'stat=', '--ppid', String(process.pid)], { encoding: 'utf8' })
  globalThis.gc()
  const { rss, heapUsed } = process.memoryUsage()
  return {
    descriptors: readdirSync('/proc/self/fd').length,
    zombies: stdout.split('\n').filter((stat) => stat.startsWith('Z')).length,
    rss,
    heap: heapUsed,
  }
}

async function abortSome(count) {
  let aborted = 0
  for (let round = 0; round < count; round++) {
    const abort = new AbortController()
    const pending = run({ command: 'sleep 30 & sleep 30' }, { signal: abort.signal })
    setTimeout(() => abort.abort(), round % 25)
    if ((await pending).error?.code === 'VT_CALL_INTERRUPTED') aborted += 1
  }
  return aborted
}

/** Runs `count` batches. An aborted call ends its processes after its answer, and unused pipes close after two seconds: this takes three. */
async function runBatches(count) {
  const over = pause(3000)
  let failed = 0
  for (let round = 0; round < count; round++) failed += await batch()
  await over
  return failed
}

// Code is compiled and pools grow to their size first.
await abortSome(10)
await runBatches(warming)
const before = state()
const aborted = await abortSome(cancelled)
const failed = await runBatches(batches)
let after = state()
// A busy machine closes them later.
for (const end = Date.now() + 30_000; after.descriptors > before.descriptors + 2 && Date.now() < end; after = state())
  await pause(200)
console.log(JSON.stringify({ failed, aborted, before, after }))
await booted[Symbol.asyncDispose]()
