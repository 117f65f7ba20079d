import { spawnSync } from 'node:child_process'
import { chmodSync, chownSync, existsSync, mkdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { tempWorkspace, type TempWorkspace } from 'vtcode/test'
import { keepCompiledOf, seedCompiled } from '../../support/compiled.js'
import { bin } from '../../support/program.js'

/** The program started by a shell that first changes what it is started in. */
function start(
  made: TempWorkspace,
  before: string,
  env: Record<string, string | undefined>,
  tool: string,
  input: object,
) {
  const { PATH } = process.env
  const args = [
    '-c',
    `${before}\nexec "$@"`,
    'sh',
    process.execPath,
    bin,
    'call',
    '--mode',
    'auto',
    tool,
    '--input',
    JSON.stringify(input),
  ]
  const given = Object.fromEntries(
    Object.entries({ PATH, HOME: made.home, ...env }).filter(([, value]) => value !== undefined),
  )
  seedCompiled(['call'], given)
  const { stdout, stderr, status } = spawnSync('sh', args, { cwd: made.root, env: given, encoding: 'utf8' })
  keepCompiledOf(['call'], given)
  return { stdout, stderr, status }
}
const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8)

describe('vtcode in odd surroundings', () => {
  it.each<[string, string, Record<string, string | undefined>]>([
    ['no locale is set', '', { LANG: 'C', LC_ALL: 'C' }],
    ['the locale and the time zone are none', '', { LANG: 'xx_YY.nothing', LC_ALL: 'xx_YY.nothing', TZ: 'No/Where' }],
    ['the terminal can do nothing', '', { TERM: 'dumb' }],
    ['there is no home', '', { HOME: undefined }],
    ['the home is a link to nothing', '', { VTCODE_HOME: 'link' }],
    ['the home is not there', '', { HOME: '/no/such/home' }],
    ['there is no PATH', '', { PATH: undefined }],
    ['new files are open to everybody', 'umask 0', {}],
    ['standard input and error are closed', 'exec 0<&- 2>&-', {}],
  ])('works where %s', async (_, before, env) => {
    await using made = await tempWorkspace({ 'ä.txt': 'ünder\n' })
    symlinkSync('nowhere', join(made.root, 'link'))
    const { stdout, status } = start(made, before, env, 'unified_search', {
      action: 'grep',
      pattern: 'ü',
      path: 'ä.txt',
    })
    expect({ status, answer: JSON.parse(stdout) }).toMatchObject({
      status: 0,
      answer: { ok: true, output: { total_matches: 1 } },
    })
    expect(stdout).toContain('ünder')
    expect(
      JSON.parse(start(made, before, env, 'unified_file', { action: 'write', path: 'new.txt', content: 'x' }).stdout),
    ).toMatchObject({ ok: true })
    // Modes are never wider than documented: our own files are for this user alone, workspace files as usual.
    expect(Number.parseInt(modeOf(join(made.root, 'new.txt')), 8) & ~0o666).toBe(0)
    for (const path of ['.vtcode/sessions', '.vtcode/history'])
      if (existsSync(join(made.root, path))) expect([path, modeOf(join(made.root, path))]).toEqual([path, '700'])
  })

  it.each<[string, string, ((made: TempWorkspace) => void)?]>([
    ['only 64 files can be open', 'ulimit -n 64'],
    ['only 32 files can be open', 'ulimit -n 32'],
    ['only 20 processes can run', 'ulimit -u 20'],
    ['no file can grow', 'ulimit -f 0'],
    ['the home is no folder', 'HOME=/dev/null'],
    ['the home lies below a folder that never takes one', 'HOME=/proc/self/x/y'],
    ['its own home does', 'export VTCODE_HOME=/proc/x'],
    ['new files are closed to everybody', 'umask 0777'],
    [
      'the state of the workspace belongs to somebody else',
      '',
      ({ root }) => {
        mkdirSync(join(root, '.vtcode/sessions'), { recursive: true })
        chmodSync(join(root, '.vtcode/sessions'), 0o777)
        if (process.getuid?.() === 0) chownSync(join(root, '.vtcode/sessions'), 65_534, 65_534)
      },
    ],
    ['the state of the workspace is a file', '', ({ root }) => writeFileSync(join(root, '.vtcode'), '')],
    ['the home cannot be written', '', ({ home }) => writeFileSync(join(home, '.vtcode'), '')],
  ])('reports what it cannot do where %s, and does not crash', async (_, before, make) => {
    await using made = await tempWorkspace({ 'a.txt': 'text\n' })
    make?.(made)
    for (const [tool, input] of [
      ['unified_search', { action: 'grep', pattern: 'text' }],
      ['unified_exec', { action: 'run', command: 'ls' }],
      ['unified_file', { action: 'write', path: 'new.txt', content: 'x' }],
    ] as const) {
      const { stdout, stderr, status } = start(made, before, {}, tool, input)
      // One document with a matching code; an invalid settings file is reported on stderr alone.
      if (status === 3) expect(stderr).toMatch(/^vtcode: error: .+\n {2}\w.+\n$/)
      else
        expect({ tool, input, stderr, status, answer: JSON.parse(stdout) }).toMatchObject(
          status === 0
            ? { answer: { ok: true } }
            : { status: 1, answer: { ok: false, error: { code: expect.stringMatching(/^VT_(?!INTERNAL)/) } } },
        )
    }
  })
})
