#!/usr/bin/env bash
# bullmq 6.7.0, ioredis 6.0.0, redis-server 7: a worker whose lock was taken over still writes to the job; only its result is refused.
#
# Expected: once another worker holds the job, `log`, `updateProgress` and `updateData` of the first worker are refused like its result.
# Seen:  all three succeed and appear in the job; `moveToCompleted` alone rejects. `attemptsStarted` has grown to 2 for the second worker.
# Consequence here: each line carries the number of its lease, and readers drop lines of an older lease after the first line of a newer one.
set -euo pipefail
work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server"; rm -rf "$work"' EXIT
cd "$work"
port=$(node -e 'const s=require("net").createServer().listen(0,"127.0.0.1",()=>{console.log(s.address().port);s.close()})')
redis-server --port "$port" --bind 127.0.0.1 --dir "$work" --save '' >/dev/null &
server=$!
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts bullmq@6.7.0 ioredis@6.0.0 >/dev/null
cat >run.mjs <<'EOF'
import { Queue, Worker } from 'bullmq'
const connection = { host: '127.0.0.1', port: Number(process.argv[2]), maxRetriesPerRequest: null }
const queue = new Queue('q', { connection })
await queue.add('n', { by: 'owner' }, { jobId: 'one' })
const options = { connection, autorun: false, lockDuration: 500, stalledInterval: 200, skipLockRenewal: true }
const first = new Worker('q', null, options)
const lost = await first.getNextJob('token-1')
const second = new Worker('q', null, options)
await second.startStalledCheckTimer()
let taken
while (!(taken = await second.getNextJob('token-2', { block: false }))) await new Promise((done) => setTimeout(done, 50))
const attempt = async (name, call) => console.log(`${name}: ${await call().then(() => 'taken', () => 'refused')}`)
console.log(`attemptsStarted: ${taken.attemptsStarted}`)
await attempt('log', () => lost.log('late line'))
await attempt('updateProgress', () => lost.updateProgress(99))
await attempt('updateData', () => lost.updateData({ by: 'late worker' }))
await attempt('moveToCompleted', () => lost.moveToCompleted('late result', 'token-1', false))
const job = await queue.getJob('one')
console.log(`stored: ${(await queue.getJobLogs('one')).logs} ${job.progress} ${job.data.by} ${await job.getState()}`)
process.exit()
EOF
node run.mjs "$port" | tee seen
diff - seen <<'EOF'
attemptsStarted: 2
log: taken
updateProgress: taken
updateData: taken
moveToCompleted: refused
stored: late line 99 late worker active
EOF
