// Ends the program with SIGKILL right after the n-th write to the journal: `node --import`, n in KILL_AFTER. With KILL_AT=step every step
// counts that leaves something in .vtcode or in the workspace: writes to logs, and files that get their name. STEPS names a file that
// gets their number.
import fs, { readlinkSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

const every = process.env.KILL_AT === 'step'
const log = every ? /\.jsonl$/ : /\/messages\.jsonl$/
const { writeSync } = fs
let done = 0
function step() {
  done += 1
  if (process.env.STEPS) fs.writeFileSync(process.env.STEPS, String(done))
  if (done === Number(process.env.KILL_AFTER)) process.kill(process.pid, 'SIGKILL')
}
fs.writeSync = (fd, ...given) => {
  const written = writeSync(fd, ...given)
  if (fd > 2 && log.test(readlinkSync(`/proc/self/fd/${fd}`))) step()
  return written
}
if (every) {
  for (const [place, name] of [fs, fs.promises].flatMap((place) =>
    ['rename', 'link', 'unlink', 'renameSync', 'linkSync', 'unlinkSync'].map((name) => [place, name]),
  )) {
    const original = place[name]
    if (!original || (place === fs && !name.endsWith('Sync'))) continue
    place[name] = name.endsWith('Sync')
      ? (...given) => (original(...given), step())
      : async (...given) => {
          await original(...given)
          step()
        }
  }
}
syncBuiltinESMExports()
