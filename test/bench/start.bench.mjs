// Starting with many manifests: what a thousand cost against fifty, and whether the list of tools stays flat. Each start is a process
// of its own. A processor's time says more than a clock where others use the machine too.
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const project = join(dirname(fileURLToPath(import.meta.url)), '../..')
const ROUNDS = 9
const FEW = 50
const MANY = 1_000

export default async function bench() {
  const folder = mkdtempSync(join(tmpdir(), 'vtcode-bench-'))
  try {
    const counts = [FEW, MANY]
    for (const count of counts) plant(join(folder, String(count)), count)
    const times = new Map(counts.map((count) => [count, { new: start(folder, count), known: [] }]))
    for (let round = 0; round < ROUNDS; round++)
      for (const count of counts) times.get(count).known.push(start(folder, count))
    const best = (count, what) => Math.min(...times.get(count).known.map((one) => one[what]))
    const [few, many] = [times.get(FEW), times.get(MANY)]
    const ratio = (what) => best(MANY, what) / best(FEW, what)
    const both = (what, unit = 'ms', digits = 0) =>
      `${best(FEW, what).toFixed(digits)} and ${best(MANY, what).toFixed(digits)} ${unit}`
    return [
      {
        name: `${MANY} manifests against ${FEW}, a program that lists its tools`,
        goal: 2,
        ratio: ratio('program'),
        detail: `processor time, best of ${ROUNDS} processes: ${both('program')}; by the clock ${ratio('clock').toFixed(2)}; manifests never seen before ${(many.new.program / few.new.program).toFixed(2)}`,
      },
      {
        name: `${MANY} manifests against ${FEW}, createKernel alone`,
        goal: 2,
        ratio: ratio('kernel'),
        detail: `processor time: ${both('kernel')}; built again in the same process ${both('again')}`,
      },
      {
        name: `the list of tools again, a tool of ${MANY} against one of ${FEW}`,
        goal: 1.5,
        ratio: ratio('each'),
        detail: `kernel.tools() of the same generation, a tool: ${both('each', 'µs', 3)}; the first list ${both('first', 'ms', 1)}`,
      },
      {
        name: `unified_search tools with a keyword, ${MANY} against ${FEW}`,
        goal: MANY / FEW,
        ratio: ratio('search'),
        detail: `linear is ${MANY / FEW}: ${both('search', 'ms', 2)}`,
      },
    ]
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Actions as people write them: half run a program, half a module of their own. In two folders, of which each may hold 500. */
function plant(root, count) {
  for (const part of ['0', '1', 'work', 'home']) mkdirSync(join(root, part), { recursive: true })
  for (let i = 0; i < count; i++) {
    const file = join(root, String(i % 2), `count_${i}`)
    writeFileSync(
      `${file}.yaml`,
      `name: count_${i}
description: Counts the words of a file, number ${i}.
effects: [read]
input:
  properties:
    path: { type: string, format: workspace-path, description: The file to count. }
    limit: { type: integer, minimum: 1, maximum: 500, default: 50, description: At most so many. }
    kind: { type: string, enum: [words, lines, bytes], default: words, description: What is counted. }
  required: [path]
${i % 4 < 2 ? 'run: [wc, -w, "{path}"]' : `module: ./count_${i}.js`}
`,
    )
    if (i % 4 >= 2) writeFileSync(`${file}.js`, 'export default () => ({ ok: true, output: {} })')
  }
}

function start(folder, count) {
  const began = performance.now()
  const { stdout } = spawnSync(
    process.execPath,
    ['--input-type=module', '-e', program, join(project, 'dist/core/index.js'), join(folder, String(count))],
    {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { PATH: process.env.PATH },
    },
  )
  return { ...JSON.parse(stdout), clock: performance.now() - began }
}

const program = `
const [index, root] = process.argv.slice(1)
const spent = () => { const { user, system } = process.cpuUsage(); return (user + system) / 1000 }
const { createKernel } = await import(index)
const make = () => createKernel({ workspace: root + '/work', home: root + '/home', config: { manifests: ['builtin', root + '/0', root + '/1'] } })
const before = spent()
const kernel = await make()
const made = spent()
const tools = kernel.tools().length
const listed = spent()
const program = listed
for (let i = 0; i < 200; i++) kernel.tools()
const again = performance.now()
for (let i = 0; i < 200; i++) kernel.tools()
const each = ((performance.now() - again) * 1000) / 200 / tools
const ask = () => kernel.call('unified_search', { action: 'tools', keyword: 'count', max_results: 5 })
await ask()
const asked = spent()
for (let i = 0; i < 10; i++) await ask()
const search = (spent() - asked) / 10
let fastest = Infinity
for (let i = 0; i < 10; i++) {
  const began = spent()
  const next = await make()
  fastest = Math.min(fastest, spent() - began)
  await next.close()
}
await kernel.close()
console.log(JSON.stringify({ program, kernel: made - before, first: listed - made, each, search, again: fastest }))
`
