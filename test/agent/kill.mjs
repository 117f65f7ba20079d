// Ends the program with SIGKILL right after the n-th write to the journal: `node --import`, n in KILL_AFTER.
import { readlinkSync } from 'node:fs'
import { open } from 'node:fs/promises'

const handle = await open('/dev/null')
const prototype = Object.getPrototypeOf(handle)
await handle.close()
const { appendFile } = prototype
let left = Number(process.env.KILL_AFTER)
prototype.appendFile = async function (...given) {
  const result = await appendFile.apply(this, given)
  if (readlinkSync(`/proc/self/fd/${this.fd}`).endsWith('/messages.jsonl') && --left === 0) process.kill(process.pid, 'SIGKILL')
  return result
}
