// One agent on one task, and what its requests took.
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { textIn } from './model.mjs'

const LONGEST = 120_000

/** Runs a task to its end in a folder of a fixed name, and says what was sent, seen and left behind. */
export async function raced(model, agent, task, { root, at, tokensOf }) {
  const [work, home] = [join(root, 'work'), join(root, 'home')]
  for (const folder of [work, home]) {
    rmSync(folder, { recursive: true, force: true })
    mkdirSync(folder, { recursive: true })
  }
  for (const [path, content] of Object.entries(task.files)) {
    mkdirSync(dirname(join(work, path)), { recursive: true })
    writeFileSync(join(work, path), content)
  }
  const window = task.window ?? 200_000
  const calls = ({ ours, peer }) => (agent.own ? ours : peer).map((step) => (typeof step === 'function' ? (seen) => step(seen).flatMap(agent.speak) : step.flatMap(agent.speak)))
  agent.setup({ home, url: model.url, window })
  model.begin(calls(task))
  const how = { work, home, at, url: model.url, window }
  const said = await ended(agent.command({ ...how, question: task.question }), how)
  if (task.then) {
    model.continueWith(calls(task.then))
    await ended(agent.command({ ...how, question: task.then.question, again: true }), how)
  }
  return { ...measured(model.state.requests, tokensOf), ...judged(task, model.state, work), said }
}

async function ended({ argv: [file, ...args], env }, { work, home }) {
  const child = spawn(file, args, { cwd: work, env: { PATH: process.env.PATH, HOME: home, TERM: 'dumb', ...env }, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
  let said = ''
  for (const out of [child.stdout, child.stderr]) out.on('data', (chunk) => (said = (said + chunk).slice(-2_000)))
  const end = () => { try { process.kill(-child.pid, 'SIGKILL') } catch { /* It has ended. */ } }
  const limit = setTimeout(end, LONGEST)
  await new Promise((resolve) => child.once('exit', resolve).once('error', resolve))
  clearTimeout(limit)
  end()
  return said
}

/** A request in the order in which servers remember: tools, instructions, conversation, the rest. */
export function inOrder({ tools, system, systemInstruction, instructions, messages, input, contents, ...rest }) {
  return JSON.stringify({ tools, system, systemInstruction, instructions, messages, input, contents, rest })
}

function measured(requests, tokensOf) {
  const sum = { requests: requests.length, bytes: 0, tokens: 0, prefixed_bytes: 0, prefixed_tokens: 0, results: 0, first: requests[0]?.text.length ?? 0 }
  sum.firstTokens = requests[0] ? tokensOf(requests[0].text).length : 0
  let before = { text: Buffer.alloc(0), tokens: [] }
  for (const { body, results } of requests) {
    const text = Buffer.from(inOrder(body))
    const tokens = tokensOf(text.toString('utf8'))
    sum.bytes += text.length
    sum.tokens += tokens.length
    sum.prefixed_bytes += text.length - 0.9 * common(before.text, text)
    sum.prefixed_tokens += tokens.length - 0.9 * common(before.tokens, tokens)
    sum.results += results.reduce((all, result) => all + Buffer.byteLength(result), 0)
    before = { text, tokens }
  }
  return sum
}

function common(a, b) {
  let at = 0
  while (at < a.length && at < b.length && a[at] === b[at]) at++
  return at
}

function judged(task, { requests, seen, at, steps }, work) {
  const all = seen.join('\n')
  const lost = task.facts.filter((fact) => !all.includes(fact))
  const pictures = requests.map(({ body }) => textIn(body)).join('')
  if (task.picture && !pictures.includes(task.picture)) lost.push('the picture')
  if (task.compacted && !requests.some(({ body }) => textIn(body).includes('Summary: the files were read'))) lost.push('a compaction')
  const wrong = Object.entries(task.end ?? {}).filter(([path, content]) => (existsSync(join(work, path)) ? readFileSync(join(work, path), 'utf8') : undefined) !== content)
  return { lost, wrong: wrong.map(([path]) => path), unfinished: at < steps.findLastIndex((step) => typeof step !== 'function') + 1, finished: lost.length === 0 && wrong.length === 0 && at > steps.findLastIndex((step) => typeof step !== 'function') }
}
