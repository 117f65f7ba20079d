import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { eventually } from '../../support/exec.js'
import { endTest, hold } from '../../support/held.js'
import { call, eventsOf, home, startPeer, vtcode } from '../../support/peer.js'
import { lacksRedis, skippedRedis, startRedis, type RedisServer } from '../../support/redis.js'
import { askQueue, leftovers, quick, remoteScene, secret, startWorker } from '../../support/remote_runs.js'

afterEach(endTest)
const write = (path: string, content: string) => call('unified_file', { action: 'write', path, content })

describe('vtcode exec --remote', () => {
  it('runs in a copy of the files, prints the same events, and merges the changes', async () => {
    const { place } = await remoteScene(
      [
        { toolCalls: [write('new.txt', 'new\n'), call('unified_file', { action: 'read', path: 'a.txt' })] },
        { toolCalls: [call('unified_file', { action: 'edit', path: 'a.txt', old_str: 'one', new_str: 'ONE' })] },
        { content: 'It is done.' },
      ],
      { 'a.txt': 'one\ntwo\n' },
    )
    const { code, out, err } = await vtcode(place, ['exec', '--remote', 'change', 'it'])
    expect({ code, out, err }).toEqual({
      code: 0,
      out: 'It is done.\n',
      err: expect.stringContaining('2 files merged'),
    })
    expect(await place.read('a.txt')).toBe('ONE\ntwo\n')
    expect(await place.read('new.txt')).toBe('new\n')
    expect(leftovers(place)).toEqual([])
    const [session] = JSON.parse((await vtcode(place, ['sessions', 'list', '--json'])).out)
    expect(session).toMatchObject({ status: 'completed', first_prompt: 'change it' })
    const journal = readFileSync(join(place.root, '.vtcode/sessions', session.session_id, 'messages.jsonl'), 'utf8')
    const leases = journal
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).lease)
    expect(new Set(leases)).toEqual(new Set([1]))
  })
})

describe.skipIf(lacksRedis)(`vtcode queue on Redis${skippedRedis}`, () => {
  let redis: RedisServer
  const onRedis = async (script: Parameters<typeof startPeer>[0], files = {}, more = {}) => {
    redis = hold(await startRedis())
    return remoteScene(script, files, redis.url, { ...quick, ...more })
  }

  it('runs a detached job on a worker; follow prints its events and merges its changes', async () => {
    const { place } = await onRedis([{ toolCalls: [write('new.txt', 'new\n')] }, { content: 'Done.' }], {
      'a.txt': 'a\n',
    })
    const submitted = await vtcode(place, ['exec', '--remote', '--detach', 'write'])
    expect(submitted).toMatchObject({ code: 0, out: expect.stringMatching(/^t-[0-9a-f]{32}\n$/) })
    const id = submitted.out.trim()
    expect(await askQueue(place, 'status')).toMatchObject({ paused: false, workers: 0, waiting: 1, active: 0 })
    expect(await askQueue(place, 'jobs')).toEqual([{ job_id: id, state: 'waiting', starts: 0, prompt: 'write' }])
    await startWorker(place, '--name', 'host-7')
    expect(await askQueue(place, 'workers')).toEqual([{ name: 'host-7', queue: 'thread' }])
    const { code, out } = await vtcode(place, ['queue', 'follow', id, '--json'])
    expect(code).toBe(0)
    const types = eventsOf(out).map(({ type }) => type)
    expect([types[0], types.at(-1)]).toEqual(['thread.started', 'thread.completed'])
    expect(await place.read('new.txt')).toBe('new\n')
    expect(leftovers(place)).toEqual([])
    expect(await askQueue(place, 'show', id)).toMatchObject({
      state: 'completed',
      result: { worker: 'host-7', lease: 1 },
    })
  })

  it('starts a run with the same key once', async () => {
    const { peer, place } = await onRedis([{ content: 'Done.' }], { 'a.txt': 'a\n' })
    await startWorker(place)
    const run = () => vtcode(place, ['exec', '--remote', '--key', 'nightly', 'hello'])
    expect(await run()).toMatchObject({ code: 0, out: 'Done.\n' })
    expect(await run()).toMatchObject({ code: 0, out: 'Done.\n', err: expect.stringContaining('exists already') })
    for (const more of [
      ['--key', 'nightly', 'another task'],
      ['--model', 'another', '--key', 'nightly', 'hello'],
    ])
      expect(await vtcode(place, ['exec', '--remote', ...more])).toMatchObject({
        code: 2,
        out: '',
        err: expect.stringMatching(/The key is that of job t-\w+ with another task, mode or flags\. Use another --key/),
      })
    expect(peer.asked.length).toBe(1)
  })

  it('refuses a conflicting change, keeps it as a patch, and changes nothing', async () => {
    const { place } = await onRedis(
      [
        {
          toolCalls: [
            call('unified_file', { action: 'edit', path: 'a.txt', old_str: 'one', new_str: 'remote' }),
            write('b.txt', 'b'),
          ],
        },
        { content: 'Done.' },
      ],
      { 'a.txt': 'one\n' },
    )
    const id = (await vtcode(place, ['exec', '--remote', '--detach', 'edit'])).out.trim()
    writeFileSync(join(place.root, 'a.txt'), 'mine\n')
    await startWorker(place)
    const { code, err } = await vtcode(place, ['queue', 'follow', id])
    expect([code, err]).toEqual([1, expect.stringMatching(/VT_AGENT_MERGE_CONFLICT[^]*\.patch; nothing was merged/)])
    expect([await place.read('a.txt'), existsSync(join(place.root, 'b.txt'))]).toEqual(['mine\n', false])
    const file = /(\.vtcode\/worktrees\/\S+\.patch)/.exec(err)![1]!
    expect(readFileSync(join(place.root, file), 'utf8')).toContain('+remote')
  })

  it('cancels jobs, stops and resumes the start of jobs, and ends a worker with SIGTERM', async () => {
    const { peer, place } = await onRedis(
      [{ toolCalls: [call('unified_exec', { action: 'run', command: 'sleep 60' })] }, { content: 'Done.' }],
      { 'a.txt': 'a' },
    )
    const worker = await startWorker(place)
    const submit = async () => (await vtcode(place, ['exec', '--remote', '--detach', 'wait'])).out.trim()
    const running = await submit()
    await eventually(() => peer.asked.length === 1)
    expect(await askQueue(place, 'drain')).toEqual({ paused: true })
    const waiting = await submit()
    for (const id of [running, waiting]) expect(await askQueue(place, 'cancel', id)).toEqual({ cancelled: id })
    await eventually(async () => (await askQueue(place, 'status')).active === 0)
    expect(await askQueue(place, 'drain', '--resume')).toEqual({ paused: false })
    expect(await vtcode(place, ['queue', 'follow', running])).toMatchObject({
      code: 1,
      err: expect.stringContaining('VT_QUEUE_CANCELLED'),
    })
    const exited = once(worker, 'exit')
    worker.kill('SIGTERM')
    expect(await exited).toEqual([130, null])
  })

  it('refuses more waiting jobs than the limit, and names what is missing or wrong', async () => {
    const { place } = await onRedis([], { 'a.txt': 'a' }, { max_queue_depth: 1 })
    await vtcode(place, ['exec', '--remote', '--detach', 'one'])
    const rows: [string[], number, RegExp][] = [
      [['exec', '--remote', 'two'], 1, /VT_QUEUE_FULL: 1 jobs wait already/],
      [['exec', '--detach', 'two'], 2, /--detach and --key need --remote/],
      [['exec', '--remote', '--plan', 'two'], 2, /--remote does not support --plan/],
      [['queue', 'show', 't-unknown'], 1, /VT_QUEUE_NOT_FOUND[^]*queue jobs/],
      [['queue', 'cancel', 't-unknown'], 1, /VT_QUEUE_NOT_FOUND: There is no waiting or running job/],
      [['queue', 'retry', 't-unknown'], 1, /VT_QUEUE_NOT_FOUND: There is no failed job/],
      [['queue', 'jobs', '--state', 'lost'], 2, /waiting, active, completed, failed, cancelled/],
      [['worker', '--concurrency', '0'], 2, /use a number from 1 to 64/],
      [['--mode', 'plan', 'worker'], 2, /The runs of a worker do not get --mode \(use --max-mode\)/],
      [['--disallowed-tools', 'web_search', 'worker'], 2, /do not get --allowed-tools or --disallowed-tools/],
      [['--disallowed-tools', 'Bash(git push *)', 'exec', '--remote', 'two'], 2, /do not get --config or/],
      [['--dialect', 'codex', 'exec', '--remote', 'two'], 2, /do not get --dialect[^]*vtcode\.config\.yaml/],
    ]
    for (const [args, code, text] of rows)
      expect(await vtcode(place, args), args.join(' ')).toMatchObject({ code, err: expect.stringMatching(text) })
  })
})

describe('settings for other machines', () => {
  it.each([
    ['nothing', {}, /VT_QUEUE_SETTINGS: Work on other machines is off[^]*docs\/scale\.md/],
    ['no url', { enabled: true, secret }, /VT_QUEUE_SETTINGS: automation\.distributed\.url is not set/],
    ['no secret', { enabled: true, url: 'memory:' }, /VT_QUEUE_SETTINGS: automation\.distributed\.secret is not set/],
    ['a short secret', { enabled: true, url: 'memory:', secret: 'short' }, /has 5 characters; at least 16/],
    [
      'no TLS',
      { enabled: true, url: 'redis://queue.example:6379', secret },
      /queue\.example would be used without TLS/,
    ],
    [
      'an unknown scheme',
      { enabled: true, url: 'amqp://127.0.0.1', secret },
      /VT_QUEUE_NO_ENGINE[^]*redis, rediss, memory/,
    ],
  ])('reports %s and names the next step', async (_, given, text) => {
    const peer = hold(await startPeer([]))
    const place = hold(await home(peer, {}, { settings: { automation: { distributed: given } } }))
    expect(await vtcode(place, ['queue', 'status'])).toMatchObject({ code: 3, err: expect.stringMatching(text) })
  })
})
