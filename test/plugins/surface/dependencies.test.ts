import { execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { tempWorkspace, type TempWorkspace } from 'vtcode/test'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { bareProgram, lock, name, version, type Bare } from '../../support/bare.js'

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..', '..')

let place: TempWorkspace
let bare: Bare
beforeAll(async () => {
  place = await tempWorkspace({ 'a.py': 'log(1)\n' })
  bare = await bareProgram(place)
}, 300_000)
afterAll(async () => {
  await bare?.[Symbol.asyncDispose]()
  await place?.[Symbol.asyncDispose]()
})
beforeEach(() => {
  bare.registry.seen.length = 0
  bare.answer = { status: 200, body: bare.real }
  rmSync(join(place.home, '.vtcode'), { recursive: true, force: true })
})
const vtcode = (args: string[]) => bare.run(args)
const search = (env?: Record<string, string>) => bare.search(env)
const asked = () => bare.registry.seen.map(({ path }) => path)
const program = () => join(place.home, '.vtcode/bin/ast-grep')

it('pins the packages of the lockfile', () => {
  const pins = readFileSync(join(root, 'plugins/lib/syntax/ast_grep_pins.ts'), 'utf8').replace(/\s+/g, ' ')
  const packages = Object.entries<any>(lock).filter(([path]) => path.startsWith('node_modules/@ast-grep/cli-'))
  expect(packages.length).toBeGreaterThan(5)
  for (const [path, { integrity, version }] of packages) {
    expect(pins).toContain(`{ name: '${path.slice('node_modules/'.length)}', integrity: '${integrity}'`)
    expect(pins).toContain(`version: '${version}'`)
  }
})

describe('vtcode dependencies', () => {
  it('lists installed programs, and installs a missing ast-grep', async () => {
    expect((await vtcode(['dependencies'])).stdout).toMatch(/^ast-grep +missing\nripgrep +\/.*rg\n$/)
    expect(await vtcode(['dependencies', 'install', 'ast-grep'])).toMatchObject({
      code: 0,
      stdout: `Installed: ${program()}\n`,
    })
    expect(asked()).toEqual([`/${name}/-/${name.split('/')[1]}-${version}.tgz`])
    expect(execFileSync(program(), ['--version'], { encoding: 'utf8' })).toBe(`ast-grep ${version}\n`)
    expect(readdirSync(join(place.home, '.vtcode/bin'))).toEqual(['ast-grep'])
    expect((await vtcode(['dependencies'])).stdout).toContain(program())
  })
  it('installs the pinned package and nothing else', async () => {
    bare.answer.body = Buffer.concat([bare.real.subarray(0, -1), Buffer.from([0])])
    expect(await vtcode(['dependencies', 'install', 'ast-grep'])).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/not the pinned package/),
    })
    bare.answer = { status: 404, body: Buffer.from('gone') }
    expect(await vtcode(['dependencies', 'install', 'ast-grep'])).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/answers 404/),
    })
    expect(await vtcode(['dependencies', 'install', 'left-pad'])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/available: ast-grep/),
    })
    expect(existsSync(program())).toBe(false)
  })
  it('continues after a process was killed while it held the lock', async () => {
    const silent = createServer(() => {}).listen(0, '127.0.0.1')
    try {
      await new Promise((resolve) => silent.once('listening', resolve))
      const registry = `http://127.0.0.1:${(silent.address() as AddressInfo).port}/`
      const env = { PATH: dirname(process.execPath), HOME: place.home, npm_config_registry: registry }
      const stuck = spawn(process.execPath, [bare.bin, 'dependencies', 'install', 'ast-grep'], {
        cwd: place.root,
        env,
        stdio: 'ignore',
      })
      await new Promise((resolve) => silent.once('request', resolve))
      stuck.kill('SIGKILL')
      expect(await vtcode(['dependencies', 'install', 'ast-grep'])).toMatchObject({ code: 0 })
    } finally {
      silent.closeAllConnections()
      silent.close()
    }
  })
})

describe('automatic installation of ast-grep', () => {
  it('fetches ast-grep once', async () => {
    expect(await search()).toMatchObject({ ok: true, output: { matches: [{ file: 'a.py' }] } })
    expect(await search()).toMatchObject({ ok: true })
    expect(asked()).toHaveLength(1)
  })
  it('leaves ast-grep uninstalled where a variable forbids it, and names the command to run', async () => {
    expect(await search({ VTCODE_AST_GREP_NO_INSTALL: '1' })).toMatchObject({
      ok: false,
      error: {
        code: 'VT_SEARCH_ENGINE_MISSING',
        message: expect.stringContaining('VTCODE_AST_GREP_NO_INSTALL'),
        hint: expect.stringContaining('vtcode dependencies install ast-grep'),
      },
    })
    expect(asked()).toEqual([])
  })
  it('fetches ast-grep only as the web settings allow, and retries once they do', async () => {
    const settings = join(place.home, '.vtcode/vtcode.config.yaml')
    mkdirSync(dirname(settings), { recursive: true })
    for (const text of ['web: { enabled: false }\n', 'web: { deny_hosts: ["127.0.0.1"] }\n']) {
      writeFileSync(settings, text)
      expect(await search()).toMatchObject({
        ok: false,
        error: {
          code: 'VT_SEARCH_ENGINE_MISSING',
          message: expect.stringMatching(/web\.(deny_hosts|enabled)|settings disable web access/),
        },
      })
    }
    rmSync(settings)
    expect(asked()).toEqual([])
    // The registry was named; where it sends us was not.
    bare.answer = {
      status: 302,
      body: Buffer.from(''),
      headers: { location: `http://localhost:${bare.registry.port}/other.tgz` },
    }
    expect(await search()).toMatchObject({
      ok: false,
      error: { message: expect.stringContaining('localhost is refused') },
    })
    expect(asked()).toHaveLength(1)
    bare.answer = { status: 200, body: bare.real }
    expect(await search()).toMatchObject({ ok: true })
  })
  it('retries no failed fetch within a day, unless asked to', async () => {
    bare.answer = { status: 503, body: Buffer.from('') }
    expect(await search()).toMatchObject({ ok: false, error: { message: expect.stringContaining('503') } })
    expect(await search()).toMatchObject({
      ok: false,
      error: { message: expect.stringContaining('the next attempt is possible 24 h later') },
    })
    expect(asked()).toHaveLength(1)
    bare.answer = { status: 200, body: bare.real }
    const note = join(place.home, '.vtcode/bin/ast-grep.failed.json')
    writeFileSync(note, JSON.stringify({ ...JSON.parse(readFileSync(note, 'utf8')), at: Date.now() - 25 * 3_600_000 }))
    expect(await search()).toMatchObject({ ok: true })
    expect(existsSync(note)).toBe(false)
  })
})
