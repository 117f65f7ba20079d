// One agent on one task, and what its requests took.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { hasTools, summary, textIn } from './model.mjs'

/** A busy machine makes forty steps of a slow agent long. */
const LONGEST = 600_000

/** Runs a task to its end in a folder of a fixed name, and says what was sent, seen and left behind. */
export async function raced(model, agent, task, { root, at, tokensOf }) {
  const [work, home] = [join(root, 'work'), join(root, 'home')]
  plant(task, { work, home })
  const window = task.window ?? 200_000
  const calls = ({ ours, peer }) =>
    (agent.own ? ours : peer).map((step) =>
      typeof step === 'function' ? (seen) => step(seen).flatMap(agent.speak) : step.flatMap(agent.speak),
    )
  agent.setup({ home, url: model.url, window })
  model.begin(calls(task), window)
  const how = { work, home, at, url: model.url, window }
  const said = await ended(agent.command({ ...how, question: task.question }), how)
  if (task.then) {
    model.continueWith(calls(task.then))
    await ended(agent.command({ ...how, question: task.then.question, again: true }), how)
  }
  return { ...measured(model.state.requests, tokensOf), ...judged(task, model.state, work), said }
}

/** A task run twice: `again` says whether both times the same was sent. */
export async function twice(model, agent, task, how) {
  const run = await raced(model, agent, task, how)
  const first = sent(model)
  await raced(model, agent, task, how)
  return { ...run, again: sent(model) === first }
}

const sent = ({ state }) => state.requests.map(({ text }) => text).join('\n')

/** The folders of a task, empty. They stay the same ones: names of spooled output bear a mark that is made with the folder's inode. */
export function plant(task, { work, home }) {
  for (const folder of [work, home]) {
    mkdirSync(folder, { recursive: true })
    for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true, force: true })
  }
  for (const [path, content] of Object.entries(task.files)) {
    mkdirSync(dirname(join(work, path)), { recursive: true })
    writeFileSync(join(work, path), content)
  }
}

async function ended({ argv: [file, ...args], env }, { work, home }) {
  const child = spawn(file, args, {
    cwd: work,
    env: { PATH: process.env.PATH, HOME: home, TERM: 'dumb', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  let said = ''
  for (const out of [child.stdout, child.stderr]) out.on('data', (chunk) => (said = (said + chunk).slice(-2_000)))
  const end = () => {
    try {
      process.kill(-child.pid, 'SIGKILL')
    } catch {
      /* It has ended. */
    }
  }
  const limit = setTimeout(end, LONGEST)
  await new Promise((resolve) => child.once('exit', resolve).once('error', resolve))
  clearTimeout(limit)
  end()
  return said
}

/** A request in the order in which servers remember: tools, instructions, conversation, the rest. */
function inOrder({ tools, system, systemInstruction, instructions, messages, input, contents, ...rest }) {
  return JSON.stringify({ tools, system, systemInstruction, instructions, messages, input, contents, rest })
}

export function measured(requests, tokensOf) {
  const sum = {
    requests: requests.length,
    bytes: 0,
    tokens: 0,
    prefixed_bytes: 0,
    prefixed_tokens: 0,
    results: 0,
    first: requests[0]?.text.length ?? 0,
  }
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

/** What is missing of a task: facts that no answer held, and the paths in which the folder is not as it has to be. */
export function judged(task, { requests, seen, at, steps }, work) {
  const all = seen.join('\n')
  const lost = task.facts.filter((fact) => !all.includes(fact))
  if (task.picture && !requests.some(({ body }) => textIn(body).includes(task.picture))) lost.push('the picture')
  if (task.compacted && !requests.some(({ body }) => hasTools(body) && textIn(body).includes(summary)))
    lost.push('a compaction')
  const wanted = hashes(Object.entries({ ...task.files, ...task.end }).filter(([, content]) => content !== undefined))
  const found = hashes(filesIn(work).map((path) => [path, readFileSync(join(work, path))]))
  const wrong = [...new Set([...wanted.keys(), ...found.keys()])].filter((path) => wanted.get(path) !== found.get(path))
  const unfinished = at <= steps.findLastIndex((step) => typeof step !== 'function')
  return { lost, wrong, unfinished, finished: lost.length === 0 && wrong.length === 0 && !unfinished }
}

const hashes = (entries) =>
  new Map(entries.map(([path, content]) => [path, createHash('sha256').update(content).digest('hex')]))
/** Files below a folder; what agents keep for themselves lies in folders with a dot. */
function filesIn(work) {
  const all = readdirSync(work, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  return all
    .map(({ parentPath, path, name }) => join(parentPath ?? path, name).slice(work.length + 1))
    .filter((path) => !path.startsWith('.'))
}
