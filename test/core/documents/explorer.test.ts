import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { loadDocument, parseDocument, searchFolder } from '../../../build/core/documents/index.js'

let root: string
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'vtcode-explorer-')))
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

const put = (path: string, text: string): string => {
  const file = join(root, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
  return file
}

describe('parseDocument', () => {
  it('parses the given bytes through cosmiconfig, whatever is in the file now', async () => {
    const file = put('one.yaml', 'a: 1\n')
    for (const [text, value] of [
      ['a: 2\n', { a: 2 }],
      ['\ufeffa: 3', { a: 3 }],
      [' \n', null],
    ] as const)
      expect((await parseDocument(file, Buffer.from(text))).value, text).toEqual(value)
    rmSync(file)
    execFileSync('mkfifo', [file])
    expect((await parseDocument(file, Buffer.from('a: 1\n'))).value).toEqual({ a: 1 })
  })

  it('reads files of any name with a byte order mark, and reports the place of each value', async () => {
    for (const name of ['a.yaml', 'a.yml', 'package.yaml', 'package.json', 'a.conf', 'plain']) {
      const { value, at } = await loadDocument(put(name, '\ufeff{\n  "vtcode": 1,\n  "$import": "./a.yaml" }'))
      expect(value, name).toEqual({ vtcode: 1, $import: './a.yaml' })
      expect(at(['$import']), name).toBe(`${join(root, name)}:3:3`)
    }
  })

  it('refuses a file that is no text, too large or code before cosmiconfig opens it', async () => {
    const file = put('one.yaml', '')
    writeFileSync(file, Buffer.from([0x61, 0x3a, 0xff]))
    await expect(loadDocument(file)).rejects.toMatchObject({ code: 'VT_MANIFEST_LIMIT' })
    await expect(loadDocument(put('one.yaml', `a: ${'x'.repeat(262_144)}`))).rejects.toMatchObject({
      code: 'VT_MANIFEST_LIMIT',
    })
    for (const end of ['js', 'cjs', 'mjs', 'ts', 'mts'])
      await expect(loadDocument(put(`code.${end}`, 'a: 1'))).rejects.toThrow('is not data')
  })
})

const traced = spawnSync('strace', ['-V']).status === 0
describe('searchFolder', () => {
  const places = ['vtcode.config.ts', 'vtcode.config.yaml', '.vtcoderc', '.config/vtcoderc.json', 'package.json']
  const search = async () =>
    (await searchFolder(root, places, { within: root })).map(({ file, bytes }) => [relative(root, file), String(bytes)])

  it.each(places.slice(0, -1))('finds %s with its content', async (place) => {
    put(place, 'a: 1')
    put('other.yaml', 'a: 2')
    expect(await search()).toEqual([[place, 'a: 1']])
  })
  it('finds a package.json only if it has a member of the name of the program', async () => {
    for (const text of ['{ "dependencies": { "vtcode": "1" } }', '{ "name": "x" }', '{ "vtcode": ', '"vtcode"', '[]']) {
      put('package.json', text)
      expect(await search(), text).toEqual([])
    }
    put('package.json', '{ "vtcode": { "$import": "./evil.js" } }')
    expect((await search()).map(([file]) => file)).toEqual(['package.json'])
    rmSync(join(root, 'package.json'))
    execFileSync('mkfifo', [join(root, 'package.json')])
    expect(await search()).toEqual([])
  })
  it('finds every file in the order of the places, empty ones too', async () => {
    put('package.json', '{ "vtcode": {} }')
    for (const place of places.slice(0, -1)) put(place, '')
    expect((await search()).map(([file]) => file)).toEqual(places)
  })
  it.each([
    ['a pipe', 'mkfifo .vtcoderc'],
    ['a folder', 'mkdir .vtcoderc'],
    ['a link that leads out', 'ln -s /etc/hostname .vtcoderc'],
    ['a link to nothing', 'ln -s gone .vtcoderc'],
    ['too large', 'truncate -s 300K .vtcoderc'],
  ])('refuses a place that is %s, and does not wait for it', async (_, command) => {
    execFileSync('sh', ['-c', command], { cwd: root })
    await expect(search()).rejects.toThrow('.vtcoderc')
    // A second file is the first thing to decide.
    put('vtcode.config.yaml', 'a: 1')
    expect((await search()).map(([file]) => file)).toEqual(['vtcode.config.yaml', '.vtcoderc'])
  })
  it('takes a file in place of .config for no place', async () => {
    put('.config', 'x')
    expect(await search()).toEqual([])
  })
})

describe.runIf(traced)(`opens of each document, counted by strace${traced ? '' : ' (SKIPPED: needs strace)'}`, () => {
  const program = realpathSync('dist/core/bin.js')
  /** Counts the opens of each file at a start of the program, and those that follow no link and do not block. */
  function start(files: readonly string[]): [opens: number, careful: number][] {
    const log = join(root, 'strace')
    execFileSync(
      'strace',
      [
        '-f',
        '-qq',
        '-s',
        '4096',
        '-e',
        'trace=openat,open',
        '-o',
        log,
        process.execPath,
        program,
        '--workspace',
        join(root, 'ws'),
        '--home',
        join(root, 'home'),
        'tools',
      ],
      {
        env: { PATH: process.env['PATH'], TMPDIR: root },
        stdio: ['ignore', 'ignore', 'inherit'],
      },
    )
    const lines = readFileSync(log, 'utf8').split('\n')
    return files.map((file) => {
      const opens = lines.filter((line) => line.includes(`"${file}"`))
      return [opens.length, opens.filter((line) => line.includes('O_NOFOLLOW') && line.includes('O_NONBLOCK')).length]
    })
  }

  it('opens each document once, with or without an entry in the cache of parsed files', () => {
    const documents = [
      put('ws/vtcode.config.yaml', 'policy: { mode: plan }\n'),
      put('home/.vtcode/vtcode.config.json', '{ "output": { "max_text_bytes": 9000 } }'),
      put('home/.vtcode/plugins/mine/vtcode/hello.yaml', 'name: hello\ndescription: Says hello.\nrun: [echo, hello]\n'),
      put(
        'home/.vtcode/plugins/mine/vtcode/bye.json',
        '{ "name": "bye", "description": "Says goodbye.", "run": ["echo", "bye"] }',
      ),
      put('ws/.vtcode/plugins/limits/vtcode.yaml', 'name: limits\nkind: policy\nrules: { deny: [web_search] }\n'),
    ]
    for (const round of [1, 2]) expect(start(documents), `start ${round}`).toEqual(documents.map(() => [1, 1]))
    put(
      'home/.vtcode/plugins/mine/vtcode/hello.yaml',
      'name: hello\ndescription: Says something else.\nrun: [echo, hello]\n',
    )
    expect(start(documents)).toEqual(documents.map(() => [1, 1]))
  })

  it('opens uncached files once at each start: settings in code, lifecycle hooks, tool policy', () => {
    const documents = [
      put('home/.vtcode/vtcode.config.ts', 'export default { output: { max_text_bytes: 9000 as const } }'),
      put('home/.vtcode/plugins/mine/vtcode/hooks.json', '{ "hooks": {} }'),
      put('ws/.vtcode/tool-policy.json', '{ "version": 1, "policies": { "web_search": "deny" } }'),
    ]
    for (const round of [1, 2]) expect(start(documents), `start ${round}`).toEqual(documents.map(() => [1, 1]))
  })
})
