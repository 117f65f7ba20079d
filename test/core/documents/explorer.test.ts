import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { loadDocument, parseDocument } from '../../../build/core/documents/index.js'

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

const stale = {
  code: 'VT_FILE_STALE',
  problem: {
    message: expect.stringMatching(/one\.yaml' changed since it was read\.$/),
    hint: 'Load it again after the last write.',
  },
}

describe('loadOpened', () => {
  it("accepts cosmiconfig's text only if it equals the opened bytes", async () => {
    const file = put('one.yaml', 'a: 1\n')
    expect((await parseDocument(file, Buffer.from('a: 1\n'))).value).toEqual({ a: 1 })
    for (const before of ['a: 2\n', 'a: 1', '\ufeffa: 1\n', ''])
      await expect(parseDocument(file, Buffer.from(before)), before).rejects.toMatchObject(stale)
    put('one.yaml', ' \n')
    expect((await parseDocument(file, Buffer.from('\n'))).value).toBe(null)
    await expect(parseDocument(file, Buffer.from('a: 1\n'))).rejects.toMatchObject(stale)
  })

  it('refuses a pipe or a huge file that replaced the file after the first open', async () => {
    const file = put('one.yaml', 'a: 1\n')
    rmSync(file)
    execFileSync('mkfifo', [file])
    await expect(parseDocument(file, Buffer.from('a: 1\n'))).rejects.toMatchObject(stale)
    rmSync(file)
    put('one.yaml', '')
    truncateSync(file, 1_048_576_000)
    await expect(parseDocument(file, Buffer.from('a: 1\n'))).rejects.toMatchObject(stale)
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

  it('opens each document twice at first, and once where the cache of parsed files answers', () => {
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
    expect(start(documents)).toEqual(documents.map(() => [2, 1]))
    expect(start(documents)).toEqual(documents.map(() => [1, 1]))
    put(
      'home/.vtcode/plugins/mine/vtcode/hello.yaml',
      'name: hello\ndescription: Says something else.\nrun: [echo, hello]\n',
    )
    expect(start(documents)).toEqual(documents.map((_, at) => (at === 2 ? [2, 1] : [1, 1])))
  })

  it('opens uncached files twice at each start: settings in code, lifecycle hooks, tool policy', () => {
    const documents = [
      put('home/.vtcode/vtcode.config.ts', 'export default { output: { max_text_bytes: 9000 as const } }'),
      put('home/.vtcode/plugins/mine/vtcode/hooks.json', '{ "hooks": {} }'),
      put('ws/.vtcode/tool-policy.json', '{ "version": 1, "policies": { "web_search": "deny" } }'),
    ]
    for (const round of [1, 2]) expect(start(documents), `start ${round}`).toEqual(documents.map(() => [2, 1]))
  })
})
