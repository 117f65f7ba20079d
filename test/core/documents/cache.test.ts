import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createKernel } from 'vtcode'
import type { TempWorkspace } from 'vtcode/test'
import { vtcode } from '../../support/program.js'

const index = pathToFileURL(realpathSync('dist/core/index.js')).href
let root: string
/** The home, which each start in this process moves: a program keeps what it read in memory, by the path of the home. */
let home: string
let shelf: string
let starts = 0
function moveHome(): string {
  const next = join(root, `home${(starts += 1)}`)
  renameSync(home, next)
  shelf = shelfIn(next)
  return (home = next)
}
const shelfIn = (folder: string): string => join(folder, '.vtcode/cache/manifests')
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'vtcode-shelf-')))
  for (const folder of ['work', 'home', 'plugins']) mkdirSync(join(root, folder))
  home = join(root, 'home')
  shelf = shelfIn(home)
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

const plant = (name: string, description: string) =>
  writeFileSync(
    join(root, 'plugins', `${name}.yaml`),
    `name: ${name}\ndescription: ${description}\nrun: [echo, hello]\n`,
  )

interface Told {
  said: Record<string, string>
  diagnostics: string[]
}
const settingsFor = (home: string) => ({
  workspace: join(root, 'work'),
  home,
  config: { manifests: ['builtin', join(root, 'plugins')] },
})
/** Starts a kernel and returns its tools below plugins/ and its diagnostics. */
async function start(at: string = moveHome()): Promise<Told> {
  const kernel = await createKernel({ ...settingsFor(at), env: { PATH: process.env['PATH'] } })
  const said = Object.fromEntries(
    kernel
      .list()
      .filter(({ chain }) => chain[0]?.startsWith('call:'))
      .map(({ slot, description }) => [slot, description]),
  )
  const diagnostics = kernel.diagnostics().map(({ message }) => message)
  await kernel.close()
  return { said: said as Record<string, string>, diagnostics }
}
/** Starts the kernel in a separate process. */
function startProcess(): Told {
  const program = `import { createKernel } from ${JSON.stringify(index)}
const kernel = await createKernel(${JSON.stringify(settingsFor(home))})
const said = Object.fromEntries(kernel.list().filter(({ chain }) => chain[0]?.startsWith('call:')).map(({ slot, description }) => [slot, description]))
console.log(JSON.stringify({ said, diagnostics: kernel.diagnostics().map(({ message }) => message) }))
await kernel.close()`
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
    cwd: root,
    encoding: 'utf8',
    env: { PATH: process.env['PATH'] },
  })
  if (stderr) throw new Error(stderr)
  return JSON.parse(stdout) as Told
}

const digest = (text: string) => createHash('sha256').update(text).digest('hex')
/** Writes something into the shelf as somebody would who may. */
function forge(change: (body: string) => string): void {
  const [head, ...lines] = readFileSync(shelf, 'utf8').split('\n')
  const body = change(lines.join('\n'))
  writeFileSync(shelf, `${head!.replace(/ \S+$/, '')} ${digest(body)}\n${body}`)
}

describe('cache of manifests', () => {
  beforeEach(async () => {
    plant('one', 'The first.')
    expect((await start()).said).toEqual({ one: 'The first.' })
  })

  it('reuses checked manifests in a later program, and reads a changed file again', () => {
    forge((body) => body.replace('The first.', 'From the shelf.'))
    expect(startProcess().said).toEqual({ one: 'From the shelf.' })
    plant('one', 'Another text.')
    plant('two', 'The second.')
    expect(startProcess().said).toEqual({ one: 'Another text.', two: 'The second.' })
  })

  it('stores the cache of manifests for the user alone, and leaves no other file', () => {
    expect(statSync(shelf).mode & 0o777).toBe(0o600)
    expect(statSync(join(shelf, '..')).mode & 0o777).toBe(0o700)
    expect(readdirSync(join(shelf, '..'))).toEqual(['manifests'])
  })

  it('reads and checks manifests again when the cache is damaged, from another build or open to others', async () => {
    const good = readFileSync(shelf, 'utf8')
    const poisoned = good.replace('The first.', 'Not so true')
    const untold = { said: { one: 'The first.' }, diagnostics: [] }
    for (const text of [
      '',
      '\n',
      'nonsense',
      '{}',
      poisoned,
      good.slice(0, -20),
      good.replace(/^\S+/, '9.9.9'),
      '\0'.repeat(100),
      'x'.repeat(5_000_000),
    ]) {
      writeFileSync(shelf, text)
      expect(await start(), text.slice(0, 80)).toEqual(untold)
      expect(readFileSync(shelf, 'utf8'), text.slice(0, 80)).toBe(good)
    }
    forge((body) => body.replace('The first.', 'From others.'))
    chmodSync(shelf, 0o644)
    expect(await start()).toEqual(untold)
    forge((body) => body.replace('The first.', 'From others.'))
    chmodSync(join(shelf, '..'), 0o777)
    expect(await start()).toEqual(untold)
    chmodSync(join(shelf, '..'), 0o700)
    renameSync(shelf, join(root, 'elsewhere'))
    symlinkSync(join(root, 'elsewhere'), shelf)
    expect(await start()).toEqual(untold)
  })

  it('leaves invalid manifests out of the cache, so that each start reports them', async () => {
    writeFileSync(join(root, 'plugins/bad.yaml'), 'name: bad\ndescriptoin: Misspelt.\nrun: [echo]\n')
    writeFileSync(
      join(root, 'plugins/gone.yaml'),
      'name: gone\ndescription: Its module is not there.\neffects: [read]\nmodule: ./gone.js\n',
    )
    for (const round of [1, 2]) {
      const { said, diagnostics } = await start()
      expect(said, `round ${round}`).toEqual({ one: 'The first.' })
      expect(diagnostics.join('\n')).toMatch(/did you mean 'description'/)
      expect(diagnostics.join('\n')).toMatch(/gone\.js' does not exist/)
    }
  })

  it('reads no cache of manifests from the workspace and writes none there', async () => {
    mkdirSync(join(root, 'work/.vtcode/cache'), { recursive: true, mode: 0o700 })
    forge((body) => body.replace('The first.', 'Planted.'))
    writeFileSync(join(root, 'work/.vtcode/cache/manifests'), readFileSync(shelf), { mode: 0o600 })
    expect((await start(join(root, 'work'))).said).toEqual({ one: 'The first.' })
    rmSync(join(root, 'work/.vtcode'), { recursive: true })
    expect((await start(join(root, 'work'))).said).toEqual({ one: 'The first.' })
    expect(existsSync(join(root, 'work/.vtcode'))).toBe(false)
  })
})

describe('cache of checked settings', () => {
  const settings = (value: unknown) =>
    writeFileSync(join(home, '.vtcode/vtcode.config.json'), JSON.stringify(value, null, 2), { mode: 0o600 })
  const show = async () => {
    const { code, stdout, stderr } = await vtcode({ root: join(root, 'work'), home: moveHome() } as TempWorkspace, [
      'config',
      'show',
      '--origins',
      '--json',
    ])
    return {
      code,
      stderr,
      origins:
        code === 0
          ? (JSON.parse(stdout.replaceAll(home, '~')) as { origins: { path: string; line?: number; value: unknown }[] })
              .origins
          : [],
    }
  }
  const bearer = {
    name: 'corp',
    base_url: 'https://corp.example/v1',
    models: ['m'],
    headers: { 'x-team': 'only-mine' },
  }

  beforeEach(() => mkdirSync(join(home, '.vtcode'), { mode: 0o700 }))

  it('returns equal settings and lines on a second start, and stores no value of them', async () => {
    settings({ custom_providers: [bearer], agent: { model: 'corp/m' } })
    const first = await show()
    expect(first.origins.find(({ path }) => path === 'agent.model')).toMatchObject({ value: 'corp/m', line: 15 })
    expect(readFileSync(shelf, 'utf8')).toMatch(/^[0-9a-f]{64}s true$/m)
    expect(readFileSync(shelf, 'utf8')).not.toMatch(/only-mine|corp/)
    expect(await show()).toEqual(first)
  })

  it('checks changed settings again and never records invalid settings as valid', async () => {
    settings({ agent: { model: 'a/b' } })
    await show()
    settings({ agent: { model: 7 } })
    for (const round of [1, 2])
      expect(await show(), `round ${round}`).toMatchObject({
        code: 3,
        stderr: expect.stringContaining("vtcode.config.json:3:5: 'agent.model' is 7; text is needed."),
      })
    writeFileSync(join(home, '.vtcode/vtcode.config.json'), '{"agent":{"model":"a/b"},"agent":{}}', { mode: 0o600 })
    for (const round of [1, 2]) expect((await show()).code, `round ${round}`).toBe(3)
  })

  it('checks settings again under another format: valid YAML does not count as JSON', async () => {
    const file = (end: string) => join(home, `.vtcode/vtcode.config.${end}`)
    writeFileSync(file('yaml'), 'agent: { model: a/b }\n', { mode: 0o600 })
    const first = await show()
    expect(first.origins.find(({ path }) => path === 'agent.model')).toMatchObject({ value: 'a/b', line: 1 })
    expect(await show()).toEqual(first)
    expect(readFileSync(shelf, 'utf8')).toMatch(/^[0-9a-f]{64}t true$/m)
    renameSync(file('yaml'), file('json'))
    for (const round of [1, 2])
      expect(await show(), `round ${round}`).toMatchObject({ code: 3, stderr: expect.stringContaining('Not JSON') })
  })
})

describe('cache of many manifests', () => {
  it('loads all of 400 manifests on a second start', async () => {
    for (let i = 0; i < 400; i++) plant(`tool_${i}`, `${i} ${'x'.repeat(i % 2 ? 10 : 900)}`)
    const first = (await start()).said
    expect(Object.keys(first)).toHaveLength(400)
    expect((await start()).said).toEqual(first)
  })
})
