import { execFileSync, spawn } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { tempWorkspace, type TempWorkspace } from 'vtcode/test'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..', '..')
const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages
const name = `@ast-grep/cli-${process.platform}-${process.arch}${process.platform === 'linux' ? '-gnu' : ''}`
const { version } = lock[`node_modules/${name}`]

let place: TempWorkspace
let server: Server
/** What the registry answers next, and what it was asked. */
let answer: { status: number; body: Buffer; headers?: Record<string, string> }
let asked: string[] = []
let real: Buffer
let bin: string

beforeAll(async () => {
  place = await tempWorkspace({ 'a.py': 'log(1)\n' })
  // The real package, from npm's cache where npm has it.
  const [packed] = JSON.parse(execFileSync('npm', ['pack', '--prefer-offline', '--silent', '--json', '--pack-destination', place.home, `${name}@${version}`], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }))
  real = readFileSync(join(place.home, packed.filename))
  // This program as it stands where npm left the optional dependency out.
  const bare = join(place.home, 'bare')
  cpSync(join(root, 'dist'), join(bare, 'dist'), { recursive: true })
  cpSync(join(root, 'package.json'), join(bare, 'package.json'))
  mkdirSync(join(bare, 'node_modules/@ast-grep'), { recursive: true })
  for (const entry of readdirSync(join(root, 'node_modules'))) {
    if (entry !== '@ast-grep' && !entry.startsWith('.')) symlinkSync(join(root, 'node_modules', entry), join(bare, 'node_modules', entry))
  }
  bin = join(bare, 'dist/core/bin.js')
  server = createServer((request, response) => {
    asked.push(request.url!)
    response.writeHead(answer.status, answer.headers).end(answer.body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
}, 300_000)
afterAll(async () => {
  server?.close()
  await place?.[Symbol.asyncDispose]()
})
beforeEach(() => {
  asked = []
  answer = { status: 200, body: real }
  rmSync(join(place.home, '.vtcode'), { recursive: true, force: true })
})

function vtcode(args: string[], env: Record<string, string> = {}): Promise<{ code: number; stdout: string; stderr: string }> {
  const registry = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const child = spawn(process.execPath, [bin, ...args], {
    cwd: place.root,
    env: { PATH: dirname(process.execPath), HOME: place.home, npm_config_registry: registry, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const out = { stdout: '', stderr: '' }
  child.stdout.on('data', (chunk) => (out.stdout += chunk))
  child.stderr.on('data', (chunk) => (out.stderr += chunk))
  return new Promise((resolve) => child.once('close', (code) => resolve({ code: code ?? -1, ...out })))
}
const search = async (env: Record<string, string> = {}): Promise<any> =>
  JSON.parse((await vtcode(['call', 'unified_search', 'structural', '--pattern', 'log($A)', '--path', 'a.py'], env)).stdout)
const program = () => join(place.home, '.vtcode/bin/ast-grep')

it('pins the packages of the lockfile', () => {
  const pins = readFileSync(join(root, 'plugins/lib/syntax/ast_grep_pins.ts'), 'utf8')
  const packages = Object.entries<any>(lock).filter(([path]) => path.startsWith('node_modules/@ast-grep/cli-'))
  expect(packages.length).toBeGreaterThan(5)
  for (const [path, { integrity, version }] of packages) {
    expect(pins).toContain(`{ name: '${path.slice('node_modules/'.length)}', integrity: '${integrity}' }`)
    expect(pins).toContain(`version: '${version}'`)
  }
})

describe('vtcode dependencies', () => {
  it('lists what is there, and installs ast-grep where it is missing', async () => {
    expect((await vtcode(['dependencies'])).stdout).toMatch(/^ast-grep +missing\nripgrep +\/.*rg\n$/)
    expect(await vtcode(['dependencies', 'install', 'ast-grep'])).toMatchObject({ code: 0, stdout: `Installed: ${program()}\n` })
    expect(asked).toEqual([`/${name}/-/${name.split('/')[1]}-${version}.tgz`])
    expect(execFileSync(program(), ['--version'], { encoding: 'utf8' })).toBe(`ast-grep ${version}\n`)
    expect(readdirSync(join(place.home, '.vtcode/bin'))).toEqual(['ast-grep'])
    expect((await vtcode(['dependencies'])).stdout).toContain(program())
  })
  it('installs nothing that is not the pinned package, and nothing else', async () => {
    answer.body = Buffer.concat([real.subarray(0, -1), Buffer.from([0])])
    expect(await vtcode(['dependencies', 'install', 'ast-grep'])).toMatchObject({ code: 1, stderr: expect.stringMatching(/not the pinned package/) })
    answer = { status: 404, body: Buffer.from('gone') }
    expect(await vtcode(['dependencies', 'install', 'ast-grep'])).toMatchObject({ code: 1, stderr: expect.stringMatching(/answers 404/) })
    expect(await vtcode(['dependencies', 'install', 'left-pad'])).toMatchObject({ code: 2, stderr: expect.stringMatching(/possible: ast-grep/) })
    expect(existsSync(program())).toBe(false)
  })
  it('is not held up by a process that was killed while it held the others back', async () => {
    const silent = createServer(() => {}).listen(0, '127.0.0.1')
    try {
      await new Promise((resolve) => silent.once('listening', resolve))
      const registry = `http://127.0.0.1:${(silent.address() as AddressInfo).port}/`
      const env = { PATH: dirname(process.execPath), HOME: place.home, npm_config_registry: registry }
      const stuck = spawn(process.execPath, [bin, 'dependencies', 'install', 'ast-grep'], { cwd: place.root, env, stdio: 'ignore' })
      await new Promise((resolve) => silent.once('request', resolve))
      stuck.kill('SIGKILL')
      expect(await vtcode(['dependencies', 'install', 'ast-grep'])).toMatchObject({ code: 0 })
    } finally {
      silent.closeAllConnections()
      silent.close()
    }
  })
})

describe('a search that needs ast-grep', () => {
  it('fetches it once', async () => {
    expect(await search()).toMatchObject({ ok: true, output: { matches: [{ file: 'a.py' }] } })
    expect(await search()).toMatchObject({ ok: true })
    expect(asked).toHaveLength(1)
  })
  it('leaves it where it is not wanted, and says what to run', async () => {
    expect(await search({ VTCODE_AST_GREP_NO_INSTALL: '1' })).toMatchObject({
      ok: false,
      error: { code: 'VT_SEARCH_ENGINE_MISSING', message: expect.stringContaining('VTCODE_AST_GREP_NO_INSTALL'), hint: expect.stringContaining('vtcode dependencies install ast-grep') },
    })
    expect(asked).toEqual([])
  })
  it('fetches it as the settings let the web be used, and asks again once they do', async () => {
    const settings = join(place.home, '.vtcode/vtcode.config.yaml')
    mkdirSync(dirname(settings), { recursive: true })
    for (const text of ['web: { enabled: false }\n', 'web: { deny_hosts: ["127.0.0.1"] }\n']) {
      writeFileSync(settings, text)
      expect(await search()).toMatchObject({ ok: false, error: { code: 'VT_SEARCH_ENGINE_MISSING', message: expect.stringMatching(/web\.(deny_hosts|enabled)|settings switch the web off/) } })
    }
    rmSync(settings)
    expect(asked).toEqual([])
    // The registry was named; where it sends us was not.
    answer = { status: 302, body: Buffer.from(''), headers: { location: `http://localhost:${(server.address() as AddressInfo).port}/other.tgz` } }
    expect(await search()).toMatchObject({ ok: false, error: { message: expect.stringContaining('localhost is refused') } })
    expect(asked).toHaveLength(1)
    answer = { status: 200, body: real }
    expect(await search()).toMatchObject({ ok: true })
  })
  it('does not ask again within a day after a failure, unless it is told to', async () => {
    answer = { status: 503, body: Buffer.from('') }
    expect(await search()).toMatchObject({ ok: false, error: { message: expect.stringContaining('503') } })
    expect(await search()).toMatchObject({ ok: false, error: { message: expect.stringContaining('tried again after 24 h') } })
    expect(asked).toHaveLength(1)
    answer = { status: 200, body: real }
    const note = join(place.home, '.vtcode/bin/ast-grep.failed.json')
    writeFileSync(note, JSON.stringify({ ...JSON.parse(readFileSync(note, 'utf8')), at: Date.now() - 25 * 3_600_000 }))
    expect(await search()).toMatchObject({ ok: true })
    expect(existsSync(note)).toBe(false)
  })
})
