import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  appendFileSync,
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { createKernel } from 'vtcode'
import { tempWorkspace, type TempWorkspace } from 'vtcode/test'
import { rounds } from '../../support/exec.js'
import { holdForFile } from '../../support/held.js'
import { vtcode, type Ran } from '../../support/program.js'

const manifest = (text = 'hello') =>
  `name: acme_hello\ndescription: Says hello.\nversion: 1.0.0\neffects: []\nmodule: ./hello.js\n# ${text}\n`
const module = (text: string) => `export default () => ({ ok: true, output: { said: ${JSON.stringify(text)} } })\n`
const files = { 'src/acme/vtcode.yaml': manifest(), 'src/acme/hello.js': module('hello') }

const plugins = (made: TempWorkspace, ...words: string[]): Promise<Ran> => vtcode(made, ['plugins', ...words])
const answer = async (made: TempWorkspace, ...options: string[]) => {
  const result = JSON.parse((await vtcode(made, [...options, 'call', 'acme_hello'])).stdout)
  return result.ok ? result.output : result.error.code
}
/** The answer of the plugin in this process: for tests in which the isolated process of a plugin is not the subject. */
const inlineAnswer = (made: TempWorkspace) => answer(made, '-c', 'plugins.isolate=inline')
const at = (made: TempWorkspace, path: string): string => join(made.home, '.vtcode', path)
const lock = (made: TempWorkspace) => JSON.parse(readFileSync(at(made, 'plugins.lock.json'), 'utf8')).plugins
const put = (file: string, text: string | Buffer): void => {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
}

describe('vtcode plugins add', () => {
  it('takes what is committed from a git folder, bare or not, and from file:// with any name', async () => {
    await using made = await tempWorkspace(files)
    const git = (...words: string[]) =>
      execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.org', ...words], {
        cwd: join(made.root, 'src/acme'),
      })
    git('init', '-q')
    git('add', '.')
    git('commit', '-qm', 'one')
    await made.write('src/acme/hello.js', module('not committed'))
    git('clone', '-q', '--bare', '.', join(made.root, 'bare.git'))
    for (const place of ['src/acme/.git', 'bare.git', `file://${made.root}/src/acme`]) {
      expect(await plugins(made, 'add', place, '--yes', '--name', 'acme')).toMatchObject({ code: 0 })
      expect(await inlineAnswer(made)).toEqual({ said: 'hello' })
      expect(lock(made).acme.source).toMatchObject({ type: 'git', commit: expect.stringMatching(/^[0-9a-f]{40}$/) })
      await plugins(made, 'remove', 'acme', '--yes')
    }
  })

  it('replaces a plugin with a second version, names both versions and sources, and downgrades only on request', async () => {
    await using made = await tempWorkspace(files)
    const packed = async (version: string, said: string) => {
      const folder = `v${version}`
      await made.write(`${folder}/vtcode.yaml`, manifest().replace(/version: .*/, `version: ${version}`))
      await made.write(`${folder}/hello.js`, module(said))
      await made.write(`${folder}/package.json`, JSON.stringify({ name: '@acme/Tools_x', version }))
      execFileSync('tar', ['-czf', `${version}.tgz`, folder], { cwd: made.root })
      return plugins(made, 'add', `${version}.tgz`, '--yes')
    }
    expect(await packed('1.9.0', 'one')).toMatchObject({ code: 0, stdout: 'Installed acme-tools-x.\n' })
    const second = await packed('1.10.0', 'two')
    expect([second.code, second.stderr]).toEqual([
      0,
      expect.stringMatching(
        /^source  archive \S+ sha256-\S+\nVersion 1\.10\.0 replaces 1\.9\.0, from \S+1\.10\.0\.tgz instead of \S+1\.9\.0\.tgz\.\n[^]*~ hello\.js/,
      ),
    ])
    expect([await inlineAnswer(made), Object.keys(lock(made)), lock(made)['acme-tools-x'].version]).toEqual([
      { said: 'two' },
      ['acme-tools-x'],
      '1.10.0',
    ])
    // A publisher cannot restore an old fault unnoticed with an update.
    execFileSync('cp', ['1.9.0.tgz', '1.10.0.tgz'], { cwd: made.root })
    expect(await plugins(made, 'update', 'acme-tools-x', '--yes')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/would go back from version 1\.10\.0 to 1\.9\.0[^]*Nothing was changed/),
    })
    expect(await inlineAnswer(made)).toEqual({ said: 'two' })
    const back = await plugins(made, 'add', '1.9.0.tgz', '--yes')
    expect([back.code, back.stderr]).toEqual([0, expect.stringContaining('it is OLDER')])
    expect(await inlineAnswer(made)).toEqual({ said: 'one' })
  })

  it('shows what a plugin may do, installs nothing without a yes, and runs it after one', async () => {
    await using made = await tempWorkspace(files)
    const unasked = await plugins(made, 'add', 'src/acme')
    expect(unasked).toMatchObject({ code: 1, stdout: '' })
    expect(unasked.stderr).toMatch(/runs the code in \.\/hello\.js/)
    expect(unasked.stderr).toMatch(/--yes.*Nothing was changed/)
    expect(readdirSync(at(made, 'plugins'))).toEqual([])
    expect(await plugins(made, 'add', 'src/acme', '--yes')).toMatchObject({ code: 0, stdout: 'Installed acme.\n' })
    expect(await answer(made)).toEqual({ said: 'hello' })
    expect(lock(made).acme).toMatchObject({
      format: 'vtcode',
      version: '1.0.0',
      source: { type: 'path' },
      tree: expect.stringMatching(/^tree1:sha256-/),
      files: { 'vtcode.yaml': expect.any(String) },
    })
    expect((await plugins(made, 'add', 'src/acme', '--yes')).stderr).toMatch(
      /this version of acme is installed already/,
    )
  })

  it('locks every byte, refuses to run a later change, and restores it with update', async () => {
    await using made = await tempWorkspace(files)
    await plugins(made, 'add', 'src/acme', '--yes')
    appendFileSync(at(made, 'plugins/acme/hello.js'), '\n')
    expect(await answer(made)).toBe('VT_PLUGIN_LOCK')
    expect((await plugins(made, 'update')).stdout).toBe('Updated acme.\n')
    expect(await answer(made)).toEqual({ said: 'hello' })
    writeFileSync(at(made, 'plugins/acme/vtcode.yaml'), manifest('changed'))
    expect(await answer(made)).toBe('VT_PLUGIN_LOCK')
    const { contributions } = JSON.parse((await plugins(made, 'list', '--json')).stdout)
    expect(contributions.find(({ id }: { id: string }) => id === 'acme:acme_hello')).toMatchObject({
      state: 'unlocked',
      reason: expect.stringContaining('vtcode.yaml'),
    })
  })

  it('runs no plugin that was copied by hand until --in-place agrees to it', async () => {
    await using made = await tempWorkspace()
    put(at(made, 'plugins/acme/vtcode.yaml'), manifest())
    put(at(made, 'plugins/acme/hello.js'), module('by hand'))
    expect(await inlineAnswer(made)).toBe('VT_PLUGIN_LOCK')
    expect((await plugins(made, 'add', '--in-place', at(made, 'plugins/acme'), '--yes')).code).toBe(0)
    expect(await inlineAnswer(made)).toEqual({ said: 'by hand' })
  })

  it('refuses a broken, empty or badly named source, and a call of a program that vtcode started', async () => {
    await using made = await tempWorkspace({
      ...files,
      'src/broken/vtcode.yaml': 'name: x\nnonsense: 1\n',
      'src/empty/readme.md': '',
    })
    const refused = async (...words: string[]) => (await plugins(made, 'add', ...words, '--yes')).stderr
    expect(await refused('src/broken')).toMatch(/vtcode\.yaml.*nonsense/)
    expect(await refused('src/empty')).toMatch(/contains no manifest/)
    expect(await refused('src/nothing')).toMatch(/does not exist and is no git/)
    expect(await refused('src/acme', '--name', 'builtin')).toMatch(/is no valid plugin name/)
    expect(await refused('src/acme', '--name', '../up')).toMatch(/is no valid plugin name/)
    execFileSync('mkfifo', [join(made.root, 'src/acme/pipe')])
    expect(await refused('src/acme')).toMatch(/neither a file nor a link/)
    expect((await vtcode(made, ['plugins', 'add', 'src/acme', '--yes'], { env: { VTCODE: '1' } })).stderr).toMatch(
      /a program that vtcode started/,
    )
    expect(readdirSync(at(made, 'plugins'))).toEqual([])
  })

  it('trusts a lock and the leftovers of an update in a repository only for its own plugins', async () => {
    await using made = await tempWorkspace({ ...files, 'keep/mine.txt': 'mine' })
    const entry = {
      format: 'vtcode',
      source: { type: 'path', path: join(made.root, 'src/acme') },
      tree: 'tree1:sha256-x',
      files: {},
      executes: 'x',
    }
    for (const name of [
      '../../new',
      '../../.git/hooks',
      '/tmp/x',
      '..',
      '.',
      '.former-acme',
      '',
      'a/../../b',
      'a\\b',
    ]) {
      put(join(made.root, '.vtcode/plugins.lock.json'), JSON.stringify({ version: 1, plugins: { [name]: entry } }))
      for (const words of [['update'], ['add', 'src/acme']])
        expect((await plugins(made, ...words, '--here', '--yes')).stderr, name).toMatch(/is not the name of a folder/)
    }
    for (const source of [
      { type: 'path', path: {} },
      { type: '__proto__', path: [] },
      { type: 'git', url: 5 },
      { type: 'git', url: 'x', subdir: null },
    ]) {
      put(
        join(made.root, '.vtcode/plugins.lock.json'),
        JSON.stringify({ version: 1, plugins: { acme: { ...entry, source } } }),
      )
      expect((await plugins(made, 'update', '--here', '--yes')).stderr, JSON.stringify(source)).toMatch(
        /its entry 'acme' has no source, files or tree/,
      )
    }
    for (const source of [
      { type: 'git', url: 'ext::touch% new' },
      { type: 'git', url: '--upload-pack=touch new' },
      { type: 'git', url: `file://${made.root}`, ref: '--upload-pack=touch new' },
      { type: 'npm', url: '--registry=http://localhost' },
      { type: 'archive', url: 'http://169.254.169.254/x.tgz', integrity: 'sha256-x' },
    ]) {
      put(
        join(made.root, '.vtcode/plugins.lock.json'),
        JSON.stringify({ version: 1, plugins: { acme: { ...entry, source } } }),
      )
      expect((await plugins(made, 'update', 'acme', '--here', '--yes')).stderr, JSON.stringify(source)).toMatch(
        /Nothing was changed/,
      )
    }
    expect(existsSync(join(made.root, 'new'))).toBe(false)
    rmSync(join(made.root, '.vtcode'), { recursive: true })
    // A folder that no update moved stays in its place, and replaces no plugin.
    for (const [path, text] of [
      ['plugins/.former-mine/vtcode.yaml', manifest()],
      ['plugins/mine/keep.txt', 'mine'],
      ['plugins/.former-../x', 'x'],
      ['plugins/.former-/x', 'x'],
      ['history/keep.txt', 'mine'],
    ] as const)
      put(join(made.root, '.vtcode', path), text)
    expect((await plugins(made, 'add', 'src/acme', '--here', '--yes')).code).toBe(0)
    expect([await made.read('.vtcode/plugins/mine/keep.txt'), await made.read('.vtcode/history/keep.txt')]).toEqual([
      'mine',
      'mine',
    ])
    expect(readdirSync(join(made.root, '.vtcode/plugins')).sort()).toEqual([
      '.former-',
      '.former-..',
      '.former-mine',
      'acme',
      'mine',
    ])
  })

  it('installs nothing into a plugin folder that leads out of the workspace, but follows a link within it', async () => {
    await using made = await tempWorkspace({ ...files, 'elsewhere/a.txt': 'x' })
    mkdirSync(join(made.home, 'out'))
    mkdirSync(join(made.root, '.vtcode'))
    symlinkSync(join(made.home, 'out'), join(made.root, '.vtcode/plugins'))
    expect((await plugins(made, 'add', 'src/acme', '--here', '--yes')).stderr).toMatch(/leads out of the workspace/)
    expect(readdirSync(join(made.home, 'out'))).toEqual([])
    rmSync(join(made.root, '.vtcode'), { recursive: true })
    for (const to of ['out', 'gone']) {
      symlinkSync(join(made.home, to), join(made.root, '.vtcode'))
      expect((await plugins(made, 'add', 'src/acme', '--here', '--yes')).stderr).toMatch(/\.vtcode is a link/)
      rmSync(join(made.root, '.vtcode'))
    }
    expect([readdirSync(join(made.home, 'out')), existsSync(join(made.home, 'gone'))]).toEqual([[], false])
    mkdirSync(join(made.root, '.vtcode'))
    symlinkSync('../elsewhere', join(made.root, '.vtcode/plugins'))
    expect((await plugins(made, 'add', 'src/acme', '--here', '--yes')).code).toBe(0)
    expect(readdirSync(join(made.root, 'elsewhere')).sort()).toEqual(['a.txt', 'acme'])
  })

  it('follows changes of a folder added with --link', async () => {
    await using made = await tempWorkspace(files)
    expect((await plugins(made, 'add', '--link', 'src/acme', '--yes')).code).toBe(0)
    await made.write('src/acme/hello.js', module('changed'))
    expect(await answer(made)).toEqual({ said: 'changed' })
    expect((await plugins(made, 'remove', 'acme')).code).toBe(0)
    expect(await made.read('src/acme/hello.js')).toBe(module('changed'))
  })

  it('grants no trust to a plugin that is added to a workspace', async () => {
    await using made = await tempWorkspace(files)
    expect((await plugins(made, 'add', '--here', 'src/acme', '--yes')).code).toBe(0)
    expect(existsSync(join(made.root, '.vtcode/plugins.lock.json'))).toBe(true)
    expect(await inlineAnswer(made)).toBe('VT_PLUGIN_UNTRUSTED')
    await vtcode(made, ['trust', 'add', '--all'])
    expect(await inlineAnswer(made)).toEqual({ said: 'hello' })
  })

  it('keeps each of several simultaneous plugins, and removes what a killed installation left', async () => {
    await using made = await tempWorkspace({
      ...files,
      'src/other/vtcode.yaml': 'name: other\ndescription: x\nrun: [echo]\n',
      'src/third/vtcode.yaml': 'name: third\ndescription: x\nrun: [echo]\n',
    })
    put(at(made, 'plugins/.adding-dead/copy/x'), '')
    const all = await Promise.all(
      ['acme', 'other', 'third'].map((name) => plugins(made, 'add', `src/${name}`, '--yes')),
    )
    expect(all.map(({ code }) => code)).toEqual([0, 0, 0])
    expect(Object.keys(lock(made))).toEqual(['acme', 'other', 'third'])
    expect(readdirSync(at(made, 'plugins')).sort()).toEqual(['acme', 'other', 'third'])
  })

  it("shows hidden characters of a plugin's text escaped, and sends none to the terminal", async () => {
    await using made = await tempWorkspace({
      'src/sly/vtcode.yaml': 'name: sly\ndescription: "Says\\u200b hello.\\u001b[2J"\nrun: [echo, "\\u001b[31m"]\n',
    })
    const { stderr } = await plugins(made, 'add', 'src/sly', '--yes')
    expect(stderr).toMatch(/original text/)
    expect(stderr).toContain('Says\\u200b')
    expect(/[\u001b\u200b]/.test(stderr)).toBe(false)
  })
})

describe('vtcode plugins add of an archive', () => {
  it.each([
    ['tgz', 'tar -czf acme.tgz -C src acme'],
    ['tar', 'tar -cf acme.tar -C src/acme .'],
    ['zip', `python3 -ISc "import shutil; shutil.make_archive('acme', 'zip', 'src')"`],
  ])('installs an archive: %s', async (end, command) => {
    await using made = await tempWorkspace(files)
    execFileSync('sh', ['-c', command], { cwd: made.root })
    const { code, stderr } = await plugins(made, 'add', `acme.${end}`, '--yes')
    expect(code, stderr).toBe(0)
    expect(await inlineAnswer(made)).toEqual({ said: 'hello' })
    expect(lock(made).acme.source).toMatchObject({ type: 'archive', integrity: expect.stringMatching(/^sha256-/) })
  })

  it.each([
    ['tgz', 'tar -czf acme.tgz -C src acme'],
    ['tar', 'tar -cf acme.tar -C src/acme .'],
    ['zip', `python3 -ISc "import shutil; shutil.make_archive('acme', 'zip', 'src')"`],
  ])('installs no .git folder, which no digest covers: %s', async (end, command) => {
    await using made = await tempWorkspace({
      ...files,
      'src/acme/.git/config': '[core]\n\tfsmonitor = ./evil\n',
      'src/acme/.git/HEAD': 'ref: refs/heads/main\n',
      'src/acme/lib/.git/config': 'counted\n',
    })
    execFileSync('sh', ['-c', command], { cwd: made.root })
    const { code, stderr } = await plugins(made, 'add', `acme.${end}`, '--yes')
    expect(code, stderr).toBe(0)
    expect([
      await inlineAnswer(made),
      existsSync(at(made, 'plugins/acme/.git')),
      Object.keys(lock(made).acme.files).sort(),
    ]).toEqual([{ said: 'hello' }, false, ['hello.js', 'lib/.git/config', 'vtcode.yaml']])
    expect((await plugins(made, 'update')).stdout).toBe('acme has not changed.\n')
  })

  const tar = (body: string) =>
    `with tarfile.open('bad.tar', 'w') as t:\n${body
      .split('\n')
      .map((line) => `  ${line}`)
      .join('\n')}`
  const tarEntry = (
    kind: string,
    name = 'a/x',
    link = kind.endsWith('LNKTYPE') || kind.endsWith('SYMTYPE') ? '/etc/passwd' : '',
  ) =>
    tar(
      `i = tarfile.TarInfo(${JSON.stringify(name)})\ni.type = tarfile.${kind}\ni.linkname = ${JSON.stringify(link)}\nt.addfile(i)`,
    )
  const tarFile = tar(
    "for x in ['a/x', 'a/y']:\n  i = tarfile.TarInfo(x)\n  i.size = 9\n  t.addfile(i, io.BytesIO(b'nine byte'))",
  )
  const changed = (end: string, at: string) =>
    `b = bytearray(open('bad.${end}', 'rb').read())\nb[${at}] ^= 1\nopen('bad.${end}', 'wb').write(b)`
  const zipped = (body: string) =>
    `with zipfile.ZipFile('bad.zip', 'w', zipfile.ZIP_DEFLATED) as z:\n${body
      .split('\n')
      .map((line) => `  ${line}`)
      .join('\n')}`
  const badArchives: [string, string, string, RegExp][] = [
    ['a link', 'tar', tarEntry('SYMTYPE'), /link or a device/],
    ['a hard link', 'tar', tarEntry('LNKTYPE'), /link or a device/],
    ['a pipe', 'tar', tarEntry('FIFOTYPE'), /link or a device/],
    ['a device', 'tar', tarEntry('CHRTYPE'), /link or a device/],
    ['a path that leads out', 'tar', tarEntry('REGTYPE', '../../evil'), /leads out/],
    ['an absolute path', 'tar', tarEntry('REGTYPE', '/tmp/evil'), /not a relative path/],
    ['a name twice', 'tar', tar("for x in range(2):\n  t.addfile(tarfile.TarInfo('a/x'))"), /twice/],
    ['a path below a file', 'tar', tar("t.addfile(tarfile.TarInfo('a'))\nt.addfile(tarfile.TarInfo('a/x'))"), /twice/],
    ['a damaged header', 'tar', "open('bad.tar', 'wb').write(b'x' * 1024)", /damaged/],
    [
      'too many entries',
      'tar',
      tar("for x in range(20001):\n  t.addfile(tarfile.TarInfo(f'a/{x}'))"),
      /more than 20000/,
    ],
    [
      'a zip of more than a hundred times its size',
      'zip',
      zipped("z.writestr('a/x', b'0' * 500_000)"),
      /unpacks to more than/,
    ],
    [
      'a link in a zip',
      'zip',
      zipped(
        "i = zipfile.ZipInfo('a/x')\ni.external_attr = (stat.S_IFLNK | 0o777) << 16\nz.writestr(i, '/etc/passwd')",
      ),
      /link or a device/,
    ],
    ['a path of a zip that leads out', 'zip', zipped("z.writestr('../evil', b'')"), /leads out/],
    [
      'a backslash',
      'zip',
      zipped("i = zipfile.ZipInfo('x')\ni.filename = 'a\\\\..\\\\evil'\nz.writestr(i, b'')"),
      /not a relative path/,
    ],
    ['nothing', 'zip', zipped('pass'), /empty/],
    [
      'a file whose CRC is wrong',
      'zip',
      zipped("z.writestr('a/x', b'what was packed')") + '\n' + changed('zip', "b.rindex(b'PK\\x01\\x02') + 16"),
      /'a\/x' in the archive is damaged: its CRC is wrong/,
    ],
    [
      'a stored file that was changed',
      'zip',
      zipped("z.writestr('a/x', b'what was packed', zipfile.ZIP_STORED)") +
        '\n' +
        changed('zip', "b.index(b'what was')"),
      /its CRC is wrong/,
    ],
    [
      'a header whose checksum is wrong',
      'tar',
      tarFile + '\n' + changed('tar', '0'),
      /damaged, or it is not a tar archive: .*checksum/,
    ],
    [
      'a second header whose checksum is wrong',
      'tar',
      tarFile + '\n' + changed('tar', '1024'),
      /damaged, or it is not a tar archive: .*checksum/,
    ],
    [
      'an end that is missing',
      'tar',
      tarFile + "\nb = open('bad.tar', 'rb').read()\nopen('bad.tar', 'wb').write(b[:520])",
      /damaged, or it is not a tar archive: .*Truncated/,
    ],
    [
      'a size below nothing',
      'tar',
      "r = b'14 size=-1536\\n'\ndef h(n, s, t):\n  b = bytearray(512); b[0:len(n)] = n; b[100:107] = b'0000644'; b[124:135] = b'%011o' % s; b[148:156] = b' ' * 8; b[156:157] = t; b[257:263] = b'ustar\\0'; b[263:265] = b'00'; b[148:156] = b'%06o\\0 ' % sum(b); return bytes(b)\nopen('bad.tar', 'wb').write(h(b'P', len(r), b'x') + r.ljust(512, b'\\0') + h(b'a/x', 3, b'0') + b'abc'.ljust(512, b'\\0') + bytes(1024))",
      /nothing of it|no manifest/,
    ],
    [
      'a size that no number holds',
      'tar',
      "r = b'25 size=9007199254740993\\n'\ndef h(n, s, t):\n  b = bytearray(512); b[0:len(n)] = n; b[100:107] = b'0000644'; b[124:135] = b'%011o' % s; b[148:156] = b' ' * 8; b[156:157] = t; b[257:263] = b'ustar\\0'; b[263:265] = b'00'; b[148:156] = b'%06o\\0 ' % sum(b); return bytes(b)\nopen('bad.tar', 'wb').write(h(b'P', len(r), b'x') + r.ljust(512, b'\\0') + h(b'a/x', 3, b'0') + b'abc'.ljust(512, b'\\0') + bytes(1024))",
      /damaged, or it is not a tar archive: the size/,
    ],
    ['an unknown kind of entry', 'tar', tarEntry('REGTYPE').replace('tarfile.REGTYPE', "b'Z'"), /link or a device/],
  ]
  let archives: TempWorkspace
  // One Python process makes all the archives.
  beforeAll(async () => {
    archives = holdForFile(await tempWorkspace())
    const script = `import tarfile, zipfile, io, stat, os, json, sys
for i, body in enumerate(json.load(sys.stdin)):
  os.mkdir(str(i))
  os.chdir(str(i))
  exec(body, {'tarfile': tarfile, 'zipfile': zipfile, 'io': io, 'stat': stat})
  os.chdir('..')`
    execFileSync('python3', ['-c', script], {
      cwd: archives.root,
      input: JSON.stringify(badArchives.map(([, , body]) => body)),
    })
  })
  it.each(badArchives)(
    'refuses an archive with %s, and leaves nothing half installed',
    async (_, end, script, reason) => {
      await using made = await tempWorkspace()
      copyFileSync(
        join(archives.root, String(badArchives.findIndex((row) => row[2] === script)), `bad.${end}`),
        join(made.root, `bad.${end}`),
      )
      const { code, stderr } = await plugins(made, 'add', `bad.${end}`, '--yes')
      expect([code, stderr]).toEqual([1, expect.stringMatching(reason)])
      expect(readdirSync(at(made, 'plugins'))).toEqual([])
      expect(readdirSync(dirname(made.root)).sort()).toEqual(['home', 'ws'])
    },
  )

  it('requires the hash of an archive from the web, and installs only a match', async () => {
    await using made = await tempWorkspace(files)
    execFileSync('tar', ['-czf', 'acme.tgz', '-C', 'src', 'acme'], { cwd: made.root })
    const bytes = readFileSync(join(made.root, 'acme.tgz'))
    const server = createServer((request, response) =>
      request.url === '/moved.tgz' ? response.writeHead(302, { location: '/acme.tgz' }).end() : response.end(bytes),
    ).listen(0, '127.0.0.1')
    try {
      await new Promise((resolve) => server.once('listening', resolve))
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/moved.tgz`
      const hash = createHash('sha256').update(bytes).digest('hex')
      const get = (...words: string[]) =>
        vtcode(made, [
          '--config',
          'web.private_hosts=["127.0.0.1"]',
          'plugins',
          'add',
          url,
          '--name',
          'acme',
          '--yes',
          ...words,
        ])
      expect((await get()).stderr).toMatch(/--sha256/)
      expect(
        (
          await get(
            '--sha256',
            hash.replace(/^./, (c) => (c === '0' ? '1' : '0')),
          )
        ).stderr,
      ).toMatch(/the archive has the hash/)
      expect((await plugins(made, 'add', url, '--name', 'acme', '--yes', '--sha256', hash)).stderr).toMatch(
        /127\.0\.0\.1/,
      )
      const { code, stderr } = await get('--sha256', hash)
      expect(code, stderr).toBe(0)
      expect(await inlineAnswer(made)).toEqual({ said: 'hello' })
    } finally {
      server.close()
    }
  })
})

describe('vtcode plugins add of a git repository', () => {
  it('installs at a tag, updates from a branch, and shows changed permissions again', async () => {
    await using made = await tempWorkspace(files)
    const repository = join(made.root, 'src/acme')
    const git = (...words: string[]) =>
      execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.org', ...words], {
        cwd: repository,
        encoding: 'utf8',
      }).trim()
    git('init', '-q', '-b', 'main')
    git('add', '.')
    git('commit', '-qm', 'one')
    git('tag', 'v1')
    const commit = git('rev-parse', 'HEAD')
    await made.write('src/acme/hello.js', module('newer'))
    git('commit', '-qam', 'two')
    const url = `git+file://${repository}`
    const tagged = await plugins(made, 'add', `${url}#v1`, '--yes')
    expect(tagged.code, tagged.stderr).toBe(0)
    expect(lock(made).acme.source).toEqual({ type: 'git', url: `file://${repository}`, ref: 'v1', commit })
    expect(await inlineAnswer(made)).toEqual({ said: 'hello' })
    expect(existsSync(at(made, 'plugins/acme/.git'))).toBe(false)

    expect((await plugins(made, 'add', url, '--name', 'latest', '--yes')).code).toBe(0)
    await made.write('src/acme/vtcode.yaml', manifest().replace('effects: []', 'effects: [net]'))
    git('commit', '-qam', 'three')
    const unasked = await plugins(made, 'update', 'latest')
    expect(unasked.code).toBe(1)
    expect(unasked.stderr).toMatch(/\[net\]/)
    expect(lock(made).latest.source.commit).toBe(git('rev-parse', 'HEAD~1'))
    expect((await plugins(made, 'update', '--yes')).stdout).toBe('acme has not changed.\nUpdated latest.\n')
    expect(lock(made).latest.source.commit).toBe(git('rev-parse', 'HEAD'))
    expect((await plugins(made, 'add', `${url}#--upload-pack=evil`, '--name', 'x', '--yes')).stderr).toMatch(
      /is no branch/,
    )
  })
})

describe('vtcode plugins add of an npm package', () => {
  it('installs from the registry of the user, and runs none of its scripts', async () => {
    await using made = await tempWorkspace({
      'package/package.json': JSON.stringify({
        name: '@acme/tools',
        version: '1.2.3',
        scripts: { install: 'touch /tmp/vtcode-evil', prepack: 'touch ../evil', postinstall: 'touch ../evil' },
      }),
      'package/vtcode/hello.yaml': manifest().replace('./hello.js', '../hello.js'),
      'package/hello.js': module('from npm'),
    })
    execFileSync('tar', ['-czf', 'pack.tgz', 'package'], { cwd: made.root })
    const bytes = readFileSync(join(made.root, 'pack.tgz'))
    const integrity = `sha512-${createHash('sha512').update(bytes).digest('base64')}`
    const server = createServer((request, response) => {
      if (request.url!.endsWith('.tgz')) return response.end(bytes)
      const tarball = `http://${request.headers.host}/pack.tgz`
      return response.setHeader('content-type', 'application/json').end(
        JSON.stringify({
          name: '@acme/tools',
          'dist-tags': { latest: '1.2.3' },
          versions: { '1.2.3': { name: '@acme/tools', version: '1.2.3', dist: { tarball, integrity } } },
        }),
      )
    }).listen(0, '127.0.0.1')
    try {
      await new Promise((resolve) => server.once('listening', resolve))
      put(
        join(made.home, '.npmrc'),
        `registry=http://127.0.0.1:${(server.address() as AddressInfo).port}/\nupdate-notifier=false\n`,
      )
      const { code, stderr } = await plugins(made, 'add', 'npm:@acme/tools@^1', '--yes')
      expect(code, stderr).toBe(0)
      expect(lock(made)['acme-tools']).toMatchObject({
        version: '1.2.3',
        source: { type: 'npm', url: '@acme/tools@^1', ref: '1.2.3', integrity },
      })
      expect(await inlineAnswer(made)).toEqual({ said: 'from npm' })
      expect((await plugins(made, 'add', 'npm:../package', '--yes')).stderr).toMatch(/is no npm package name/)
    } finally {
      server.close()
    }
  })
})

describe('answers of npm and a registry', () => {
  const isRefused = ({ code, stdout, stderr }: Ran, reason: RegExp): void => {
    expect([code, stdout, stderr]).toEqual([1, '', expect.stringMatching(reason)])
    expect(stderr).toMatch(/Nothing was changed\.?\n$/)
    expect(stderr).not.toMatch(/^ +at |[\u001b\u202e]|TypeError|SyntaxError/m)
  }

  it.each([
    '',
    'null',
    '[]',
    '{}',
    '[null]',
    '[["a.tgz"]]',
    '{"0":{"filename":"a.tgz"}}',
    '[{"filename":{"toString":1},"integrity":"x","version":"1"}]',
    '[{"filename":"gone.tgz","integrity":"x","version":"1"}]',
    '[{"filename":"../../../.npmrc","integrity":"x","version":"1"}]',
    '[{"filename":"..","integrity":"x","version":"1"}]',
    '[{"filename":"a\\u0000b","integrity":"x","version":"1"}]',
    'npm notice',
  ])('installs nothing when npm prints %j', async (printed) => {
    await using made = await tempWorkspace()
    put(join(made.home, '.npmrc'), 'registry=http://127.0.0.1:9/\n')
    const config = JSON.stringify({ registry: 'http://127.0.0.1:9/' })
    const view = JSON.stringify({ version: '1.0.0', dist: { tarball: 'http://127.0.0.1:9/acme.tgz' } })
    put(join(made.home, 'bin/npm'), '#!/bin/sh\ncat "$HOME/$1"\n')
    chmodSync(join(made.home, 'bin/npm'), 0o755)
    const env = { PATH: `${join(made.home, 'bin')}:${process.env['PATH']}` }
    for (const [answers, reason] of [
      [{ config, view, pack: printed }, /npm pack did not report a package/],
      [{ config, view: printed }, /the registry names no archive of 'acme'/],
    ] as const) {
      for (const [command, text] of Object.entries(answers)) put(join(made.home, command), text)
      isRefused(await vtcode(made, ['plugins', 'add', 'npm:acme', '--yes'], { env }), reason)
    }
    expect(readdirSync(at(made, 'plugins'))).toEqual([])
  })

  it('follows the answer of a registry nowhere else, and reports a wrong one in one sentence', async () => {
    await using made = await tempWorkspace({ 'secret.tgz': 'x' })
    const dist = (tarball: unknown, integrity: unknown = `sha512-${'A'.repeat(86)}==`) => ({
      name: 'acme',
      'dist-tags': { latest: '1.0.0' },
      versions: { '1.0.0': { name: 'acme', version: '1.0.0', dist: { tarball, integrity } } },
    })
    let asked: string[] = []
    const server = createServer((request, response) => {
      asked.push(request.url!)
      if (request.url!.startsWith('/acme')) response.end(body)
      else response.end('not an archive')
    }).listen(0, '127.0.0.1')
    let body = ''
    try {
      await new Promise((resolve) => server.once('listening', resolve))
      const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
      put(join(made.home, '.npmrc'), `registry=${origin}/\nupdate-notifier=false\nfetch-retries=0\n`)
      const rows: [string, unknown][] = [
        ['another hash', dist(`${origin}/x.tgz`)],
        ['a file of the machine', dist(`file://${made.root}/secret.tgz`, null)],
        ['a program', dist('git+ssh://git@127.0.0.1/a/b.git', null)],
        [
          'a name with \u001b]52;c;eA==\u0007 and \u202e in it',
          {
            ...dist(`${origin}/x.tgz`),
            versions: {
              '1.0.0': {
                name: '\u001b]52;c;eA==\u0007\u202e',
                version: '\u001b[2J',
                dist: { tarball: `${origin}/\u001b[2J`, integrity: 'x' },
              },
            },
          },
        ],
        ['no list of versions', { name: 'acme', 'dist-tags': { latest: '1.0.0' }, versions: null }],
        [
          'a version of another shape',
          { name: 'acme', 'dist-tags': { latest: { toString: 1 } }, versions: { '1.0.0': 7 } },
        ],
        ['no archive, and no hash', dist(`${origin}/x.tgz`, null)],
        ['an error that writes to a terminal', { error: '\u001b]52;c;eA==\u0007\u202e gone' }],
        ['a list', []],
        ['a text', 'acme'],
      ]
      // npm starts for each row. The first rows lead elsewhere or reach the terminal; the others differ in shape only.
      for (const [what, said] of rows.slice(0, rounds(4, rows.length))) {
        body = JSON.stringify(said)
        asked = []
        const ran = await plugins(made, 'add', 'npm:acme', '--yes')
        isRefused(ran, /npm|archive/)
        expect(
          asked.filter((url) => !/^\/(?:acme|x\.tgz|%1B)/.test(url)),
          what,
        ).toEqual([])
      }
      expect(readdirSync(at(made, 'plugins'))).toEqual([])
    } finally {
      server.close()
    }
  })
})

describe('vtcode plugins add --deps', () => {
  it('installs what the lock of the package names, runs none of its scripts, and locks it too', async () => {
    const made_by = JSON.stringify({
      name: 'dep',
      version: '1.0.0',
      main: 'index.cjs',
      scripts: { preinstall: 'touch evil', install: 'touch evil', postinstall: 'touch evil' },
    })
    await using made = await tempWorkspace({
      'package/package.json': made_by,
      'package/index.cjs': "module.exports = 'from a dependency'\n",
      'src/acme/vtcode.yaml': manifest(),
      'src/acme/hello.js': "import said from 'dep'\nexport default () => ({ ok: true, output: { said } })\n",
      'src/acme/package.json': JSON.stringify({
        name: 'acme',
        version: '1.0.0',
        type: 'module',
        dependencies: { dep: 'file:dep.tgz' },
        scripts: { prepare: 'touch evil' },
      }),
    })
    execFileSync('tar', ['-czf', 'src/acme/dep.tgz', 'package'], { cwd: made.root })
    expect((await plugins(made, 'add', 'src/acme', '--deps', '--yes')).stderr).toMatch(
      /--deps needs a package-lock\.json in the package\. Nothing was changed/,
    )
    const integrity = `sha512-${createHash('sha512')
      .update(readFileSync(join(made.root, 'src/acme/dep.tgz')))
      .digest('base64')}`
    const lock_of = (hash: string) =>
      JSON.stringify({
        name: 'acme',
        version: '1.0.0',
        lockfileVersion: 3,
        requires: true,
        packages: {
          '': { name: 'acme', version: '1.0.0', dependencies: { dep: 'file:dep.tgz' } },
          'node_modules/dep': { version: '1.0.0', resolved: 'file:dep.tgz', integrity: hash, hasInstallScript: true },
        },
      })
    await made.write('src/acme/package-lock.json', lock_of(`sha512-${'A'.repeat(86)}==`))
    const other = await plugins(made, 'add', 'src/acme', '--deps', '--yes')
    expect([other.code, other.stderr]).toEqual([
      1,
      expect.stringMatching(/npm failed[^]*(?:integrity|EINTEGRITY|sha512)[^]*Nothing was changed/),
    ])
    await made.write('src/acme/package-lock.json', lock_of(integrity))
    const { code, stderr } = await plugins(made, 'add', 'src/acme', '--deps', '--yes')
    expect(code, stderr).toBe(0)
    expect(await answer(made)).toEqual({ said: 'from a dependency' })
    expect(execFileSync('find', ['.', '-name', 'evil'], { cwd: dirname(made.root), encoding: 'utf8' })).toBe('')
    expect((await plugins(made, 'update', '--yes')).stdout).toBe('acme has not changed.\n')
    expect(await answer(made)).toEqual({ said: 'from a dependency' })
    appendFileSync(at(made, 'plugins/acme/node_modules/dep/index.cjs'), '// changed\n')
    expect(await answer(made)).toBe('VT_PLUGIN_LOCK')
  }, 240_000)
})

describe('npm settings of a package or repository', () => {
  const packageWith = (entry: object) => ({
    'src/acme/vtcode.yaml': manifest(),
    'src/acme/hello.js': "export default () => ({ ok: true, output: { said: 'hello' } })\n",
    'src/acme/package.json': JSON.stringify({ name: 'acme', version: '1.0.0', dependencies: { dep: '1' } }),
    'src/acme/.npmrc': 'git=./run.sh\nnode-options=--import=./run.mjs\nregistry=http://127.0.0.1:9/\n',
    'src/acme/run.sh': '#!/bin/sh\ntouch "$HOME/evil"\n',
    'src/acme/package-lock.json': JSON.stringify({
      name: 'acme',
      version: '1.0.0',
      lockfileVersion: 3,
      packages: {
        '': { name: 'acme', dependencies: { dep: '1' } },
        'node_modules/dep': { version: '1.0.0', ...entry },
      },
    }),
  })
  it.each([
    [
      'git',
      {
        resolved: 'git+ssh://git@127.0.0.1/a/b.git#0123456789012345678901234567890123456789',
        integrity: `sha512-${'A'.repeat(86)}==`,
      },
      /'node_modules\/dep' is from git/,
    ],
    [
      'plain http',
      { resolved: 'http://127.0.0.1:9/dep.tgz', integrity: `sha512-${'A'.repeat(86)}==` },
      /is from http:/,
    ],
    ['no hash', { resolved: 'https://127.0.0.1:9/dep.tgz' }, /has no hash/],
    ['a link', { resolved: '../dep', link: true }, /is a link/],
    ['a bundle of its own', { resolved: 'http://127.0.0.1:9/dep.tgz', inBundle: true }, /has no hash/],
    ['a bundle without a hash', { inBundle: true }, /has no hash/],
    [
      'a lock of its own',
      { resolved: 'https://127.0.0.1/dep.tgz', integrity: `sha512-${'A'.repeat(86)}==`, hasShrinkwrap: true },
      /has its own lock/,
    ],
    ['a folder above', { resolved: 'file:../dep.tgz', integrity: `sha512-${'A'.repeat(86)}==` }, /is from file:/],
  ])('refuses dependencies by %s before it asks, and starts nothing', async (_, entry, reason) => {
    await using made = await tempWorkspace(packageWith(entry))
    chmodSync(join(made.root, 'src/acme/run.sh'), 0o755)
    const { code, stderr } = await plugins(made, 'add', 'src/acme', '--deps', '--yes')
    expect([code, stderr]).toEqual([1, expect.stringMatching(reason)])
    expect(existsSync(join(made.home, 'evil'))).toBe(false)
  })
  it('ignores the registry and programs of a repository, and starts npm only after consent', async () => {
    await using made = await tempWorkspace({
      ...packageWith({ resolved: 'https://127.0.0.1:9/dep.tgz', integrity: `sha512-${'A'.repeat(86)}==` }),
      '.npmrc': 'registry=http://127.0.0.1:9/\n',
      'package.json': '{}',
    })
    const tools = join(made.home, 'bin')
    mkdirSync(tools)
    writeFileSync(
      join(tools, 'npm'),
      '#!/bin/sh\n{ pwd; ls -A; echo "$npm_config_git"; } >> "$HOME/npm.log"\nexit 1\n',
      { mode: 0o755 },
    )
    const env = { PATH: `${tools}:${process.env['PATH']}` }
    expect((await vtcode(made, ['plugins', 'add', 'src/acme', '--deps'], { env })).stderr).toMatch(
      /there is no terminal to ask at/,
    )
    expect(existsSync(join(made.home, 'npm.log'))).toBe(false)
    const refused = await vtcode(made, ['plugins', 'add', 'src/acme', '--deps', '--yes'], { env })
    expect(refused.stderr).toMatch(/127\.0\.0\.1 is refused/)
    await vtcode(made, ['plugins', 'add', 'npm:acme', '--here', '--yes'], { env })
    const runs = readFileSync(join(made.home, 'npm.log'), 'utf8')
    expect(runs).not.toMatch(/\.npmrc|run\.sh/)
    expect(runs).not.toContain(made.root)
    expect(runs.match(/nonexistent/g)).toHaveLength(2)
  })
})

describe('the record of consents', () => {
  it('holds a line for every plugin that is added, changed or removed', async () => {
    await using made = await tempWorkspace(files)
    mkdirSync(join(made.home, '.vtcode'))
    writeFileSync(join(made.home, '.vtcode/vtcode.config.yaml'), 'trust: { audit_log: ~/consents.jsonl }\n')
    await plugins(made, 'add', 'src/acme', '--yes')
    await made.write('src/acme/hello.js', module('newer'))
    await plugins(made, 'update', 'acme', '--yes')
    await plugins(made, 'remove', 'acme', '--yes')
    const lines = readFileSync(join(made.home, 'consents.jsonl'), 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, string>)
    expect(lines.map(({ event, id }) => [event, id])).toEqual([
      ['granted', 'plugin:acme'],
      ['granted', 'plugin:acme'],
      ['revoked', 'plugin:acme'],
    ])
    expect(lines[0]!['digest']).toMatch(/^tree1:/)
    expect(lines[1]!['digest']).not.toBe(lines[0]!['digest'])
  })
})

describe('vtcode plugins remove', () => {
  it('refuses while another plugin requires it, and keeps data unless asked', async () => {
    await using made = await tempWorkspace({
      ...files,
      'src/needy/vtcode.yaml': 'name: needy\ndescription: x\nrequires: { plugins: [acme] }\nrun: [echo]\n',
    })
    await plugins(made, 'add', 'src/acme', '--yes')
    expect((await plugins(made, 'add', 'src/needy', '--yes')).code).toBe(0)
    expect((await plugins(made, 'remove', 'acme')).stderr).toMatch(/needy:needy requires it/)
    expect(await inlineAnswer(made)).toEqual({ said: 'hello' })
    expect((await plugins(made, 'remove', 'needy')).code).toBe(0)
    expect((await plugins(made, 'remove', 'acme', '--data')).code).toBe(0)
    expect(lock(made)).toEqual({})
    expect(await inlineAnswer(made)).toBe('VT_TOOL_UNKNOWN')
    expect((await plugins(made, 'remove', 'acme')).stderr).toMatch(
      /plugin not found: acme.*`vtcode plugins list` lists/,
    )
    expect((await plugins(made, 'remove', '..')).stderr).toMatch(/plugin not found: \.\./)
  })

  it.each([
    ['of the user', []],
    ['of the workspace', ['--here']],
  ] as [string, string[]][])('removes on request the data of modules and programs, of a plugin %s', async (_, here) => {
    const source = {
      'src/acme/vtcode/tell.yaml':
        'name: tell\ndescription: Tells where its data is.\neffects: []\nmodule: ./tell.js\n',
      'src/acme/vtcode/tell.js': 'export default (call, { plugin }) => ({ ok: true, output: { data: plugin.data } })\n',
      'src/acme/vtcode/keep.yaml':
        "name: keep\ndescription: Keeps something there.\nrun: [sh, -c, 'pwd; echo $PLUGIN_DATA; echo kept > file']\ncwd: data\n",
    }
    await using made = await tempWorkspace(source)
    const call = async (tool: string) =>
      JSON.parse((await vtcode(made, ['--mode', 'auto', '-c', 'policy.allow=["keep"]', 'call', tool])).stdout)
    expect((await plugins(made, 'add', 'src/acme', '--yes', ...here)).stderr).not.toMatch(/error/)
    if (here.length > 0) {
      const { digest } = JSON.parse((await vtcode(made, ['trust', 'list', '--json'])).stdout)
      await vtcode(made, ['trust', 'add', '--all', '--digest', digest])
    }
    const { data } = (await call('tell')).output
    expect((await call('keep')).output).toMatchObject({ stdout: `${data}\n${data}\n` })
    expect(readFileSync(join(data, 'file'), 'utf8')).toBe('kept\n')
    await plugins(made, 'remove', 'acme', '--yes', '--data', ...here)
    expect(existsSync(data)).toBe(false)
  })
})

describe('a changed policy of a plugin', () => {
  it('asks about the calls that an installed policy covered after its files changed', async () => {
    const policy = 'name: guard\nkind: policy\ndescription: x\nmodule: ./guard.js\n'
    await using made = await tempWorkspace({
      'src/guard/vtcode.yaml': policy,
      'src/guard/guard.js': 'export default () => undefined\n',
      'a.txt': 'a',
    })
    await plugins(made, 'add', 'src/guard', '--yes')
    const write = async () =>
      JSON.parse(
        (
          await vtcode(made, [
            '--config',
            'plugins.isolate=inline',
            '--mode',
            'auto',
            'call',
            'unified_file',
            'write',
            '--path',
            'b.txt',
            '--content',
            'x',
            '--overwrite',
            'true',
          ])
        ).stdout,
      )
    expect((await write()).ok).toBe(true)
    appendFileSync(at(made, 'plugins/guard/vtcode.yaml'), '# changed\n')
    const asked = {
      code: 'VT_POLICY_NEEDS_APPROVAL',
      message: expect.stringContaining(`vtcode plugins add --in-place ${at(made, 'plugins/guard')}`),
    }
    expect((await write()).error).toMatchObject({
      ...asked,
      message: expect.stringContaining('vtcode.yaml was changed'),
    })
    expect((await write()).error).toMatchObject(asked)
    writeFileSync(at(made, 'plugins/guard/vtcode.yaml'), policy)
    appendFileSync(at(made, 'plugins/guard/guard.js'), '// changed\n')
    expect((await write()).error).toMatchObject({ ...asked, message: expect.stringContaining('guard.js was changed') })
    expect((await write()).error).toMatchObject(asked)
  })
})

describe('an installed plugin', () => {
  const skill = '---\nname: acme-way\ndescription: How acme does it.\n---\nAs always.\n'
  const rules = "name: acme_rules\nkind: policy\nrules: { deny: ['Write(forbidden.txt)'] }\n"
  const whole = {
    'src/acme/vtcode/hello.yaml': manifest().replace('./hello.js', '../hello.js'),
    'src/acme/hello.js': module('hello'),
    'src/acme/vtcode/rules.yaml': rules,
    'src/acme/skills/acme-way/SKILL.md': skill,
    'src/acme/skills/acme-way/notes.md': 'x',
  }
  /** Returns how a freshly started program treats the plugin. */
  const now = async (made: TempWorkspace) => {
    const kernel = await createKernel({
      workspace: made.root,
      home: made.home,
      env: { PATH: process.env['PATH'] },
      mode: 'full-auto',
      config: { sandbox: { plugins: 'off' } },
    })
    try {
      const called = await kernel.call('acme_hello')
      const written = await kernel.call('unified_file', {
        action: 'write',
        path: 'free.txt',
        content: 'x',
        overwrite: true,
      })
      return {
        called: called.ok ? 'ok' : called.error.message,
        written: written.ok ? 'ok' : written.error.code,
        skill:
          kernel.inspection.skills().find('acme-way')?.state ??
          kernel.inspection
            .skills()
            .diagnostics.map(({ code }) => code)
            .join(),
      }
    } finally {
      await kernel.close()
    }
  }

  it('runs only while every byte is unchanged, and names each changed, new or missing file', async () => {
    await using made = await tempWorkspace(whole)
    expect((await plugins(made, 'add', 'src/acme', '--yes')).code).toBe(0)
    expect(await now(made)).toEqual({ called: 'ok', written: 'ok', skill: 'active' })
    const root = at(made, 'plugins/acme')
    for (const [file, change, named] of [
      ['hello.js', () => appendFileSync(join(root, 'hello.js'), '\n'), /hello\.js was changed/],
      [
        'skills/acme-way/SKILL.md',
        () => appendFileSync(join(root, 'skills/acme-way/SKILL.md'), 'Obey me.\n'),
        /SKILL\.md was changed/,
      ],
      ['skills/acme-way/notes.md', () => rmSync(join(root, 'skills/acme-way/notes.md')), /notes\.md is missing/],
      ['extra.js', () => writeFileSync(join(root, 'extra.js'), 'evil()'), /extra\.js is new/],
      ['link', () => symlinkSync('/etc/passwd', join(root, 'link')), /link is new/],
      ['vtcode/hello.yaml', () => appendFileSync(join(root, 'vtcode/hello.yaml'), '# x'), /hello\.yaml was changed/],
      ['pipe', () => execFileSync('mkfifo', [join(root, 'pipe')]), /neither a file nor a link/],
    ] as const) {
      change()
      expect(await now(made), file).toMatchObject({
        called: expect.stringMatching(named),
        skill: expect.stringContaining('VT_PLUGIN_LOCK'),
      })
      const { stdout } = await plugins(made, 'show', 'acme', '--json')
      expect(JSON.parse(stdout).contributions[0], file).toMatchObject({
        state: 'unlocked',
        reason: expect.stringMatching(named),
      })
      rmSync(root, { recursive: true })
      cpSync(join(made.root, 'src/acme'), root, { recursive: true })
    }
    expect((await now(made)).called).toBe('ok')
    writeFileSync(join(root, 'vtcode/rules.yaml'), rules.replace('forbidden', 'other'))
    expect(await now(made)).toMatchObject({ written: 'VT_POLICY_NEEDS_APPROVAL' })
    rmSync(root, { recursive: true })
    // A policy that is gone as a whole does not open what it shut.
    expect(await now(made)).toMatchObject({ written: 'VT_POLICY_NEEDS_APPROVAL' })
    expect((await vtcode(made, ['doctor'])).stdout).toMatch(
      /acme is installed, but its folder is missing[^]*plugins update acme/,
    )
    expect((await plugins(made, 'update', 'acme')).stdout).toBe('Updated acme.\n')
    expect(await now(made)).toEqual({ called: 'ok', written: 'ok', skill: 'active' })
  }, 240_000)

  it('keeps the old or the new plugin wherever an update is killed', async () => {
    await using made = await tempWorkspace(files)
    await plugins(made, 'add', 'src/acme', '--yes')
    const root = at(made, 'plugins/acme')
    const kept = at(made, 'plugins/.former-acme')
    await made.write('src/acme/hello.js', module('newer'))
    // Killed between the two renames: the new one waits in its folder of staging.
    renameSync(root, kept)
    cpSync(join(made.root, 'src/acme'), at(made, 'plugins/.adding-dead/copy'), { recursive: true })
    expect((await plugins(made, 'remove', 'other')).code).toBe(1)
    expect(readdirSync(at(made, 'plugins'))).toEqual(['acme'])
    expect(await answer(made)).toEqual({ said: 'hello' })
    // Killed after the second one, before the lock was written.
    renameSync(root, kept)
    cpSync(join(made.root, 'src/acme'), root, { recursive: true })
    expect(await answer(made)).toBe('VT_PLUGIN_LOCK')
    expect((await plugins(made, 'remove', 'other')).code).toBe(1)
    expect(await answer(made)).toEqual({ said: 'hello' })
    // Killed after that: only the former one is left to clear away.
    expect((await plugins(made, 'update', '--yes')).stdout).toBe('Updated acme.\n')
    cpSync(join(made.root, 'src/acme'), kept, { recursive: true })
    expect((await plugins(made, 'remove', 'other')).code).toBe(1)
    expect(readdirSync(at(made, 'plugins'))).toEqual(['acme'])
    expect(await answer(made)).toEqual({ said: 'newer' })
  })
})

describe('the plugin lock', () => {
  it('runs nothing, and reports that, when the lock cannot be read', async () => {
    await using made = await tempWorkspace(files)
    await plugins(made, 'add', 'src/acme', '--yes')
    for (const text of [
      '{',
      '{"version":2}',
      '{"version":1,"plugins":{"acme":{}}}',
      '{"version":1,"plugins":[null]}',
    ]) {
      writeFileSync(at(made, 'plugins.lock.json'), text)
      expect(await inlineAnswer(made)).toBe('VT_PLUGIN_LOCK')
      expect((await plugins(made, 'remove', 'acme')).stderr).toMatch(/plugins\.lock\.json cannot be used/)
    }
    expect(existsSync(at(made, 'plugins/acme'))).toBe(true)
  })
  it('installs no plugin when the lock cannot be written', async () => {
    await using made = await tempWorkspace(files)
    mkdirSync(at(made, 'plugins'), { recursive: true })
    // Modes do not hold root back.
    const root = process.getuid?.() === 0
    const close = () => (root ? void execFileSync('chattr', ['+i', at(made, '')]) : chmodSync(at(made, ''), 0o500))
    const open = () => (root ? void execFileSync('chattr', ['-i', at(made, '')]) : chmodSync(at(made, ''), 0o700))
    close()
    try {
      expect((await plugins(made, 'add', 'src/acme', '--yes')).code).toBe(1)
    } finally {
      open()
    }
    expect(readdirSync(at(made, 'plugins'))).toEqual([])
  })
})
