// unified_search against the engines it stands on, over this project's own node_modules and sources.
import { execFile, spawn } from 'node:child_process'
import { utimesSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { rgPath } from '@vscode/ripgrep'
import { createKernel } from 'vtcode'

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..')
const astGrep = createRequire(import.meta.url)('@ast-grep/cli/postinstall.js').resolveBinaryPath()
const rules = ['--no-config', '--no-require-git', '--no-ignore-global']

export default async function bench() {
  // Without the guard against circles: the same call is made again and again.
  const kernel = await createKernel({ workspace: root, mode: 'full-auto', config: { tools: { max_repeated_tool_calls: 0 } } })
  const ours = (input) => async () => {
    const result = await kernel.call('unified_search', input, { session: 'bench' })
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
      ...(await outlines(ours)),
      ...(await structurals(ours)),
      await kept(),
    ]
  } finally {
    await kernel.close()
  }
}

/** What every kind of search leaves in memory, in a process of its own. */
async function kept() {
  const script = `
    import { createKernel } from 'vtcode'
    const kernel = await createKernel({ workspace: ${JSON.stringify(root)}, mode: 'full-auto' })
    const search = (input) => kernel.call('unified_search', input)
    await search({ action: 'agent' })
    const before = process.memoryUsage.rss()
    for (const input of [
      { action: 'grep', pattern: 'function', path: 'node_modules', max_results: 10000 },
      { action: 'list', mode: 'recursive', path: 'node_modules', max_results: 5000 },
      { action: 'outline', path: '.', max_results: 2000 },
      { action: 'outline', path: 'node_modules/typescript/lib/typescript.d.ts', view: 'full' },
      { action: 'structural', lang: 'ts', pattern: '$A ?? $B', path: 'node_modules/zod/src', max_results: 10000 },
      { action: 'structural', lang: 'ts', pattern: 'globalRegistry.$M($$$A)', path: 'node_modules/zod/src' },
    ]) {
      const result = await search(input)
      if (!result.ok) throw new Error(result.error.message)
    }
    console.log((process.memoryUsage.rss() - before) / 1e6)
    await kernel.close()`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script], { cwd: root })
  return { name: 'six searches in a row, memory kept', goal: 150, ratio: Number(stdout), unit: 'MB', detail: 'grown resident set of a process of their own, nothing collected on purpose' }
}

/** A real file of several thousand lines, drawn for the first time, and again; the sources of this program. */
async function outlines(ours) {
  const file = 'node_modules/typescript/lib/lib.es5.d.ts'
  let age = 10
  const fresh = async (input) => {
    // Another time of change makes it another version, which no cache knows.
    utimesSync(join(root, file), new Date(), new Date(Date.now() - 60_000 * age++))
    return ours(input)()
  }
  const native = (...paths) => () => runs(astGrep, ['outline', '--json=stream', '--view', 'expanded', '--items', 'all', ...paths], root)
  const once = { action: 'outline', path: file }
  const folder = { action: 'outline', path: 'plugins', max_results: 2000 }
  return [
    await versus('outline, first', 1.2, () => fresh(once), native(file)),
    await alone('outline, again', 2, ours(once)),
    await versus('outline of a directory, again', 0.1, ours(folder), native('plugins'), 9),
  ]
}

/** A pattern that holds a word every match must hold, and one that does not, over sources that no rule ignores. */
async function structurals(ours) {
  const path = 'node_modules/zod/src'
  const native = (pattern) => () => runs(astGrep, ['run', '--json=stream', '--lang=ts', `--pattern=${pattern}`, '--no-ignore=vcs', path], root)
  const query = (pattern) => ours({ action: 'structural', lang: 'ts', pattern, path })
  return [
    await versus('structural, with a word', 0.35, query('globalRegistry.$M($$$A)'), native('globalRegistry.$M($$$A)'), 9),
    await versus('structural, without', 1.05, query('$A ?? $B'), native('$A ?? $B'), 9),
  ]
}

/** The median of one thing, in milliseconds. */
async function alone(name, goal, run, rounds = 25) {
  const times = []
  for (let round = -3; round < rounds; round++) {
    const start = performance.now()
    await run()
    if (round >= 0) times.push(performance.now() - start)
  }
  return { name, goal, ratio: median(times), unit: 'ms' }
}

/** Both in turn, so that what else the machine does meets both alike; the median of the ratios of neighbours. */
export async function versus(name, goal, one, other, rounds = 15) {
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
