// How the benches measure: things in turn, so that what else the machine does meets all alike.
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'

/**
 * The median of the ratios of neighbours by the clock, and in `detail` the ratio by the processor time of this process and of the
 * programs it started, which a busy machine changes less.
 */
export async function versus(name, goal, one, other, rounds = 15, warm = 3) {
  const [ones, others] = await inTurn([one, other], rounds, warm)
  const ratio = median(ones.times.map((time, round) => time / others.times[round]))
  const [times, spent] = [
    `${median(ones.times).toFixed(1)} ms against ${median(others.times).toFixed(1)} ms`,
    (ones.spent / others.spent).toFixed(2),
  ]
  return { name, goal, ratio, detail: process.platform === 'linux' ? `${times}; by processor time ${spent}` : times }
}

/** The times of each, in milliseconds, and the processor time that each took in all; rounds before those are not counted. */
export async function inTurn(runs, rounds, warm = 3) {
  const measured = runs.map(() => ({ times: [], spent: 0 }))
  for (let round = -warm; round < rounds; round++) {
    for (const [index, run] of runs.entries()) {
      const [start, before] = [performance.now(), spent()]
      await run()
      if (round < 0) continue
      measured[index].times.push(performance.now() - start)
      measured[index].spent += spent() - before
    }
  }
  return measured
}

/** The median of one thing, in milliseconds. */
export async function alone(name, goal, run, rounds = 25) {
  const [{ times }] = await inTurn([run], rounds)
  return { name, goal, ratio: median(times), unit: 'ms' }
}

/** A goal for Node 20, and one for later versions, which start sooner themselves. */
export const byNode = (on20, later) => (process.versions.node.startsWith('20.') ? on20 : later)

export const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1]

/** Milliseconds of processor time of this process, and of the programs that it started and that ended; these in steps of 10. */
function spent() {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000 + children()
}

function children() {
  if (process.platform !== 'linux') return 0
  const stat = readFileSync('/proc/self/stat', 'utf8')
  // Behind the name, which may hold anything: state is the third field, and the 16th and 17th are ticks of a hundredth second.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return 10 * (Number(fields[13]) + Number(fields[14]))
}

/** A program to its end, its output read and dropped. */
export const runs = (file, args, cwd) =>
  new Promise((resolve, reject) => {
    const child = spawn(file, args, { cwd, stdio: ['ignore', 'pipe', 'ignore'] })
    child.stdout.resume()
    child.once('error', reject)
    child.once('close', resolve)
  })
