// Ends the program with SIGKILL right after the n-th write to the journal: `node --import`, n in KILL_AFTER.
import fs, { readlinkSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

const { writeSync } = fs
let left = Number(process.env.KILL_AFTER)
fs.writeSync = (fd, ...given) => {
  const written = writeSync(fd, ...given)
  if (fd > 2 && readlinkSync(`/proc/self/fd/${fd}`).endsWith('/messages.jsonl') && --left === 0) process.kill(process.pid, 'SIGKILL')
  return written
}
syncBuiltinESMExports()
