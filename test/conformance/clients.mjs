#!/usr/bin/env node
/**
 * Our server in the clients of others: `node test/conformance/clients.mjs [--only NAME]` installs each from npm into ~/.cache, lets it write its own settings,
 * has `vtcode setup` enter us, and drives it with a model that follows a script: list, one read, one grep, one edit, without a rule and with one.
 * Writes the section `clients` of docs/compatibility.md and, of each client, what it wrote (test/fixtures/clients/). Run by hand: it takes minutes and needs npm.
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
import { programs, put } from './programs.mjs'
import { table, writeSection } from './table.mjs'

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
  const options = (env) => ({ cwd: work, env: { PATH: `${bin}:${process.env.PATH}`, HOME: home, ...env }, extendEnv: false, reject: false, timeout: 120_000, stdin: 'ignore', all: true })
  const run = async (words, env = {}) => {
    const [command, ...first] = program.start(at)
    return execa(command, [...first, ...words], options(env))
  }
  program.agree?.({ home, work })
  const setup = (flags = [], cwd = work) => execa(process.execPath, [own, '--workspace', cwd, 'setup', program.client, '--yes', ...flags], options())
  try {
    return await body({ home, work, run, setup, file: program.file({ home, work }) })
  } finally {
    rmSync(root, { recursive: true, force: true, maxRetries: 5 })
  }
}

async function install(name) {
  const at = join(cache, name.replace(/[/@]/g, '_'))
  mkdirSync(at, { recursive: true })
  const installed = () => JSON.parse(readFileSync(join(at, 'node_modules', name, 'package.json'), 'utf8')).version
  if (!existsSync(join(at, 'node_modules', name))) await execa('npm', ['install', '--prefix', at, '--ignore-scripts', '--no-audit', '--no-fund', name], { cwd: at })
  return installed()
}

/** What the client itself writes, before us and after us; what `vtcode setup` says of it; whether `--undo` leaves the rest. */
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
const offered = ({ tools = [] }) => tools.flatMap((tool) => {
  if (tool.functionDeclarations) return tool.functionDeclarations
  if (tool.type === 'namespace') return tool.tools.map((inner) => ({ ...inner, namespace: tool.name }))
  return [tool.function ?? tool]
})
const named = (tools, end) => tools.find(({ name }) => name?.endsWith(end))

const deeds = {
  read: { tools: ['unified_file_read', 'unified_file'], input: { action: 'read', path: 'src/greet.js' }, done: (text) => text.includes('return `hello ${name}`') },
  grep: { tools: ['unified_search'], input: { action: 'grep', pattern: 'greet', path: 'src' }, done: (text) => /src\/greet\.js/.test(text) && /export function greet/.test(text) },
  edit: { tools: ['unified_file'], input: { action: 'edit', path: 'src/greet.js', old_str: 'hello', new_str: 'good day' }, done: (_, { work }) => readFileSync(join(work, 'src/greet.js'), 'utf8').includes('good day') },
}

/** One task: the model reads, greps and edits; what became of each. */
async function task(program, allowed) {
  const model = await startModel()
  const seen = {}
  const step = (deed) => () => {
    const tools = offered(model.state.requests.at(-1).body)
    const { tools: names, input } = deeds[deed]
    const tool = names.map((name) => named(tools, name)).find(Boolean)
    seen[deed] = { listed: tool !== undefined }
    // A client may keep the tools of servers back until the model asks for them by name; then they are called by the name it would have.
    return [{ name: tool?.name ?? `mcp__vtcode__${names.at(-1)}`, ...(tool?.namespace && { namespace: tool.namespace }), input: names[0] === 'unified_file_read' && tool?.name.endsWith('_read') ? { path: input.path } : input }]
  }
  try {
    return await within(program, async (here) => {
      await program.prepare({ ...here, url: model.url })
      await here.setup()
      if (allowed) program.allow?.(here)
      const { words, env } = program.work({ url: model.url, task: 'Do what the script says.', allowed, ...here })
      const all = Object.keys(deeds)
      model.begin(all.map(step))
      const ran = await here.run(words, env)
      const requests = model.state.requests.filter(({ body }) => offered(body).length > 0)
      all.forEach((deed, index) => {
        const text = requests[index + 1]?.results.join('\n') ?? ''
        seen[deed] = { ...seen[deed], done: deeds[deed].done(text, here), text }
      })
      const first = requests.map(({ text }) => text).join('\n')
      return { ...seen, instructions: first.includes('Before you read a file or folder'), tools: requests[0] ? offered(requests[0].body).filter(({ name }) => /unified_/.test(name ?? '')).map(({ name }) => name) : [], all: ran.all }
    })
  } finally {
    model.close()
  }
}

const tell = ({ done, listed, text = '' } = {}) => (done ? 'yes' : listed === false && !/permi|approv|declin/i.test(text) ? 'not shown to the model' : /cancel|refus|permission|approv|denied|declin/i.test(text) ? 'refused' : `no: ${text.slice(0, 60)}`)

async function row(program) {
  const version = await install(program.package)
  const file = await itsFile(program).catch((error) => ({ error: error.message }))
  const fileTold = file.error ?? (file.known && file.kept && file.listed ? 'kept' : `listed ${file.listed}, known ${file.known}, rest kept ${file.kept}`)
  if (program.login) return [program.name, version, fileTold, program.login, '', '', '', '']
  const [unasked, ruled] = [await task(program, false), await task(program, true)]
  if (process.env.DEBUG) console.error(JSON.stringify({ unasked, ruled }, null, 1))
  const both = (deed) => (tell(unasked[deed]) === tell(ruled[deed]) ? tell(unasked[deed]) : `${tell(unasked[deed])} → ${tell(ruled[deed])}`)
  return [program.name, version, fileTold, ruled.instructions ? 'yes' : 'no', both('read'), both('grep'), both('edit'), program.rule]
}

const rows = []
for (const program of programs.filter(wanted)) {
  rows.push(await row(program))
  console.log(rows.at(-1).join(' | '))
}
