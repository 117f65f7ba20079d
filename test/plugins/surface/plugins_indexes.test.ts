import { createHash } from 'node:crypto'
import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { tempWorkspace, type TempWorkspace } from 'vtcode/test'
import { vtcode, type Ran } from '../../support/program.js'

const plugin = (name: string, said = 'hello') => ({
  [`${name}/vtcode.yaml`]: `name: ${name.replace(/.*\//, '')}_hello\ndescription: Says hello.\nversion: 1.0.0\neffects: []\nmodule: ./hello.js\n`,
  [`${name}/hello.js`]: `export default () => ({ ok: true, output: { said: '${said}' } })\n`,
})

async function serve(listener: RequestListener) {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: () =>
      new Promise<void>((resolve) => (server.closeAllConnections(), server.close(() => resolve()))),
  }
}
/** `vtcode plugins …` of a user whose settings name these indexes. */
const plugins = (made: TempWorkspace, indexes: string[], ...words: string[]): Promise<Ran> => {
  mkdirSync(join(made.home, '.vtcode'), { recursive: true })
  writeFileSync(
    join(made.home, '.vtcode/vtcode.config.json'),
    JSON.stringify({ plugins: { indexes }, web: { private_hosts: ['127.0.0.1'] } }),
  )
  return vtcode(made, ['plugins', ...words])
}
const names = (ran: Ran): string[] =>
  (JSON.parse(ran.stdout) as { plugins: { name: string }[] }).plugins.map(({ name }) => name)
const installed = (made: TempWorkspace): string[] => readdirSync(join(made.home, '.vtcode/plugins')).sort()
const lock = (made: TempWorkspace) =>
  JSON.parse(readFileSync(join(made.home, '.vtcode/plugins.lock.json'), 'utf8')).plugins

it('searches a Claude marketplace by words, shows an offer before installation, and adds it by name', async () => {
  const market = {
    name: 'market',
    metadata: { pluginRoot: './plugins' },
    plugins: [
      {
        name: 'greeter',
        source: './greeter',
        description: 'Greets people of all lands.',
        version: '1.0.0',
        author: { name: 'Ada' },
        keywords: ['polite'],
      },
      { name: 'far', source: { source: 'github', repo: 'acme/far', ref: 'v1' }, description: 'Lies elsewhere.' },
      { name: 'pip', source: { source: 'pip', package_name: 'x' } },
      { name: 'out', source: '../../../secret' },
      { name: 'own-registry', source: { source: 'npm', package: '@acme/x', registry: 'https://registry.example.org' } },
      { name: 'Bad Name\u001b[2J', source: './greeter' },
      { name: 'greeter', source: './other' },
      'nothing',
    ],
  }
  await using made = await tempWorkspace({
    ...Object.fromEntries(Object.entries(plugin('greeter')).map(([path, text]) => [`market/plugins/${path}`, text])),
    'market/.claude-plugin/marketplace.json': JSON.stringify(market),
  })
  const folder = join(made.root, 'market')
  const git = (...words: string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.org', ...words], {
      cwd: folder,
      encoding: 'utf8',
    }).trim()
  git('init', '-q', '-b', 'main')
  git('add', '.')
  git('commit', '-qm', 'one')

  const all = await plugins(made, [folder], 'search', '--json')
  expect(names(all)).toEqual(['far', 'greeter', 'out', 'own-registry', 'pip'])
  expect(JSON.parse(all.stdout)).toMatchObject({
    plugins: [
      { name: 'far', pinned: { address: 'github:acme/far', ref: 'v1' } },
      { name: 'greeter', author: 'Ada', pinned: { address: join(folder, 'plugins/greeter') } },
      { unavailable: expect.stringContaining('leads out of the index') },
      { unavailable: expect.stringContaining('a registry of its own') },
      { unavailable: expect.stringContaining('no known kind') },
    ],
    problems: [
      { problem: expect.stringContaining('plugins[5] has no valid plugin name') },
      { problem: expect.stringContaining("repeats the name 'greeter'") },
      { problem: expect.stringContaining('plugins[7]') },
    ],
  })
  expect(names(await plugins(made, [folder], 'search', 'POLITE', 'greet', '--json'))).toEqual(['greeter'])
  const shown = await plugins(made, [folder], 'search', 'lands')
  expect(shown.stdout).toMatch(/^greeter {2}1\.0\.0 {2}by Ada\n {2}Greets people of all lands\.\n/)
  expect(shown.stderr).not.toContain('\u001b[2J')

  const info = await plugins(made, [`file://${folder}`], 'show', 'greeter')
  expect([info.code, info.stdout]).toEqual([
    0,
    expect.stringMatching(
      /greeter:greeter_hello[^]*runs the code in \.\/hello\.js[^]*index {3}file:[^]*Not installed\. Install it with `vtcode plugins add greeter`/,
    ),
  ])
  const added = await plugins(made, [`file://${folder}`], 'add', 'greeter', '--yes')
  expect([added.code, added.stderr]).toEqual([0, expect.stringContaining('index   file://')])
  expect(lock(made).greeter.source).toMatchObject({
    type: 'git',
    subdir: 'plugins/greeter',
    commit: git('rev-parse', 'HEAD'),
  })
  expect(JSON.parse((await vtcode(made, ['call', 'greeter_hello'])).stdout).output).toEqual({ said: 'hello' })
  expect((await plugins(made, [folder], 'add', 'out', '--yes')).stderr).toMatch(
    /out of .* cannot be added: its source .* leads out of the index\. Nothing was changed/,
  )
  expect((await plugins(made, [folder], 'add', 'nowhere', '--yes')).stderr).toMatch(
    /no index offers 'nowhere', and some indexes could not be read: .*Nothing was changed/,
  )
})

it('checks an index of the web against hashes of archive, commit and files, and refuses a wrong one', async () => {
  await using made = await tempWorkspace({ ...plugin('src/acme'), ...plugin('src/repo', 'from git') })
  execFileSync('tar', ['-czf', 'acme.tgz', '-C', 'src', 'acme'], { cwd: made.root })
  const git = (...words: string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.org', ...words], {
      cwd: join(made.root, 'src/repo'),
      encoding: 'utf8',
    }).trim()
  git('init', '-q', '-b', 'main')
  git('add', '.')
  git('commit', '-qm', 'one')
  const commit = git('rev-parse', 'HEAD')
  writeFileSync(
    join(made.root, 'src/repo/hello.js'),
    "export default () => ({ ok: true, output: { said: 'newer' } })\n",
  )
  git('commit', '-qam', 'two')
  const bytes = readFileSync(join(made.root, 'acme.tgz'))
  const hash = (name: string, form: 'hex' | 'base64') => createHash(name).update(bytes).digest(form)
  await made.write('src/claimed/package.json', JSON.stringify({ name: 'claimed', version: '1.0.0' }))
  await made.write('src/claimed/vtcode.yaml', 'name: x\ndescription: x\nrun: [echo]\n')
  execFileSync('tar', ['-czf', 'claimed.tgz', '-C', 'src', 'claimed'], { cwd: made.root })
  const claimed = readFileSync(join(made.root, 'claimed.tgz'))
  let list: unknown
  await using web = await serve((request, response) =>
    request.url === '/index.json'
      ? response.end(JSON.stringify(list))
      : request.url === '/acme.tgz'
        ? response.end(bytes)
        : request.url === '/claimed.tgz'
          ? response.end(claimed)
          : response.writeHead(404).end(),
  )
  const index = `${web.origin}/index.json`
  const add = (name: string) => plugins(made, [index], 'add', name, '--yes')

  const wrong = `sha256-${Buffer.alloc(32).toString('base64')}`
  list = {
    plugins: {
      acme: { source: 'acme.tgz', integrity: wrong },
      bare: { source: `${web.origin}/acme.tgz` },
      odd: { source: 'acme.tgz', integrity: 'md5-x' },
      beside: { source: './acme' },
      local: { source: `file://${made.root}/src/repo` },
      other: { source: 'claimed.tgz', sha256: createHash('sha256').update(claimed).digest('hex') },
    },
  }
  const told = JSON.parse((await plugins(made, [index], 'search', '--json')).stdout) as {
    plugins: { name: string; unavailable?: string }[]
  }
  const why = {
    acme: undefined,
    bare: /no hash for it/,
    beside: /cannot be fetched from the web/,
    local: /a file of this machine/,
    odd: /its hash 'md5-x' is unknown/,
    other: undefined,
  }
  expect(told.plugins.map(({ name, unavailable }) => [name, unavailable])).toEqual(
    Object.entries(why).map(([name, reason]) => [
      name,
      reason === undefined ? undefined : expect.stringMatching(reason),
    ]),
  )
  for (const [name, reason] of [
    ['acme', /the archive has the hash sha256-.* instead of sha256-A+=/],
    ['bare', /cannot be added: .*no hash for it/],
    ['other', /calls it other, but the package calls itself claimed; choose the name/],
  ] as const) {
    const ran = await add(name)
    expect([ran.code, ran.stderr], name).toEqual([1, expect.stringMatching(reason)])
    expect(installed(made), name).toEqual([])
  }
  list = [{ name: 'acme', source: 'acme.tgz', integrity: `sha512-${hash('sha512', 'base64')}` }]
  expect(await add('acme')).toMatchObject({ code: 0, stdout: 'Installed acme.\n' })
  expect(lock(made).acme.source).toMatchObject({
    type: 'archive',
    url: `${web.origin}/acme.tgz`,
    integrity: `sha256-${hash('sha256', 'base64')}`,
  })
  const { tree } = lock(made).acme
  await plugins(made, [], 'remove', 'acme', '--yes')

  // A local list is checked equally: its commit counts, wherever the branch is now, and files are hashed as in the lock.
  await made.write('plugins.json', '')
  const here = (entry: object) => {
    writeFileSync(join(made.root, 'plugins.json'), JSON.stringify({ plugins: [entry] }))
    return plugins(made, [join(made.root, 'plugins.json')], 'add', 'repo', '--yes')
  }
  const source = { source: 'url', url: `file://${made.root}/src/repo` }
  expect(
    (await here({ name: 'repo', source: { ...source, sha: commit.replace(/^./, (one) => (one === '0' ? '1' : '0')) } }))
      .code,
  ).toBe(1)
  expect((await here({ name: 'repo', source, integrity: tree })).stderr).toMatch(
    /repo does not match .*plugins\.json: its hash is tree1:sha256-.* instead of tree1:sha256-/,
  )
  expect((await here({ name: 'repo', source, integrity: wrong })).stderr).toMatch(/is no archive/)
  expect(installed(made)).toEqual([])
  expect((await here({ name: 'repo', source: { ...source, sha: commit } })).code).toBe(0)
  expect(JSON.parse((await vtcode(made, ['call', 'repo_hello'])).stdout).output).toEqual({ said: 'from git' })
})

it('searches an npm registry, shows attestations before consent, and refuses one of other bytes', async () => {
  await using made = await tempWorkspace({
    'package/package.json': JSON.stringify({ name: '@acme/tools', version: '1.2.3', keywords: ['vtcode-plugin'] }),
    'package/vtcode.yaml': plugin('tools')['tools/vtcode.yaml']!,
    'package/hello.js': plugin('tools')['tools/hello.js']!,
  })
  execFileSync('tar', ['-czf', 'pack.tgz', 'package'], { cwd: made.root })
  const bytes = readFileSync(join(made.root, 'pack.tgz'))
  const digest = (form: 'hex' | 'base64') => createHash('sha512').update(bytes).digest(form)
  const asked: string[] = []
  let attested = digest('hex')
  await using registry = await serve((request, response) => {
    asked.push(decodeURIComponent(request.url!).replaceAll('+', ' '))
    const origin = `http://${request.headers.host}`
    const json = (value: unknown) => response.setHeader('content-type', 'application/json').end(JSON.stringify(value))
    if (request.url!.endsWith('.tgz')) return response.end(bytes)
    if (request.url!.startsWith('/-/v1/search')) {
      const found = (name: string, keywords: string[]) => ({
        package: {
          name,
          version: '1.2.3',
          description: 'Tools of acme.',
          keywords,
          date: '2026-01-01T00:00:00Z',
          links: {},
          publisher: { username: 'ada' },
          maintainers: [],
        },
      })
      return json({
        objects: [
          found('@acme/tools', ['vtcode-plugin']),
          found('@evil/tools', ['vtcode-plugin']),
          found('@acme/other', ['lint']),
        ],
        total: 3,
      })
    }
    if (request.url!.startsWith('/attested')) {
      const statement = {
        subject: [{ name: 'pkg:npm/%40acme/tools@1.2.3', digest: { sha512: attested } }],
        predicate: {
          buildDefinition: {
            externalParameters: { workflow: { repository: 'https://github.com/acme/tools' } },
            resolvedDependencies: [{ digest: { gitCommit: 'c0ffee' } }],
          },
          runDetails: { builder: { id: 'https://github.com/actions/runner' } },
        },
      }
      return json({
        attestations: [
          { predicateType: 'https://github.com/npm/attestation/tree/main/specs/publish/v0.1', bundle: {} },
          {
            predicateType: 'https://slsa.dev/provenance/v1',
            bundle: { dsseEnvelope: { payload: Buffer.from(JSON.stringify(statement)).toString('base64') } },
          },
        ],
      })
    }
    const dist = {
      tarball: `${origin}/pack.tgz`,
      integrity: `sha512-${digest('base64')}`,
      attestations: { url: `${origin}/attested`, provenance: { predicateType: 'https://slsa.dev/provenance/v1' } },
    }
    return json({
      name: '@acme/tools',
      'dist-tags': { latest: '1.2.3' },
      versions: { '1.2.3': { name: '@acme/tools', version: '1.2.3', dist } },
    })
  })
  writeFileSync(
    join(made.home, '.npmrc'),
    `registry=http://127.0.0.1:9/\n@acme:registry=${registry.origin}/\nupdate-notifier=false\nfetch-retries=0\n`,
  )
  const found = await plugins(made, ['@acme', 'npm'], 'search', 'tools', '--json')
  expect(JSON.parse(found.stdout)).toMatchObject({
    plugins: [
      {
        name: '@acme/tools',
        index: '@acme',
        version: '1.2.3',
        author: 'ada',
        pinned: { address: 'npm:@acme/tools@1.2.3' },
      },
    ],
    problems: [{ index: 'npm', problem: expect.stringMatching(/npm failed/) }],
  })
  expect(asked.find((url) => url.startsWith('/-/v1/search'))).toContain('text=keywords:vtcode-plugin scope:acme tools')

  const info = await plugins(made, ['@acme'], 'show', '@acme/tools')
  expect([info.code, info.stdout]).toEqual([
    0,
    expect.stringMatching(
      /tools_hello[^]*index {3}@acme\nsource {2}npm @acme\/tools@1\.2\.3 1\.2\.3 sha512-[^]*built {3}from https:\/\/github\.com\/acme\/tools at c0ffee by https:\/\/github\.com\/actions\/runner, by the attestation/,
    ),
  ])
  attested = '00'
  expect(await plugins(made, [], 'add', 'npm:@acme/tools', '--yes')).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/attestation of its registry is for another archive/),
  })
  expect(installed(made)).toEqual([])
  attested = digest('hex')
  const added = await plugins(made, [], 'add', 'npm:@acme/tools', '--yes')
  expect([added.code, added.stderr]).toEqual([
    0,
    expect.stringMatching(/^source {2}npm .*sha512-.*\nbuilt {3}from https:\/\/github\.com\/acme\/tools at c0ffee/),
  ])
  expect(lock(made)['acme-tools']).toMatchObject({
    version: '1.2.3',
    source: { type: 'npm', integrity: `sha512-${digest('base64')}` },
  })
})

it('names an unreadable index, searches the others, separates equal names, and takes none from a repository', async () => {
  await using made = await tempWorkspace({
    ...plugin('one/acme'),
    ...plugin('two/acme'),
    'one/index.json': JSON.stringify({ plugins: [{ name: 'acme', source: './acme' }] }),
    'two/index.json': JSON.stringify({ plugins: [{ name: 'acme', source: './acme' }] }),
    'bad.json': '{',
    'none.json': '{"name":"x"}',
    'none/readme.md': '',
  })
  const path = (name: string) => join(made.root, name)
  const ran = await plugins(
    made,
    [
      path('one'),
      path('bad.json'),
      path('none.json'),
      path('none'),
      path('gone'),
      'relative/path',
      'http://example.org/index.json',
    ],
    'search',
    '--json',
  )
  expect(ran.code).toBe(0)
  expect(JSON.parse(ran.stdout)).toMatchObject({
    plugins: [{ name: 'acme' }],
    problems: [
      /no JSON/,
      /has no 'plugins'/,
      /no list of plugins/,
      /does not exist/,
      /an index is an https/,
      /on the web needs https/,
    ].map((text) => ({ problem: expect.stringMatching(text) })),
  })
  expect((await plugins(made, [path('one'), path('two')], 'add', 'acme', '--yes')).stderr).toMatch(
    /'acme' is offered by .*one and by .*two: add one by its source/,
  )
  expect(await plugins(made, [], 'search')).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/No index is set.*plugins\.indexes in ~/),
  })
  await made.write('.vtcode/vtcode.config.json', JSON.stringify({ plugins: { indexes: [path('two')] } }))
  expect(await plugins(made, [], 'search')).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/plugins\.indexes/),
  })
})
