// A disk that is full from the fourth write to the journal on: `node --import`.
import fs, { readlinkSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

const { writeSync } = fs
let left = 3
fs.writeSync = (fd, ...given) => {
  if (fd > 2 && readlinkSync(`/proc/self/fd/${fd}`).endsWith('/messages.jsonl') && left-- <= 0)
    throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })
  return writeSync(fd, ...given)
}
syncBuiltinESMExports()
