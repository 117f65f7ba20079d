import { execFileSync, type ChildProcess } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { eventually } from './exec.js'
import { hold } from './held.js'
import { home, startPeer, vtcode, type Home } from './peer.js'

export const secret = 'a secret of at least 16 characters'
const distributed = (url: string, more = {}) => ({
  settings: {
    automation: { distributed: { enabled: true, url, secret, ...more } },
    policy: { allow: ['unified_exec/run'] },
  },
})
/** Makes a git repository with settings for other machines. */
export async function remoteScene(script: Parameters<typeof startPeer>[0], files = {}, url = 'memory:', more = {}) {
  const peer = hold(await startPeer(script))
  const place = hold(await home(peer, files, distributed(url, more)))
  execFileSync('git', ['init', '-q'], { cwd: place.root })
  return { peer, place }
}
/** Lists copies of files that a run left. */
export const leftovers = (place: Home): string[] => {
  const folder = join(place.root, '.vtcode/worktrees')
  return existsSync(folder) ? readdirSync(folder).filter((name) => name !== '.gitignore') : []
}

export const quick = { lock_ms: 5000, stalled_ms: 1000 }
/** Starts `vtcode worker` as a process with the home of a place, and waits until it is ready. */
export async function startWorker(place: Home, ...flags: string[]): Promise<ChildProcess> {
  let child: ChildProcess | undefined
  let ready = false
  const ran = vtcode(place, ['worker', '--json', ...flags], {
    started: (one) => {
      child = one
      one.stdout!.on('data', () => (ready = true))
    },
  })
  hold({
    async [Symbol.asyncDispose]() {
      child?.kill('SIGKILL')
      await ran
    },
  })
  await eventually(() => ready)
  return child!
}
/** Runs a command of `vtcode queue` and returns its JSON. */
export const askQueue = async (place: Home, ...args: string[]): Promise<any> =>
  JSON.parse((await vtcode(place, ['queue', ...args, '--json'])).out)
