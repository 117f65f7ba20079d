// `npm test`: the whole suite, the named files (`npm test -- test/core/kernel`), or what a change can affect (`npm test -- changed [COMMIT]`).
import { execFileSync, spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findAffected } from './affected.mjs'
import { sweepRun } from './sweep.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
/** Seconds of test files, added up, that `changed` runs: about a minute on two processors. */
const BUDGET_S = 50
/** Assumed for a file that has not been run in this checkout yet. */
const UNKNOWN_S = 2
/** Time for workers to end their tests after an interrupt, before all processes of the run are killed. */
const INTERRUPT_GRACE_MS = 5000

const [first, ...rest] = process.argv.slice(2)
const args = first === 'changed' ? selectChanged(rest) : process.argv.slice(2)
if (args) runVitest(args)

/** Returns the arguments of vitest for the tests that differ from `commit`, or may be affected by a difference; none where there is no difference. */
function selectChanged([commit = 'HEAD', ...options]) {
  const git = (...words) => execFileSync('git', words, { cwd: root, encoding: 'utf8' }).split('\0').filter(Boolean)
  const changed = [
    ...new Set([
      ...git('diff', '--name-only', '-z', commit, '--'),
      ...git('ls-files', '-z', '--others', '--exclude-standard'),
    ]),
  ]
  if (changed.length === 0) {
    console.log(`Nothing differs from ${commit}; no test to run.`)
    return undefined
  }
  const affected = findAffected(root, changed)
  const seconds = readDurations()
  const chosen = []
  let sum = 0
  for (const { file, distance } of affected) {
    sum += seconds.get(file) ?? UNKNOWN_S
    if (distance > 0 && sum > BUDGET_S) break
    chosen.push(file)
  }
  const left = affected.length - chosen.length
  console.log(
    `${changed.length} changed files can affect ${affected.length} test files; running the ${chosen.length} nearest${left > 0 ? `, leaving out ${left} (npm test runs all)` : ''}.`,
  )
  return chosen.length > 0 ? [...chosen, ...options] : undefined
}

/** Seconds of each test file in the last run that vitest remembers. */
function readDurations() {
  const cache = join(root, 'node_modules/.vite/vitest')
  if (!existsSync(cache)) return new Map()
  const files = readdirSync(cache)
    .map((name) => join(cache, name, 'results.json'))
    .filter((file) => existsSync(file))
  const results = files.flatMap((file) => JSON.parse(readFileSync(file, 'utf8')).results)
  return new Map(results.map(([name, { duration }]) => [name.replace(/^.*?:/, ''), duration / 1000]))
}

/** Runs vitest to its end and ends with its exit code. An interrupted run leaves no process and no folder. */
function runVitest(words) {
  const vitest = spawn(
    process.execPath,
    [join(root, 'node_modules/vitest/vitest.mjs'), 'run', '--config', 'test/vitest.config.ts', ...words],
    { cwd: root, stdio: 'inherit' },
  )
  let signalled
  const interrupt = (signal) => {
    if (signalled) vitest.kill('SIGKILL')
    signalled = signal
    vitest.kill(signal)
    setTimeout(() => vitest.kill('SIGKILL'), INTERRUPT_GRACE_MS).unref()
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, interrupt)
  vitest.on('close', async (code) => {
    await sweepRun(vitest.pid)
    process.exit(signalled ? 130 : (code ?? 1))
  })
}
