// Agents: what a worktree costs against git's own, how soon an agent asks its model, what agents that wait leave in memory.
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openWorkspace } from '../../build/core/workspace/index.js'
import { createWorktree } from '../../build/plugins/lib/worktrees/index.js'
import { versus } from './measure.mjs'
import { inFolder, measuredIn, modelServer, place, withModel } from './scene.mjs'

const FILES = 3000
const SHARED = 8
const SPAWNS = 12

export default async () => [await inFolder(worktrees), ...(await inFolder(children))]

/** Our copy with all that belongs to it, against a worktree of git at the same commit. Each is made anew, and removed outside of the time. */
async function worktrees(folder) {
  const root = join(folder, 'repository')
  mkdirSync(root)
  for (let at = 0; at < FILES; at++) {
    if (at % 30 === 0) mkdirSync(join(root, `d${at / 30}`))
    writeFileSync(
      join(root, `d${Math.floor(at / 30)}`, `f${at}.ts`),
      `line ${at} of a file of some length\n`.repeat(20 + (at % 200)),
    )
  }
  const git = (...args) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b.c', ...args], { cwd: root, stdio: 'ignore' })
  git('init', '-q')
  git('add', '-A')
  git('commit', '-qm', 'one')
  git('repack', '-adq')
  const workspace = openWorkspace(root, { home: join(folder, 'home') })
  let number = 0
  try {
    return await versus(
      `a worktree of ${FILES.toLocaleString('en')} files against \`git worktree add\``,
      1.5,
      () => createWorktree(workspace, { id: `ses_${(number += 1)}`, session: 'ses_parent' }),
      () => git('worktree', 'add', '-q', '--detach', join(folder, `git${(number += 1)}`)),
      5,
    )
  } finally {
    workspace.close()
  }
}

/** Parents and agents by one model: the parent is told by its last message what to start, an agent waits for its answer as long as its message says. */
const answer = `(messages, response, chunk) => {
  const [first] = messages.filter(({ role }) => role === 'user')
  const last = messages.at(-1)
  const end = (delta, reason = 'stop') => response.end(chunk({ role: 'assistant', ...delta }) + chunk({}, reason) + 'data: [DONE]\\n\\n')
  if (/^part/.test(first.content)) return /hold/.test(first.content) ? void (globalThis.held ??= []).push(response) : end({ content: 'Done.' })
  if (last.role === 'tool') return end({ content: 'All are started.' })
  const [, count, how, isolation] = /^start (\\d+) (\\w+) (\\w+)$/.exec(last.content) ?? []
  if (count === undefined) return end({ content: 'Done.' })
  const calls = Array.from({ length: Number(count) }, (_, index) => ({ index, id: 'c' + index + messages.length, type: 'function', function: { name: 'agents', arguments: JSON.stringify({ action: 'spawn', message: 'part of the work: ' + how + ' until it is done', agent: 'explorer', isolation, background: how === 'hold' }) } }))
  end({ tool_calls: calls }, 'tool_calls')
}`

async function children(folder) {
  const { port, worker } = await modelServer(answer)
  try {
    const at = place(folder, withModel(port, { subagents: { max_concurrent: 8, max_total_per_run: 50 } }))
    for (let index = 0; index < 50; index++) writeFileSync(join(at.workspace, `f${index}.txt`), 'line\n'.repeat(50))
    execFileSync('git', ['init', '-q'], { cwd: at.workspace })
    const { spawned, heaps } = await measuredIn(at, program)
    const each = (name, count) => (heaps[name] - heaps.none) / count / 2 ** 20
    const detail = `heap after collection: ${Object.entries(heaps)
      .map(([name, bytes]) => `${name} ${(bytes / 2 ** 20).toFixed(1)}`)
      .join(', ')} MB`
    return [
      {
        name: 'an agent is started, beyond its first request',
        goal: 30,
        ratio: spawned,
        unit: 'ms',
        detail: `median of ${SPAWNS}: from the call to the request of the agent`,
      },
      {
        name: `heap of an agent that waits, of ${SHARED} on the files of the conversation`,
        goal: 8,
        ratio: each('shared', SHARED),
        unit: 'MB',
        detail,
      },
      {
        name: 'heap of an agent that waits in a worktree, with a kernel of its own',
        goal: 20,
        ratio: each('worktree', 1),
        unit: 'MB',
        detail,
      },
    ]
  } finally {
    await worker.terminate()
  }
}

// What an agent costs beyond its first request is the time between the event that its call began and the request itself; fetch is told of both.
const program = `
const asked = []
const seen = async (input, init) => {
  if (String(init?.body ?? '').includes('part of the work')) asked.push(performance.now())
  return fetch(input, init)
}
const settle = async () => { await new Promise((resolve) => setTimeout(resolve, 300)); gc(); gc(); return process.memoryUsage().heapUsed }
const times = []
const talk = await createAgent(kernel, { providers: { fetch: seen }, onEvent: (event) => { if (event.type === 'item.started' && event.item.type === 'tool_invocation') times.push(performance.now()) } })
const spawned = []
for (let round = 0; round < ${SPAWNS} + 3; round++) {
  asked.length = times.length = 0
  await talk.run('start 1 go shared')
  if (round >= 3) spawned.push(asked.find((at) => at > times[0]) - times[0])
}
await talk.close()
const heaps = {}
for (const [name, count] of [['warm', 8], ['none', 0], ['shared', ${SHARED}], ['worktree', 1]]) {
  const holding = await createAgent(kernel, { providers: { fetch: seen } })
  const stop = new AbortController()
  asked.length = 0
  const run = count === 0 ? holding.run('say something') : holding.run('start ' + count + ' hold ' + (name === 'worktree' ? 'worktree' : 'shared'), { signal: stop.signal })
  const until = performance.now() + 20_000
  while (new Set(asked).size < count && performance.now() < until) await new Promise((resolve) => setTimeout(resolve, 20))
  if (asked.length < count) throw new Error(name + ': only ' + asked.length + ' agents asked')
  heaps[name] = await settle()
  stop.abort()
  await run
  await holding.close()
}
delete heaps.warm
await kernel.close()
console.log(JSON.stringify({ spawned: share(spawned), heaps }))
`
