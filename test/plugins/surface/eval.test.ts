import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eventually, lacks } from '../../support/exec.js'
import { call, home, startPeer, vtcode, type Answer, type Home } from '../../support/peer.js'

const write = (root: string, files: Record<string, string>): void => {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
}
const git = (root: string, ...args: string[]): string =>
  execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b.c', ...args], { cwd: root, encoding: 'utf8' })
const commit = (root: string, message: string, files: Record<string, string>): void => {
  write(root, files)
  git(root, 'add', '.')
  git(root, 'commit', '-q', '-m', message)
}
const testOf = (body: string): string =>
  `const { test } = require('node:test')\nconst assert = require('node:assert')\nconst lib = require('../lib.js')\ntest('works', () => { ${body} })\n`
/** A task that passes if answer.txt says 42. */
const task = (more: Record<string, string> = {}): Record<string, string> => ({
  'task.toml': 'version = "1.0"\n[agent]\ntimeout_sec = 60.0\n[verifier]\ntimeout_sec = 30.0\n',
  'instruction.md': 'Write 42 to answer.txt.\n',
  'environment/Dockerfile': '# comment\nFROM debian:12\nWORKDIR /app\nCOPY files/ /app/\n',
  'environment/files/readme.txt': 'hello\n',
  'tests/test.sh':
    'mkdir -p /logs/verifier\nif [ "$(cat /app/answer.txt)" = 42 ]; then echo 1 > /logs/verifier/reward.txt; else echo 0 > /logs/verifier/reward.txt; fi\n',
  'solution/solve.sh': 'cd /app && echo 42 > answer.txt\n',
  ...more,
})
const suiteOf = (tasks: Record<string, Record<string, string>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(tasks).flatMap(([name, files]) =>
      Object.entries(files).map(([path, text]) => [`suite/${name}/${path}`, text]),
    ),
  )
const answer = (text: string): Answer => ({
  toolCalls: [call('unified_file', { action: 'write', path: 'answer.txt', content: text, mode: 'overwrite' })],
  usage: { prompt_tokens: 1000, completion_tokens: 10 },
})
const done: Answer = { content: 'Done.', usage: { prompt_tokens: 1000, completion_tokens: 10 } }
const priced = { provider: { profiles: { m: { context_window: 100_000, cost: { input: 1, output: 10 } } } } }

describe.skipIf(lacks('bwrap'))('vtcode eval init', () => {
  let place: Home
  beforeAll(async () => {
    place = await home({ url: 'http://127.0.0.1:9' })
    const { root } = place
    git(root, 'init', '-q')
    commit(root, 'Begin', { 'lib.js': 'exports.add = (a, b) => a - b\n', 'test/a.test.js': testOf('') })
    commit(root, 'Rename a parameter', {
      'lib.js': 'exports.add = (a, other) => a - other\n',
      'test/a.test.js': testOf('assert.equal(lib.add(4, 2), 2)'),
    })
    commit(root, 'Roll a die', {
      'lib.js': 'exports.add = (a, b) => a - b\nexports.die = 4\n',
      'test/a.test.js': `require('node:fs').appendFileSync('rolls', 'x')\n${testOf("assert.equal(require('node:fs').readFileSync('rolls').length % 2, lib.die ? 1 : 5)")}`,
    })
    commit(root, 'Look a host up', {
      'lib.js': 'exports.add = (a, b) => a - b\nexports.host = 1\n',
      'test/a.test.js': testOf("return require('node:dns').promises.lookup('example.com')"),
    })
    // The newest, so that a run that ends at it tries no other commit.
    commit(root, "Add numbers, don't subtract\n\nThe sum was a difference.\n\nSigned-off-by: A <a@b.c>", {
      'lib.js': 'exports.add = (a, b) => a + b\n',
      'test/a.test.js': testOf('assert.equal(lib.add(1, 2), 3)'),
    })
    commit(root, 'Explain', { 'README.md': 'Adds.\n' })
  })
  afterAll(() => place?.[Symbol.asyncDispose]())

  it('makes a task of each sound commit, and names the others with the reason', async () => {
    const { code, out, err } = await vtcode(place, ['eval', 'init', '--command', 'node --test test/', '--json'])
    expect([code, err.includes('VT_')]).toEqual([0, false])
    const { tasks, left_out } = JSON.parse(out)
    expect(tasks.map(({ name }: any) => name.slice(9))).toEqual(['add-numbers-don-t-subtract'])
    expect(Object.fromEntries(left_out.map(({ subject, reason }: any) => [subject, reason]))).toEqual({
      Begin: 'it is the first commit',
      'Look a host up': 'its tests need the network',
      'Roll a die': expect.stringMatching(/^its tests are not stable: 2 of 3 runs pass after it$/),
      'Rename a parameter': 'its tests pass before it too',
    })
    const folder = join(place.root, 'eval-tasks', tasks[0].name)
    expect(readFileSync(join(folder, 'instruction.md'), 'utf8')).toMatch(
      /^Add numbers, don't subtract\n\nThe sum was a difference\.\n\nChange the code/,
    )
    expect(readFileSync(join(folder, 'environment/files/lib.js'), 'utf8')).toContain('a - b')
    expect(readFileSync(join(folder, 'tests/files/test/a.test.js'), 'utf8')).toContain('lib.add(1, 2), 3')
    expect(git(place.root, 'status', '--porcelain', '--', 'lib.js', 'test')).toBe('')
  })

  it('makes tasks that their own solution passes, and an empty change does not', async () => {
    const solved = await vtcode(place, [
      'eval',
      'run',
      '--suite',
      'eval-tasks',
      '--solution',
      '--out',
      'solved',
      '--json',
    ])
    expect([solved.code, JSON.parse(solved.out).samples]).toMatchObject([0, [{ outcome: 'passed', reward: 1 }]])
    const [name] = readdirSync(join(place.root, 'eval-tasks'))
    write(place.root, { [`empty/${name}/solution/solve.sh`]: 'true\n' })
    execFileSync('cp', ['-rn', `eval-tasks/${name}`, 'empty/'], { cwd: place.root })
    const empty = await vtcode(place, ['eval', 'run', '--suite', 'empty', '--solution', '--out', 'unsolved', '--json'])
    expect(JSON.parse(empty.out).samples).toMatchObject([{ outcome: 'failed', reward: 0 }])
  })

  it('passes no agent that edits the tests', async () => {
    const edit = { action: 'write', path: 'test/a.test.js', content: '// nothing\n', mode: 'overwrite' }
    await using peer = await startPeer([{ toolCalls: [call('unified_file', edit)] }, done])
    await using other = await home(peer)
    execFileSync('cp', ['-r', join(place.root, 'eval-tasks'), other.root])
    const { out } = await vtcode(other, ['eval', 'run', '--suite', 'eval-tasks', '--json'])
    expect(JSON.parse(out).samples).toMatchObject([{ outcome: 'failed', agent: 'success', calls: 1, failed_calls: 0 }])
  })

  it('writes nothing through links of the repository', async () => {
    const { root } = place
    mkdirSync(join(root, 'linked'))
    mkdirSync(join(root, 'elsewhere'))
    symlinkSync('../elsewhere', join(root, 'linked/tasks'))
    const { code, err } = await vtcode(place, ['eval', 'init', '--command', 'node --test', '--out', 'linked/tasks'])
    expect([code, err]).toEqual([1, expect.stringMatching(/'linked\/tasks\/\S+' is a link, or lies below one\./)])
    expect(readdirSync(join(root, 'elsewhere'))).toEqual([])
  })

  it('refuses a folder that is no repository, and a project without a known command', async () => {
    await using bare = await home({ url: 'http://127.0.0.1:9' })
    expect((await vtcode(bare, ['eval', 'init'])).err).toContain('is not the top folder of a git repository')
    const { code, err } = await vtcode(place, ['eval', 'init', '--out', 'others'])
    expect([code, err]).toEqual([1, expect.stringContaining("Pass it, for example --command 'make check'")])
  })
})

describe.skipIf(lacks('bwrap'))('vtcode eval run', () => {
  it('reports pass@k, pass^k, cost, tokens and calls as JSON, Markdown and a page', async () => {
    await using peer = await startPeer([answer('42'), done, answer('41'), done])
    await using place = await home(peer, suiteOf({ one: task() }), priced)
    const { code, out } = await vtcode(place, ['eval', 'run', '--suite', 'suite', '--samples', '2', '--json'])
    expect(code).toBe(0)
    const { models, tasks, samples } = JSON.parse(out)
    expect(samples.map(({ outcome, reward }: any) => [outcome, reward])).toEqual([
      ['passed', 1],
      ['failed', 0],
    ])
    expect(models).toMatchObject([
      {
        model: 'peer/m',
        passed: 1,
        samples: 2,
        pass_at: { 1: 0.5, 2: 1 },
        pass_all: { 1: 0.5, 2: 0 },
        calls: 2,
        requests: 4,
        input_tokens: 4000,
        output_tokens: 40,
      },
    ])
    expect(models[0].cost_usd).toBeCloseTo((4000 * 1 + 40 * 10) / 1e6)
    expect(tasks).toHaveLength(1)
    const results = join(place.root, 'eval-results')
    expect(readFileSync(join(results, 'report.md'), 'utf8')).toContain('| peer/m | 1/2 | 50.0 % |')
    const page = readFileSync(join(results, 'report.html'), 'utf8')
    expect(page).toMatch(/^<!doctype html>[^]*<svg/)
    expect(page).not.toMatch(/<script|https?:\/\//)
    const [body] = peer.bodies
    expect(JSON.stringify(body)).not.toContain('reward.txt')
    expect(existsSync(join(place.root, 'answer.txt'))).toBe(false)
  })

  it('continues after a kill, and runs no sample twice', async () => {
    const script = Array.from({ length: 4 }, (_, index) => [answer(index % 2 === 0 ? '42' : '0'), done]).flat()
    await using peer = await startPeer(script)
    await using place = await home(peer, suiteOf({ one: task(), two: task() }))
    const args = ['eval', 'run', '--suite', 'suite', '--samples', '2', '--json']
    const samples = join(place.root, 'eval-results/samples')
    const count = () => (existsSync(samples) ? readdirSync(samples).filter((name) => name.endsWith('.json')).length : 0)
    const killed = await vtcode(place, args, {
      started: (child) =>
        void eventually(() => count() >= 2 || child.exitCode !== null).then(() => child.kill('SIGKILL')),
    })
    expect(killed.code).not.toBe(0)
    const before = new Map(readdirSync(samples).map((name) => [name, statSync(join(samples, name)).mtimeMs]))
    const { code, out, err } = await vtcode(place, args)
    expect([code, JSON.parse(out).samples.length, err.match(/\(kept\)/g)?.length]).toEqual([0, 4, before.size])
    for (const [name, time] of before) expect(statSync(join(samples, name)).mtimeMs).toBe(time)
    expect(count()).toBe(4)
  })

  it('shows a second run next to the first, and refuses the results of another suite', async () => {
    await using place = await home({ url: 'http://127.0.0.1:9' }, suiteOf({ one: task() }))
    await vtcode(place, ['eval', 'run', '--suite', 'suite', '--solution', '--out', 'first'])
    const args = ['eval', 'run', '--suite', 'suite', '--solution', '--out', 'second', '--compare', 'first']
    expect((await vtcode(place, args)).code).toBe(0)
    const page = readFileSync(join(place.root, 'second/report.html'), 'utf8')
    expect(page).toContain('solution, second run')
    writeFileSync(join(place.root, 'suite/one/instruction.md'), 'Write 43.\n')
    const { code, err } = await vtcode(place, args)
    expect([code, err]).toEqual([1, expect.stringContaining('has results of another suite')])
  })

  it('refuses each task that it cannot run by its name, and runs the others', async () => {
    const cases: [name: string, Record<string, string>, RegExp][] = [
      [
        'builds-an-image',
        { 'environment/Dockerfile': 'FROM debian\nRUN apt-get install x\nWORKDIR /app\n' },
        /RUN apt-get/,
      ],
      ['needs-several-containers', { 'environment/docker-compose.yaml': 'a: 1\n' }, /docker-compose/],
      [
        'copies-out-of-its-folder',
        { 'environment/Dockerfile': 'FROM a\nWORKDIR /app\nCOPY ../x /app/\n' },
        /copies to/,
      ],
      ['has-no-instruction', { 'instruction.md': ' \n' }, /instruction\.md is missing or empty/],
      ['has-broken-settings', { 'task.toml': '[agent\n' }, /task\.toml is no TOML/],
      ['has-a-wrong-time', { 'task.toml': '[agent]\ntimeout_sec = -1\n' }, /agent\.timeout_sec must be/],
    ]
    const bad = Object.fromEntries(cases.map(([name, files]) => [name, task(files)]))
    await using place = await home({ url: 'http://127.0.0.1:9' }, suiteOf({ ...bad, good: task() }))
    const { code, out } = await vtcode(place, ['eval', 'run', '--suite', 'suite', '--solution', '--json'])
    const { refused, samples } = JSON.parse(out)
    const byName = (a: { name: string }, b: { name: string }) => (a.name < b.name ? -1 : 1)
    const wanted = cases.map(([name, , reason]) => ({ name, refused: expect.stringMatching(reason) }))
    expect([code, refused.sort(byName)]).toEqual([0, wanted.sort(byName)])
    expect(samples).toMatchObject([{ task: 'good', outcome: 'passed' }])
  })

  it('keeps scripts of a task from writing outside, and from reading links that lead there', async () => {
    await using place = await home({ url: 'http://127.0.0.1:9' })
    const outside = join(place.home, 'outside.txt')
    const script = `echo leaked > '${outside}'; echo leaked > '${join(place.root, 'leak.txt')}'; `
    write(
      place.root,
      suiteOf({ evil: task({ 'tests/test.sh': `${script}${task()['tests/test.sh']}`, 'solution/solve.sh': script }) }),
    )
    const { out } = await vtcode(place, ['eval', 'run', '--suite', 'suite', '--solution', '--json'])
    expect(JSON.parse(out).samples).toMatchObject([{ outcome: 'failed' }])
    expect([existsSync(outside), existsSync(join(place.root, 'leak.txt'))]).toEqual([false, false])
    symlinkSync('/etc/hostname', join(place.root, 'suite/evil/environment/files/link'))
    const linked = await vtcode(place, ['eval', 'run', '--suite', 'suite', '--solution', '--out', 'other'])
    expect([linked.code, linked.err]).toEqual([1, expect.stringMatching(/is a (?:sym)?link/)])
  })

  it('counts a sample whose tests give no reward as an error', async () => {
    await using place = await home(
      { url: 'http://127.0.0.1:9' },
      suiteOf({ one: task({ 'tests/test.sh': 'exit 1\n' }) }),
    )
    const { out } = await vtcode(place, ['eval', 'run', '--suite', 'suite', '--solution', '--json'])
    expect(JSON.parse(out).samples).toMatchObject([
      { outcome: 'error', reward: null, error: 'The tests wrote no reward.' },
    ])
  })

  it('computes figures that equal the shares of all choices of k samples', async () => {
    await using place = await home({ url: 'http://127.0.0.1:9' }, suiteOf({ one: task() }))
    const args = ['eval', 'run', '--suite', 'suite', '--solution', '--json', '--samples']
    await vtcode(place, [...args, '1'])
    const folder = join(place.root, 'eval-results/samples')
    const [first = ''] = readdirSync(folder)
    const text = readFileSync(join(folder, first), 'utf8')
    const [n, passed] = [7, 3]
    for (let sample = 2; sample <= n; sample++) {
      const outcome = sample <= passed ? 'passed' : 'failed'
      const one = { ...JSON.parse(text), sample, outcome }
      writeFileSync(join(folder, first.replace(/-1\.json$/, `-${sample}.json`)), JSON.stringify(one))
    }
    const { models } = JSON.parse((await vtcode(place, [...args, String(n)])).out)
    const choices = Array.from({ length: 2 ** n }, (_, bits) =>
      Array.from({ length: n }, (__, at) => at).filter((at) => (bits >> at) & 1),
    )
    for (let k = 1; k <= n; k++) {
      const wanted = choices.filter(({ length }) => length === k)
      const share = (is: (choice: number[]) => boolean) => wanted.filter(is).length / wanted.length
      expect(models[0].pass_at[k]).toBeCloseTo(
        share((choice) => choice.some((at) => at < passed)),
        10,
      )
      expect(models[0].pass_all[k]).toBeCloseTo(
        share((choice) => choice.every((at) => at < passed)),
        10,
      )
    }
    // The score interval of 3 of 7.
    expect(models[0].interval.map((one: number) => one.toFixed(3))).toEqual(['0.158', '0.750'])
  })

  it('replaces paths of a container in scripts only where they are whole', async () => {
    const script =
      'cd /app && echo /apple x/app ./tests /tests2 /my/logs "/app/a" > words.txt && echo 42 > answer.txt\n'
    const check = `[ "$(cut -d' ' -f1-5 words.txt)" = "/ap""ple x/ap""p ./te""sts /te""sts2 /my/lo""gs" ] || exit 1\n`
    const tests = `cd /app\n${check}${task()['tests/test.sh']}`
    const files = task({ 'solution/solve.sh': script, 'tests/test.sh': tests })
    await using place = await home({ url: 'http://127.0.0.1:9' }, suiteOf({ one: files }))
    const { out } = await vtcode(place, ['eval', 'run', '--suite', 'suite', '--solution', '--json'])
    expect(JSON.parse(out).samples).toMatchObject([{ outcome: 'passed' }])
  })

  it('counts a model that cannot be asked as an error, and tries it again', async () => {
    await using peer = await startPeer([])
    await using place = await home(peer, suiteOf({ one: task() }))
    for (const _ of [1, 2]) {
      const { out, err } = await vtcode(place, ['eval', 'run', '--suite', 'suite', '--json'])
      expect(JSON.parse(out).samples).toMatchObject([
        { outcome: 'error', error: expect.stringMatching(/^VT_LLM_REQUEST/) },
      ])
      expect(err).not.toContain('(kept)')
    }
  })

  it('names what is missing: the suite, a task, a model', async () => {
    await using place = await home({ url: 'http://127.0.0.1:9' }, suiteOf({ one: task() }))
    const run = async (...args: string[]) => vtcode(place, ['eval', 'run', ...args])
    expect((await run('--suite', 'nowhere')).err).toContain('no folder below it has a task.toml')
    expect((await run('--suite', 'suite', '--task', 'two')).err).toContain("has no task 'two'.\n  It has one.")
    expect(await run('--suite', 'suite', '--models', 'nobody/other')).toMatchObject({
      code: 3,
      err: expect.stringContaining('VT_LLM_'),
    })
    expect((await run('--suite', 'suite', '--samples', '0')).code).toBe(2)
    rmSync(join(place.root, 'eval-results'), { recursive: true, force: true })
  })
})
