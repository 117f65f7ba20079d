// The race: what a finished task costs in tokens, ours and others' agents on the same twenty tasks, against one scripted model.
// VTCODE_RACE=vtcode,pi names the agents; VTCODE_RACE_AT is a folder where they are installed already.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { agents } from './tokens/agents.mjs'
import { inOrder, raced } from './tokens/race.mjs'
import { startModel } from './tokens/model.mjs'
import { tasks } from './tokens/tasks.mjs'

const sum = (all) => all.reduce((a, b) => a + b, 0)
const wanted = process.env.VTCODE_RACE?.split(',')
const only = process.env.VTCODE_RACE_TASKS?.split(',')

export default async function bench() {
  const installs = process.env.VTCODE_RACE_AT ?? mkdtempSync(join(tmpdir(), 'vtcode-race-'))
  const root = join(tmpdir(), 'vtcode-race')
  const model = await startModel()
  try {
    const { encode } = createRequire(join(install(installs, 'gpt-tokenizer'), 'x.js'))('gpt-tokenizer/encoding/o200k_base')
    const runs = new Map()
    for (const agent of agents.filter(({ name }) => !wanted || wanted.includes(name))) {
      const at = agent.package && install(installs, agent.package)
      const rows = []
      for (const task of tasks.filter((_, i) => !only || only.includes(String(i + 1)))) {
        const run = await raced(model, agent, task, { root, at, tokensOf: encode })
        if (agent.own) run.bodies = model.state.requests.map(({ body }) => inOrder(body)).join('\n')
        if (agent.own) run.again = (await raced(model, agent, task, { root, at, tokensOf: encode }), model.state.requests.map(({ body }) => inOrder(body)).join('\n')) === run.bodies
        process.stderr.write(`${agent.name}: ${task.id}: ${run.requests} requests, ${run.bytes} bytes, ${run.finished ? 'finished' : `lost: ${[...run.lost, ...run.wrong, run.unfinished ? 'steps' : ''].join(', ')} ${run.said.slice(-300)}`}${run.again === false ? ', NOT THE SAME TWICE' : ''}\n`)
        rows.push({ task, run })
      }
      runs.set(agent.name, rows)
    }
    if (process.env.VTCODE_RACE_DUMP) writeFileSync(process.env.VTCODE_RACE_DUMP, JSON.stringify([...runs].map(([name, rows]) => [name, rows.map(({ task, run }) => ({ id: task.id, ...run }))])))
    return { measures: measures(runs), section: section(runs) }
  } finally {
    model.close()
    rmSync(root, { recursive: true, force: true })
    if (!process.env.VTCODE_RACE_AT) rmSync(installs, { recursive: true, force: true })
  }
}

/** The folder with a package, installed where it is not there. */
function install(folder, name) {
  const at = join(folder, name.replace(/[@/]/g, '_'))
  if (existsSync(join(at, 'node_modules', name))) return at
  mkdirSync(at, { recursive: true })
  writeFileSync(join(at, 'package.json'), '{"private":true}')
  execFileSync('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', name], { cwd: at, stdio: 'ignore' })
  return at
}

/** Ours against the cheapest that finishes, on the tasks that a peer finishes. */
function measures(runs) {
  const ours = runs.get('vtcode') ?? []
  const peers = [...runs].filter(([name]) => name !== 'vtcode')
  const raced = ours.flatMap(({ run }, i) => {
    const finished = peers.map(([, rows]) => rows[i]?.run).filter((one) => one?.finished)
    return finished.length > 0 ? [{ run, best: (key) => Math.min(...finished.map((one) => one[key])) }] : []
  })
  const ratio = (key) => sum(raced.map(({ run }) => run[key])) / sum(raced.map(({ best }) => best(key)))
  const pi = runs.get('pi') ?? []
  const dearer = ours.filter(({ run }, i) => pi[i]?.run.finished && run.tokens > pi[i].run.tokens)
  const failed = ours.filter(({ run }) => !run.finished)
  return [
    { name: 'tokens of all tasks, against the cheapest peer that finishes each', goal: 0.8, ratio: ratio('tokens'), detail: `${raced.length} tasks; by bytes ${ratio('bytes').toFixed(2)}` },
    { name: 'the same, a repeated prefix at a tenth', goal: 0.7, ratio: ratio('prefixed_tokens'), detail: `by bytes ${ratio('prefixed_bytes').toFixed(2)}` },
    { name: 'tasks on which pi is cheaper', goal: 0, ratio: dearer.length, detail: dearer.map(({ task }) => task.id).join('; ') },
    { name: 'tasks that ours does not finish', goal: 0, ratio: failed.length, detail: failed.map(({ task, run }) => `${task.id}: ${[...run.lost, ...run.wrong].join(', ')}`).join('; ') },
    { name: 'tasks whose requests differ in a second run', goal: 0, ratio: ours.filter(({ run }) => run.again === false).length, detail: ours.filter(({ run }) => run.again === false).map(({ task }) => task.id).join('; ') },
    { name: 'first request of exec', goal: 1800, ratio: ours[0]?.run.firstTokens ?? NaN, unit: 'tokens', detail: `${ours[0]?.run.first} bytes, in a folder of two files` },
  ]
}

function section(runs) {
  const head = ['| agent | task | requests | bytes | o200k | prefix at a tenth: bytes | o200k | bytes of results | end |', '|---|---|---|---|---|---|---|---|---|']
  const round = (n) => Math.round(n)
  const rows = [...runs].flatMap(([name, all]) => all.map(({ task, run }) => `| ${name} | ${task.id} | ${run.requests} | ${run.bytes} | ${run.tokens} | ${round(run.prefixed_bytes)} | ${round(run.prefixed_tokens)} | ${run.results} | ${run.finished ? 'reached, all facts seen' : `lost: ${[...run.lost, ...run.wrong, ...(run.unfinished ? ['steps left'] : [])].join(', ')}`} |`))
  return [...head, ...rows].join('\n')
}
