import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'

const index = pathToFileURL(realpathSync('dist/core/index.js')).href
let root: string
let shelf: string
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'vtcode-shelf-')))
  for (const folder of ['work', 'home', 'plugins']) mkdirSync(join(root, folder))
  shelf = join(root, 'home/.vtcode/cache/manifests')
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

const plant = (name: string, description: string) => writeFileSync(join(root, 'plugins', `${name}.yaml`), `name: ${name}\ndescription: ${description}\nrun: [echo, hello]\n`)

/** What a program of its own is told of the tools below plugins/, and the diagnostics. */
function start({ home = 'home', work = 'work' } = {}): { said: Record<string, string>; diagnostics: string[] } {
  const settings = { workspace: join(root, work), home: join(root, home), config: { manifests: ['builtin', join(root, 'plugins')] } }
  const program = `import { createKernel } from ${JSON.stringify(index)}
const kernel = await createKernel(${JSON.stringify(settings)})
const said = Object.fromEntries(kernel.list().filter(({ chain }) => chain[0]?.startsWith('call:')).map(({ slot, description }) => [slot, description]))
console.log(JSON.stringify({ said, diagnostics: kernel.diagnostics().map(({ message }) => message) }))
await kernel.close()`
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], { cwd: root, encoding: 'utf8', env: { PATH: process.env['PATH'] } })
  if (stderr) throw new Error(stderr)
  return JSON.parse(stdout)
}

const digest = (text: string) => createHash('sha256').update(text).digest('hex')
/** Writes something into the shelf as somebody would who may. */
function forge(change: (body: string) => string): void {
  const [head, ...lines] = readFileSync(shelf, 'utf8').split('\n')
  const body = change(lines.join('\n'))
  writeFileSync(shelf, `${head!.replace(/ \S+$/, '')} ${digest(body)}\n${body}`)
}

describe('manifests that were checked before', () => {
  beforeEach(() => {
    plant('one', 'The first.')
    expect(start().said).toEqual({ one: 'The first.' })
  })

  it('are taken from the shelf by a later program, and a changed file is read anew', () => {
    forge((body) => body.replace('The first.', 'From the shelf.'))
    expect(start().said).toEqual({ one: 'From the shelf.' })
    plant('one', 'Another text.')
    plant('two', 'The second.')
    expect(start().said).toEqual({ one: 'Another text.', two: 'The second.' })
  })

  it('lie where only the user reads and writes, and nothing else is left there', () => {
    expect(statSync(shelf).mode & 0o777).toBe(0o600)
    expect(statSync(join(shelf, '..')).mode & 0o777).toBe(0o700)
    expect(readdirSync(join(shelf, '..'))).toEqual(['manifests'])
  })

  it('are read and checked anew when the shelf is damaged, of another build, or open to others', () => {
    const good = readFileSync(shelf, 'utf8')
    const poisoned = good.replace('The first.', 'Not so true')
    const untold = { said: { one: 'The first.' }, diagnostics: [] }
    for (const text of ['', '\n', 'nonsense', '{}', poisoned, good.slice(0, -20), good.replace(/^\S+/, '9.9.9'), '\0'.repeat(100), 'x'.repeat(5_000_000)]) {
      writeFileSync(shelf, text)
      expect(start(), text.slice(0, 80)).toEqual(untold)
      expect(readFileSync(shelf, 'utf8'), text.slice(0, 80)).toBe(good)
    }
    forge((body) => body.replace('The first.', 'From others.'))
    chmodSync(shelf, 0o644)
    expect(start()).toEqual(untold)
    forge((body) => body.replace('The first.', 'From others.'))
    chmodSync(join(shelf, '..'), 0o777)
    expect(start()).toEqual(untold)
    chmodSync(join(shelf, '..'), 0o700)
    renameSync(shelf, join(root, 'elsewhere'))
    symlinkSync(join(root, 'elsewhere'), shelf)
    expect(start()).toEqual(untold)
  })

  it('keep what does not hold out of the shelf: each start says again what is wrong', () => {
    writeFileSync(join(root, 'plugins/bad.yaml'), 'name: bad\ndescriptoin: Misspelt.\nrun: [echo]\n')
    writeFileSync(join(root, 'plugins/gone.yaml'), 'name: gone\ndescription: Its module is not there.\neffects: [read]\nmodule: ./gone.js\n')
    for (const round of [1, 2]) {
      const { said, diagnostics } = start()
      expect(said, `round ${round}`).toEqual({ one: 'The first.' })
      expect(diagnostics.join('\n')).toMatch(/did you mean 'description'/)
      expect(diagnostics.join('\n')).toMatch(/gone\.js' does not exist/)
    }
  })

  it('are never taken from the workspace, nor left there', () => {
    mkdirSync(join(root, 'work/.vtcode/cache'), { recursive: true, mode: 0o700 })
    forge((body) => body.replace('The first.', 'Planted.'))
    writeFileSync(join(root, 'work/.vtcode/cache/manifests'), readFileSync(shelf), { mode: 0o600 })
    expect(start({ home: 'work' }).said).toEqual({ one: 'The first.' })
    rmSync(join(root, 'work/.vtcode'), { recursive: true })
    expect(start({ home: 'work' }).said).toEqual({ one: 'The first.' })
    expect(existsSync(join(root, 'work/.vtcode'))).toBe(false)
  })
})

describe('settings that were checked before', () => {
  const settings = (value: unknown) => writeFileSync(join(root, 'home/.vtcode/vtcode.config.json'), JSON.stringify(value, null, 2), { mode: 0o600 })
  const show = () => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [realpathSync('dist/core/bin.js'), 'config', 'show', '--origins', '--json'], {
      cwd: join(root, 'work'), encoding: 'utf8', env: { PATH: process.env['PATH'], HOME: join(root, 'home') },
    })
    return { status, stderr, origins: status === 0 ? (JSON.parse(stdout) as { origins: { path: string; line?: number; value: unknown }[] }).origins : [] }
  }
  const bearer = { name: 'corp', base_url: 'https://corp.example/v1', models: ['m'], headers: { 'x-team': 'only-mine' } }

  beforeEach(() => mkdirSync(join(root, 'home/.vtcode'), { mode: 0o700 }))

  it('say the same with the same lines a second time, and nothing of them lies anywhere else', () => {
    settings({ custom_providers: [bearer], agent: { model: 'corp/m' } })
    const first = show()
    expect(first.origins.find(({ path }) => path === 'agent.model')).toMatchObject({ value: 'corp/m', line: 15 })
    expect(readFileSync(shelf, 'utf8')).toMatch(/^[0-9a-f]{64}s true$/m)
    expect(readFileSync(shelf, 'utf8')).not.toMatch(/only-mine|corp/)
    expect(show()).toEqual(first)
  })

  it('are checked anew when they change, and what is wrong is never known as flawless', () => {
    settings({ agent: { model: 'a/b' } })
    show()
    settings({ agent: { model: 7 } })
    for (const round of [1, 2]) expect(show(), `round ${round}`).toMatchObject({ status: 3, stderr: expect.stringContaining("vtcode.config.json:3:5: 'agent.model' is 7; text is needed.") })
    writeFileSync(join(root, 'home/.vtcode/vtcode.config.json'), '{"agent":{"model":"a/b"},"agent":{}}', { mode: 0o600 })
    for (const round of [1, 2]) expect(show().status, `round ${round}`).toBe(3)
  })

  it('are checked as what they are read as: YAML that was flawless is no JSON', () => {
    const [yaml, json] = ['yaml', 'json'].map((end) => join(root, `home/.vtcode/vtcode.config.${end}`)) as [string, string]
    writeFileSync(yaml, 'agent: { model: a/b }\n', { mode: 0o600 })
    const first = show()
    expect(first.origins.find(({ path }) => path === 'agent.model')).toMatchObject({ value: 'a/b', line: 1 })
    expect(show()).toEqual(first)
    expect(readFileSync(shelf, 'utf8')).toMatch(/^[0-9a-f]{64}t true$/m)
    renameSync(yaml, json)
    for (const round of [1, 2]) expect(show(), `round ${round}`).toMatchObject({ status: 3, stderr: expect.stringContaining('Not JSON') })
  })
})

describe('many manifests', () => {
  it('are all there the second time', () => {
    for (let i = 0; i < 400; i++) plant(`tool_${i}`, `${i} ${'x'.repeat(i % 2 ? 10 : 900)}`)
    const first = start().said
    expect(Object.keys(first)).toHaveLength(400)
    expect(start().said).toEqual(first)
  })
})
