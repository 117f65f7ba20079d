import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { call, home, startPeer, vtcode, type Answer, type Home } from '../../support/peer.js'
import { hold } from '../../support/inside.js'

const old = 'export function last(list) {\n  return list[list.length - 1]\n}\n'
const wrong = 'export function last(list) {\n  return list[list.length]\n}\n'
const finding = {
  path: 'src/last.js',
  line_number: 2,
  severity: 'high',
  title: 'Reads past the end',
  detail: 'The last place is length - 1.',
  suggestion: 'list[list.length - 1]',
}
const said = (...findings: object[]): Answer => ({ content: `Here:\n${JSON.stringify({ findings })}` })

const git = (place: Home, ...args: string[]) =>
  execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', '-c', 'core.hooksPath=/nowhere', ...args], {
    cwd: place.root,
    env: { ...place.env, GIT_CONFIG_NOSYSTEM: '1' },
    encoding: 'utf8',
  })
async function repository(script: Answer[]) {
  const peer = hold(await startPeer(script))
  const place = hold(
    await home(
      peer,
      { 'src/last.js': old, 'größe x.txt': 'a\n', 'private.txt': 'a\n', '.gitignore': '.vtcode\n' },
      { settings: { agent: { model: 'peer/m' }, policy: { deny: ['Read(private.txt)'] } } },
    ),
  )
  git(place, 'init', '-q', '-b', 'main')
  git(place, 'add', '.')
  git(place, 'commit', '-q', '-m', 'one')
  return { peer, place, put: (path: string, text: string) => writeFileSync(join(place.root, path), text) }
}

it('finds a planted fault with vtcode review, drops findings outside the diff, and exits by severity', async () => {
  const invented = [
    { ...finding, path: 'src/other.js' },
    { ...finding, line_number: 4 },
    { ...finding, path: '../src/last.js' },
  ]
  const minor = { path: './größe x.txt', line_number: 1, severity: 'low', title: 'Odd', detail: 'It is odd.', more: 1 }
  const script = [
    { toolCalls: [call('unified_file', { action: 'write', path: 'src/last.js', content: 'x' })] },
    { content: 'One fault.' },
    { content: 'One fault; a change was refused.' },
    { content: 'no data' },
    said(minor, finding, ...invented),
  ]
  const { peer, place, put } = await repository([
    ...script,
    { content: 'One.' },
    said(minor),
    { content: 'No.' },
    ...Array.from({ length: 3 }, () => ({ content: '{"findings": 1}' })),
  ])
  put('src/last.js', wrong)
  put('größe x.txt', 'b\n')
  put('private.txt', 'the secret of it\n')
  put('new.txt', 'new\n')
  const { code, out, err } = await vtcode(place, ['review', '--json', '--fail-on', 'high', '--session-id', 'ses_one'])
  expect([code, JSON.parse(out)]).toEqual([
    1,
    {
      findings: [finding, { path: 'größe x.txt', line_number: 1, severity: 'low', title: 'Odd', detail: 'It is odd.' }],
      dropped: 3,
    },
  ])
  expect(err).toContain('1 untracked file is not in the diff')
  expect(err).toContain('1 changed file may not be read, and is not reviewed.')
  expect(err).toContain('3 findings name no line')
  const first = JSON.stringify(peer.bodies[0].messages)
  expect([
    first.includes('+  return list[list.length]'),
    first.includes('the secret of it'),
    first.includes('b/größe x.txt'),
  ]).toEqual([true, false, true])
  // The model has read only the diff so far, and the file that it wanted to write is unchanged.
  expect(await place.read('src/last.js')).toBe(wrong)
  expect(JSON.stringify(peer.bodies.at(-1).messages)).toContain('That does not fit')
  const mild = await vtcode(place, ['review', '--fail-on', 'medium'])
  expect([mild.code, mild.out]).toEqual([0, 'low: größe x.txt:1: Odd\n  It is odd.\n'])
  expect(await vtcode(place, ['review'])).toMatchObject({
    code: 1,
    out: '',
    err: expect.stringContaining('VT_REVIEW_NO_FINDINGS'),
  })
  const outline = await vtcode(place, ['trace', 'ses_one', '--format', 'text'])
  expect(outline.out).toContain('(review)')
})

it('reviews the index, one commit or a branch, asks no model without changes, and rejects wrong flags', async () => {
  const { peer, place, put } = await repository([
    { content: 'x' },
    said({ ...finding, path: 'gone.js', line_number: 3 }, finding),
    { content: 'x' },
    said(finding),
    { content: 'x' },
    said({ ...finding, path: 'src/end.js' }),
  ])
  expect(await vtcode(place, ['review', '--staged', '--json'])).toMatchObject({
    code: 0,
    out: '{"findings":[],"dropped":0}\n',
  })
  git(place, 'checkout', '-q', '-b', 'work')
  put('gone.js', '1\n2\n3\n')
  put('src/last.js', wrong)
  git(place, 'add', '.')
  git(place, 'commit', '-q', '-m', 'two')
  git(place, 'rm', '-q', 'gone.js')
  git(place, 'mv', 'src/last.js', 'src/end.js')
  put('src/end.js', 'one line\n')
  expect(JSON.parse((await vtcode(place, ['review', '--staged', '--json'])).out)).toMatchObject({
    findings: [{ path: 'gone.js', line_number: 3 }],
    dropped: 1,
  })
  expect(JSON.parse((await vtcode(place, ['review', '--commit', 'HEAD', '--json'])).out)).toEqual({
    findings: [finding],
    dropped: 0,
  })
  expect(JSON.parse((await vtcode(place, ['review', '--base', 'main', '--json'])).out)).toEqual({
    findings: [],
    dropped: 1,
  })
  const asked = peer.bodies.length
  for (const [args, code, text] of [
    [['--commit', 'nowhere'], 1, 'VT_REVIEW_NO_DIFF: git shows no diff of'],
    [['--base', '--output=x'], 2, 'pass a commit, a branch or a tag'],
    [['--base', 'main', '--staged'], 2, "cannot be used with option '--staged'"],
    [['--fail-on', 'bad'], 2, 'high, medium, low'],
    [['--mode', 'auto'], 2, 'always runs in mode plan'],
  ] as const) {
    const told = await vtcode(place, ['review', ...args])
    expect([told.code, told.err.includes(text)], `${args.join(' ')}: ${told.err}`).toEqual([code, true])
  }
  expect(peer.bodies).toHaveLength(asked)
})

it('starts no program of the repository that vtcode review reads, and refuses borrowed objects', async () => {
  const { peer, place, put } = await repository([{ content: 'x' }, said(finding)])
  const program = `touch ${join(place.root, 'marker')}; cat`
  mkdirSync(join(place.root, 'inner'))
  const inner = (...args: string[]) => git(place, '-C', 'inner', ...args)
  inner('init', '-q')
  put('inner/f', '1\n')
  put('.gitattributes', '* filter=x diff=x\n')
  put('inner/.gitattributes', '* filter=x\n')
  inner('add', '.')
  inner('commit', '-q', '-m', 'x')
  git(place, 'add', '.')
  git(place, 'commit', '-q', '-m', 'two')
  for (const at of ['.', 'inner'])
    for (const key of [
      'filter.x.clean',
      'filter.x.process',
      'diff.x.textconv',
      'diff.x.command',
      'diff.external',
      'core.fsmonitor',
      'core.pager',
    ])
      git(place, '-C', at, 'config', key, program)
  git(place, 'config', 'diff.submodule', 'diff')
  git(place, 'config', 'filter.x.required', 'true')
  put('src/last.js', wrong)
  put('inner/f', '2\n')
  expect(JSON.parse((await vtcode(place, ['review', '--json'])).out)).toEqual({ findings: [finding], dropped: 0 })
  expect([
    existsSync(join(place.root, 'marker')),
    JSON.stringify(peer.bodies[0].messages).includes('+  return list[list.length]'),
  ]).toEqual([false, true])
  put('.git/objects/info/alternates', '/nowhere/objects\n')
  expect(await vtcode(place, ['review'])).toMatchObject({
    code: 1,
    out: '',
    err: expect.stringContaining("it borrows objects from '/nowhere/objects'"),
  })
  expect(peer.bodies).toHaveLength(2)
})
