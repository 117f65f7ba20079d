// What the kernel adds to a call: everything between `kernel.call` and a handler that does nothing, with five policies and three
// compactors in the way, against calling the handler itself.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createKernel } from 'vtcode'
import { inTurn } from './measure.mjs'

const CALLS = 20_000
const ROUNDS = 7

export default async function bench() {
  const folder = mkdtempSync(join(tmpdir(), 'vtcode-bench-'))
  try {
    const ours = await perCall(folder, { policies: 5, compactors: 3 })
    const bare = await perCall(folder, { policies: 0, compactors: 0 })
    const all = await perCall(folder, { policies: 0, compactors: 0, builtin: true })
    const aside = await perCall(folder, { policies: 0, compactors: 0, builtin: true, isolate: 'process' })
    const rights = await addedByRights(folder)
    return [
      {
        name: 'a call with 5 policies and 3 compactors',
        goal: 20,
        ratio: ours,
        unit: 'µs',
        detail: `best of ${ROUNDS} × ${CALLS} calls; without any ${bare.toFixed(1)} µs; with all the built-in ones, which keep a record of every call, ${all.toFixed(1)} µs; and to a module of others, in its own process, ${aside.toFixed(0)} µs`,
      },
      {
        name: 'what `mode` and `only` add to a call',
        goal: 2,
        ratio: rights.added,
        unit: 'µs',
        detail: `${rights.ratio.toFixed(3)} × the processor time of ${rights.rounds} × ${rights.calls} calls without them, in turn on one kernel with all built-in policies; of these the best took ${rights.without.toFixed(1)} µs`,
      },
    ]
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Calls with rights of their own and without, in turn on one kernel. */
async function addedByRights(folder) {
  const [calls, rounds] = [1_000, 201]
  const plugins = join(folder, 'rights')
  mkdirSync(plugins)
  writeFileSync(
    join(plugins, 'nothing.yaml'),
    'name: nothing\ndescription: Does nothing.\neffects: [read]\ninput: { properties: { text: { type: string } } }\nmodule: ./nothing.js\n',
  )
  writeFileSync(join(plugins, 'nothing.js'), 'export default () => ({ ok: true, output: { done: true } })')
  const kernel = await createKernel({
    workspace: folder,
    home: folder,
    mode: 'auto',
    config: { manifests: [plugins], plugins: { isolate: 'inline' }, tools: { max_repeated_tool_calls: 0 } },
  })
  // As a thread does it: the same object with every call.
  const options = {
    mode: 'ask',
    only: { tools: ['nothing', 'unified_search', 'unified_file/read'], writes: ['src/**'] },
  }
  const run = (how) => async () => {
    for (let i = 0; i < calls; i++) await kernel.call('nothing', { text: 'x' }, how)
  }
  const refused = (
    await Promise.all([kernel.call('nothing', { text: 'x' }, options), kernel.call('nothing', { text: 'x' })])
  ).find(({ ok }) => !ok)
  if (refused) throw new Error(refused.error.message)
  const [plain, narrowed] = await inTurn([run({}), run(options)], rounds)
  await kernel.close()
  const each = (ms) => (ms * 1000) / calls
  const [without, ratio] = [each(Math.min(...plain.times)), narrowed.spent / plain.spent]
  return { calls, rounds, added: (ratio - 1) * without, without, ratio }
}

async function perCall(folder, { policies, compactors, builtin = false, isolate = 'inline' }) {
  const plugins = join(folder, `${policies}-${compactors}-${builtin}-${isolate}`)
  mkdirSync(plugins)
  const put = (name, fields, code) => {
    writeFileSync(join(plugins, `${name}.yaml`), `name: ${name}\n${fields}module: ./${name}.js\n`)
    writeFileSync(join(plugins, `${name}.js`), code)
  }
  put(
    'nothing',
    'description: Does nothing.\neffects: [read]\ninput: { properties: { text: { type: string } } }\n',
    'export default () => ({ ok: true, output: { done: true } })',
  )
  for (let i = 0; i < policies; i++) put(`policy_${i}`, 'kind: policy\n', 'export default () => undefined')
  for (let i = 0; i < compactors; i++) put(`compactor_${i}`, 'kind: compactor\n', 'export default (result) => result')
  const kernel = await createKernel({
    workspace: folder,
    home: folder,
    config: { manifests: builtin ? [plugins] : ['!builtin:*', plugins], plugins: { isolate } },
  })
  const result = await kernel.call('nothing', { text: 'x' })
  if (!result.ok) throw new Error(result.error.message)
  let best = Infinity
  for (let round = 0; round < ROUNDS; round++) {
    const started = performance.now()
    for (let i = 0; i < CALLS; i++) await kernel.call('nothing', { text: 'x' })
    best = Math.min(best, ((performance.now() - started) * 1000) / CALLS)
  }
  await kernel.close()
  return best
}
