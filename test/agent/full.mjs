// A disk that is full from the fourth write to the journal on: `node --import`.
import { readlinkSync } from 'node:fs'
import { open } from 'node:fs/promises'

const handle = await open('/dev/null')
const prototype = Object.getPrototypeOf(handle)
await handle.close()
const { appendFile } = prototype
let left = 3
prototype.appendFile = async function (...given) {
  if (readlinkSync(`/proc/self/fd/${this.fd}`).endsWith('/messages.jsonl') && left-- <= 0) throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })
  return appendFile.apply(this, given)
}
