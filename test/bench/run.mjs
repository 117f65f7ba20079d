// Measures the program: `npm run bench [name…]`. Each *.bench.mjs exports `default async () => [{ name, goal, ratio, detail }]`;
// a ratio compares two things measured in this run, so that it means the same on a slow and on a fast machine. One that has more to say
// answers `{ measures, section }`; the section stands behind the table.
// Every bench has a process of its own, or the heap of the first would slow the last.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

if (process.send) {
  const { default: bench } = await import(process.argv[2])
  const found = await bench()
  process.send(Array.isArray(found) ? { measures: found } : found, () => process.exit())
  await new Promise(() => {})
}

const folder = dirname(fileURLToPath(import.meta.url))
const report = join(folder, 'README.md')
const wanted = process.argv.slice(2)
const benches = readdirSync(folder)
  .filter((file) => file.endsWith('.bench.mjs'))
  .map((file) => file.slice(0, -'.bench.mjs'.length))
  .sort()

// They make each start of Node slower, also the bare one that others are held against: reading certificates takes Node 20 as long as starting.
for (const name of ['NODE_EXTRA_CA_CERTS', 'NODE_OPTIONS']) delete process.env[name]

const unknown = wanted.filter((name) => !benches.includes(name))
if (unknown.length > 0) {
  console.error(`There is no bench ${unknown.join(', ')}; known: ${benches.join(', ')}.`)
  process.exit(2)
}

// The project's own Node is 20; what another one measures stands beside it.
const major = process.versions.node.split('.', 1)[0]
const beside = major === '20' ? '' : `, Node ${major}`
const { rows, sections } = previous()
let failed = false
for (const name of wanted.length > 0 ? wanted : benches) {
  process.stderr.write(`${name} …\n`)
  const { measures, section, error } = await inProcess(name)
  if (section) sections.set(name + beside, section)
  failed ||= Boolean(error)
  rows.set(
    name + beside,
    (measures ?? [{ name, goal: Number.NaN, ratio: Number.NaN, detail: `failed: ${error}` }]).map(row),
  )
}

const lines = [...rows]
  .sort(([a], [b]) => (a < b ? -1 : 1))
  .flatMap(([name, cells]) => cells.map((cell) => `| ${name} | ${cell.join(' | ')} |`))
const table = ['| bench | what | measured | goal | holds | how |', '|---|---|---|---|---|---|', ...lines].join('\n')
console.log(table)
writeFileSync(
  report,
  `# Measures

\`npm run bench\` writes this page, on ${cpus().length} cores with Node 20, or the version that a row names. A figure without a unit is a ratio of two things that were measured in the same run.

${table}
${[...sections]
  .sort(([a], [b]) => (a < b ? -1 : 1))
  .map(([name, text]) => `\n## ${name}\n\n${text}\n`)
  .join('')}`,
)
process.exitCode = failed ? 1 : 0

/** What a bench measured, or why it could not; what it prints goes to our stderr. */
async function inProcess(name) {
  const child = fork(fileURLToPath(import.meta.url), [pathToFileURL(join(folder, `${name}.bench.mjs`)).href], {
    stdio: ['ignore', 2, 2, 'ipc'],
    // The same for everything that is compared: some variables, as those of certificates, make every start of Node slower.
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      ...Object.fromEntries(Object.entries(process.env).filter(([name]) => name.startsWith('VTCODE_RACE'))),
    },
    // NaN and Infinity survive structured cloning, not JSON.
    serialization: 'advanced',
  })
  let found
  child.on('message', (message) => (found = message))
  const [code, signal] = await once(child, 'exit')
  return found ?? { error: `its process ended with ${signal ?? code}` }
}

/** One line of the table. `goal` is an upper bound, in the unit of `ratio`. */
function row({ name, goal, ratio, unit = '', detail = '' }) {
  const number = (value) => (Number.isNaN(value) ? '–' : `${Number(value.toPrecision(3))}${unit && ` ${unit}`}`)
  return [name, number(ratio), `≤ ${number(goal)}`, ratio <= goal ? 'yes' : 'no', detail].map((cell) =>
    String(cell).replaceAll('|', '\\|'),
  )
}

/** The rows and sections of benches that are not run this time stay as they were. */
function previous() {
  const [rows, sections] = [new Map(), new Map()]
  let text = ''
  try {
    text = readFileSync(report, 'utf8')
  } catch {
    return { rows, sections }
  }
  const [table, ...more] = text.split(/^## /m)
  for (const part of more) sections.set(part.split('\n', 1)[0], part.slice(part.indexOf('\n')).trim())
  for (const line of table
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .slice(1)) {
    const [name, ...cells] = line.slice(2, -2).split(' | ')
    if (benches.includes(name.split(', ', 1)[0])) rows.set(name, [...(rows.get(name) ?? []), cells])
  }
  return { rows, sections }
}
