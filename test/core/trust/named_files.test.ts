import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { tempWorkspace, type TempWorkspace } from 'vtcode/test'
import { toValueItem } from '../../../build/core/trust/index.js'

let space: TempWorkspace
beforeEach(async () => {
  space = await tempWorkspace()
})
afterEach(() => space[Symbol.asyncDispose]())

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

/** Returns code that leaves a mark when it runs, in the language of the file's ending. */
function body(file: string): string {
  if (file.endsWith('.py')) return "import os\nopen(os.environ['RAN'], 'w').close()\n"
  if (/\.c?js$/.test(file)) return "require('node:fs').writeFileSync(process.env.RAN, '')\n"
  if (file.endsWith('.awk')) return 'BEGIN { printf "" > ENVIRON["RAN"] }\n'
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
const itemOf = (value: unknown, key = 'mcp.servers') =>
  toValueItem(join(space.root, 'vtcode.config.yaml'), key, value, space.root)

const ways: [how: string, program: Program, file: string, more?: Files][] = [
  ['a shell in a shell', sh("sh -c 'sh tools/e.sh'"), 'tools/e.sh'],
  ['a here-document', sh('sh <<E\n. tools/e.sh\nE'), 'tools/e.sh'],
  ['a pipe', sh('cat tools/e.sh | sh'), 'tools/e.sh'],
  ['a redirection by number', sh('sh 0<tools/e.sh'), 'tools/e.sh'],
  ['eval of what is read', sh('eval "$(cat tools/e.sh)"'), 'tools/e.sh'],
  ['env -S', { command: 'env', args: ['-S', 'sh tools/e.sh'] }, 'tools/e.sh'],
  ['env with an assignment', sh('env A=1 sh tools/e.sh'), 'tools/e.sh'],
  ['exec -a', bash('exec -a other sh tools/e.sh'), 'tools/e.sh'],
  ['xargs', sh('echo tools/e.sh | xargs sh'), 'tools/e.sh'],
  ['nohup in nice', sh('nohup nice sh tools/e.sh >/dev/null'), 'tools/e.sh'],
  ['a backslash in a name', { command: 'sh', args: ['tools/a\\b.sh'] }, 'tools/a\\b.sh'],
  ['marks in a name', { command: 'sh', args: ['tools/a=b,c:d@e.sh'] }, 'tools/a=b,c:d@e.sh'],
  ['a program for awk', { command: 'awk', args: ['-f', 'sub/x.awk'] }, 'sub/x.awk'],
  ['NODE_OPTIONS in env', { ...node('-e', '1'), env: { NODE_OPTIONS: '--require ./sub/lib.js' } }, 'sub/lib.js'],
  [
    'a text that reads a file and evaluates it',
    node('-e', "eval(require('node:fs').readFileSync('sub/lib.js', 'utf8'))"),
    'sub/lib.js',
  ],
  ['a text of Python that reads a file and runs it', python('-c', "exec(open('sub/lib.py').read())"), 'sub/lib.py'],
  ['a link to a script', sh('sh link.sh'), 'tools/e.sh', { 'link.sh': '-> tools/e.sh' }],
]

describe('consent item of a command', () => {
  it.each(ways)('covers the file that a word of the command names: %s', (_, program, file, more = {}) => {
    put({ ...more, [file]: body(file) })
    const ran = join(space.home, 'ran')
    rmSync(ran, { force: true })
    // The command runs the file, so a change of it has to be noticed.
    const env = { PATH: process.env['PATH'], RAN: ran, ...program.env }
    spawnSync(program.command, program.args ?? [], { cwd: space.root, env, stdio: 'ignore', timeout: 20_000 })
    expect(existsSync(ran)).toBe(true)
    const before = itemOf({ s: program })
    expect(Object.keys(before.agreed!.tree.files)).toContain(file)
    writeFileSync(join(space.root, file), `${body(file)}#\n`)
    expect(itemOf({ s: program }).digest).not.toBe(before.digest)
  })

  it.each<[how: string, program: Program, file: string]>([
    ['a setting of git', { command: 'git', args: ['-c', 'core.fsmonitor=./tools/e.sh', 'status'] }, 'tools/e.sh'],
    ['a variable of a client', sh('"$CLAUDE_PROJECT_DIR"/tools/e.sh'), 'tools/e.sh'],
    [
      'a working folder by a variable',
      { command: 'node', args: ['server.js'], cwd: '${workspaceFolder}/sub' },
      'sub/server.js',
    ],
  ])('covers a file of a program that is not installed: %s', (_, program, file) => {
    put({ [file]: '{}\n' })
    const before = itemOf({ s: program })
    expect(Object.keys(before.agreed!.tree.files)).toContain(file)
    writeFileSync(join(space.root, file), '{ "changed": 1 }\n')
    expect(itemOf({ s: program }).digest).not.toBe(before.digest)
  })

  it('changes its digest when a named file appears', () => {
    const before = itemOf({ s: sh('sh tools/e.sh') })
    put({ 'tools/e.sh': 'true\n' })
    expect(itemOf({ s: sh('sh tools/e.sh') }).digest).not.toBe(before.digest)
  })

  it.each<[how: string, program: Program]>([
    ['a link out of the workspace', sh('sh sub/away')],
    ['a pipe', sh('sh sub/pipe')],
    ['a script by another script', { command: 'sh', args: ['sub/go.sh'] }],
    ['what npm reads', { command: 'npm', args: ['test'] }],
  ])('follows no further file: %s', (_, program) => {
    put({ 'sub/away': '-> /etc/passwd', 'tools/e.sh': 'true\n', 'sub/go.sh': 'sh tools/e.sh\n' })
    put({ 'package.json': '{ "scripts": { "test": "sh tools/e.sh" } }' })
    spawnSync('mkfifo', [join(space.root, 'sub/pipe')])
    expect(Object.keys(itemOf({ s: program }).agreed!.tree.files).filter((name) => name !== 'sub/go.sh')).toEqual([])
  })
})

const limit = 'Programs and files that it uses in turn cannot be listed'
describe('question about a command', () => {
  it.each<[how: string, program: Program, says: string]>([
    ['no file', sh('sh t*/e.sh'), 'It starts `sh -c sh t*/e.sh` (none of its files is covered)'],
    [
      'a program of packages',
      { command: 'npx', args: ['-y', 'somebody'] },
      'It starts `npx -y somebody` (none of its files is covered)',
    ],
    ['one of two files', sh('sh tools/e.sh; sh $X'), 'It starts `sh -c sh tools/e.sh; sh $X` (covered: tools/e.sh)'],
  ])('names covered files and states that others cannot be listed: %s', (_, program, says) => {
    put({ 'tools/e.sh': 'true\n' })
    expect(itemOf({ s: program }).uncovered).toEqual([says, limit])
  })
  const members = ['args', 'run', 'command', 'env', 'url', 'cwd', 'commands']
  it.each(members)('names a server with the name %s', (name) => {
    put({ 'tools/e.sh': 'true\n' })
    const { uncovered, agreed } = itemOf({
      [name]: { command: 'sh', args: ['tools/e.sh'] },
      other: { command: 'npm', args: ['start'] },
    })
    expect(uncovered).toContain('It starts `sh tools/e.sh` (covered: tools/e.sh)')
    expect(uncovered).toContain('It starts `npm start` (none of its files is covered)')
    expect(Object.keys(agreed!.tree.files)).toEqual(['tools/e.sh'])
  })
  it('names the commands of verification', () => {
    put({ 'tools/e.sh': 'true\n' })
    const { uncovered, agreed } = itemOf(['sh tools/e.sh', 'npm test'], 'agent.harness.verification.commands')
    const [first, second] = ['`sh tools/e.sh` (covered: tools/e.sh)', '`npm test` (none of its files is covered)']
    expect(uncovered).toEqual([`It starts ${first}`, `It starts ${second}`, limit])
    expect(Object.keys(agreed!.tree.files)).toEqual(['tools/e.sh'])
  })
})

describe('user data for a server of a workspace', () => {
  const said = (servers: object) => itemOf(servers).uncovered
  it("names the data sent to a server with its host, whatever the server's name", () => {
    const good = { url: 'https://good.example/mcp' }
    const evil = { url: 'https://evil.example/mcp', headers: { Authorization: { env: 'MY_KEY' } } }
    expect(said({ url: good, evil })).toEqual(['It sends MY_KEY of your environment to evil.example'])
    expect(said({ headers: evil, url: good })).toEqual(['It sends MY_KEY of your environment to evil.example'])
    expect(
      said({ a: { url: 'https://good.example@evil.example/', headers: { a: '${A}', b: 'Bearer ${B:-none}' } } }),
    ).toEqual(['It sends A, B of your environment to evil.example'])
    expect(said({ a: { url: 'https://evil.example/?k=${KEY}' } })).toEqual([
      'It sends KEY of your environment to evil.example',
    ])
    expect(said({ a: { url: 'https://${HOST}/', auth: { type: 'bearer', value: { env: 'KEY' } } } })).toEqual([
      'It sends HOST, KEY of your environment to https://${HOST}/',
    ])
    expect(
      said({
        a: {
          url: 'https://evil.example',
          auth: { type: 'basic', password: { join: ['x', { env: 'KEY' }, { secret: 'token' }] } },
        },
      }),
    ).toEqual(['It sends KEY of your environment and your secret token to evil.example'])
  })
  it('names the data handed to a program with that program', () => {
    const programs = {
      env: { command: 'npx', args: ['one'], env: { TOKEN: { env: 'MY_TOKEN' }, OTHER: 'x ${MY_OTHER}' } },
    }
    const started = ['It starts `npx one` (none of its files is covered)', limit]
    const handed = 'It passes MY_TOKEN, MY_OTHER of your environment to the program `npx one`'
    expect(said(programs)).toEqual([...started, handed])
  })
  it("names a variable's default and an unclosed variable", () => {
    expect(said({ a: { url: 'https://evil.example/?k=${KEY:-${OTHER}' } })).toEqual([
      'It sends KEY, OTHER of your environment to evil.example',
    ])
  })
  it('finds variables in one pass, however many are unclosed', () => {
    const { uncovered } = itemOf({ s: { command: '${'.repeat(1_000_000), env: { KEY: '${A'.repeat(300_000) } } })
    expect(uncovered!.at(-1)).toMatch(/^It passes A of your environment to the program/)
  })
  it('asks again when the host or the variable changes', () => {
    const digests = [
      ['one.example', 'A'],
      ['two.example', 'A'],
      ['one.example', 'B'],
    ].map(([host, name]) => itemOf({ s: { url: `https://${host}/`, headers: { x: { env: name } } } }).digest)
    expect(new Set(digests).size).toBe(3)
  })
})
