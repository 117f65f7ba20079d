// unified_search against the engines it stands on, over this project's own node_modules and sources.
import { spawn } from 'node:child_process'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rgPath } from '@vscode/ripgrep'
import { createKernel } from 'vtcode'

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..')
const rules = ['--no-config', '--no-require-git', '--no-ignore-global']

export default async function bench() {
  const kernel = await createKernel({ workspace: root, mode: 'full-auto', config: { policy: {} } })
  const ours = (input) => async () => {
    const result = await kernel.call('unified_search', input)
    if (!result.ok) throw new Error(result.error.message)
    return result.output
  }
  const rg = (...args) => () => runs(rgPath, [...rules, ...args], join(root, 'node_modules'))
  const grep = (pattern, more = {}) => ours({ action: 'grep', pattern, path: 'node_modules', ...more })
  try {
    return [
      await versus('grep, a name', 1.15, grep('createSourceFile'), rg('-S', '-e', 'createSourceFile', './')),
      await versus('grep, a regular expression', 1.15, grep('create[A-Z]\\w+File\\('), rg('-S', '-e', 'create[A-Z]\\w+File\\(', './')),
      await versus('grep, a word on 40,000 lines', 1.15, grep('function'), rg('-S', '-e', 'function', './')),
      await versus('grep, nothing', 1.15, grep('zzqqy'), rg('-S', '-e', 'zzqqy', './')),
      await versus('list recursive', 1.3, ours({ action: 'list', mode: 'recursive', path: 'node_modules' }), rg('--files')),
    ]
  } finally {
    await kernel.close()
  }
}

/** Both in turn, so that what else the machine does meets both alike; the median of the ratios of neighbours. */
export async function versus(name, goal, one, other, rounds = 25) {
  const [ones, others] = [[], []]
  for (let round = -3; round < rounds; round++) {
    for (const [run, times] of [[one, ones], [other, others]]) {
      const start = performance.now()
      await run()
      if (round >= 0) times.push(performance.now() - start)
    }
  }
  const ratio = median(ones.map((time, round) => time / others[round]))
  return { name, goal, ratio, detail: `${median(ones).toFixed(1)} ms against ${median(others).toFixed(1)} ms` }
}

export const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1]

/** A program to its end, its output read and dropped. */
export const runs = (file, args, cwd) =>
  new Promise((resolve, reject) => {
    const child = spawn(file, args, { cwd, stdio: ['ignore', 'pipe', 'ignore'] })
    child.stdout.resume()
    child.once('error', reject)
    child.once('close', resolve)
  })
