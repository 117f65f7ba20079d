import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { eventually } from '../../support/exec.js'
import { endTest, hold } from '../../support/held.js'
import { call, startPeer, vtcode } from '../../support/peer.js'
import { lacksRedis, skippedRedis, startRedis, type RedisServer } from '../../support/redis.js'
import { askQueue, quick, remoteScene, startWorker } from '../../support/remote_runs.js'

afterEach(endTest)
const write = (path: string, content: string) => call('unified_file', { action: 'write', path, content })

describe.skipIf(lacksRedis)(`vtcode worker on Redis${skippedRedis}`, () => {
  let redis: RedisServer
  const onRedis = async (script: Parameters<typeof startPeer>[0], files = {}, more = {}) => {
    redis = hold(await startRedis())
    return remoteScene(script, files, redis.url, { ...quick, ...more })
  }

  it('continues after the last complete step when a worker is killed: its commands ran once', async () => {
    const { peer, place } = await onRedis(
      [
        { toolCalls: [call('unified_exec', { action: 'run', command: 'printf x >>count.txt' })] },
        { toolCalls: [call('unified_exec', { action: 'run', command: 'sleep 600.7' })] },
        { content: 'Done.' },
      ],
      { 'a.txt': 'one\n' },
    )
    const first = await startWorker(place, '--name', 'first')
    const id = (await vtcode(place, ['exec', '--remote', '--detach', '--verify', 'true', 'count'])).out.trim()
    // The run asks for its second step only after the server has the first one.
    await eventually(() => peer.asked.length === 2)
    first.kill('SIGKILL')
    await startWorker(place, '--name', 'second')
    const { code, err } = await vtcode(place, ['queue', 'follow', id, '--text'])
    expect([code, err]).toEqual([0, expect.stringContaining('Worker second runs the job.')])
    expect(await place.read('count.txt')).toBe('x')
    // The run of the killed worker ends with its lease, and its command too.
    expect(await eventually(() => spawnSync('pgrep', ['-f', 'sleep 600.7']).status === 1)).toBe(true)
    expect(peer.asked.length).toBe(3)
  })

  it('writes nothing after a worker was stopped longer than its lease and woke up', async () => {
    const { peer, place } = await onRedis(
      [
        { toolCalls: [call('unified_exec', { action: 'run', command: 'sleep 9' })] },
        { toolCalls: [write('b.txt', 'second\n')] },
        { content: 'Done.' },
        { toolCalls: [write('b.txt', 'late\n')] },
      ],
      { 'a.txt': 'one\n' },
    )
    const first = await startWorker(place, '--name', 'first')
    const id = (await vtcode(place, ['exec', '--remote', '--detach', 'write'])).out.trim()
    await eventually(() => peer.asked.length === 1)
    first.kill('SIGSTOP')
    await startWorker(place, '--name', 'second')
    const followed = vtcode(place, ['queue', 'follow', id, '--text'])
    await eventually(() => peer.asked.length >= 2)
    first.kill('SIGCONT')
    expect(await followed).toMatchObject({ code: 0, out: 'Done.\n' })
    expect(await place.read('b.txt')).toBe('second\n')
    const session = (await askQueue(place, 'show', id)).job.session_id
    const journal = readFileSync(join(place.root, '.vtcode/sessions', session, 'messages.jsonl'), 'utf8')
    const leases = journal
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).lease)
    expect(leases).toEqual([...leases].sort())
    expect(leases.at(-1)).toBe(2)
  })

  it('lowers the mode of a job to the one of the worker', async () => {
    const { place } = await onRedis([{ toolCalls: [write('new.txt', 'new\n')] }, { content: 'Not possible.' }], {
      'a.txt': 'a',
    })
    await startWorker(place, '--max-mode', 'plan')
    const { out, err } = await vtcode(place, ['--mode', 'auto', 'exec', '--remote', 'write'])
    expect([out, err]).toEqual([
      expect.stringContaining('Not possible.'),
      expect.stringMatching(/write new\.txt {2}VT_POLICY/),
    ])
    expect(existsSync(join(place.root, 'new.txt'))).toBe(false)
  })

  it('obeys rules in variables of the worker', async () => {
    const { place } = await onRedis([{ toolCalls: [write('new.txt', 'new\n')] }, { content: 'Not possible.' }], {
      'a.txt': 'a',
    })
    await startWorker({ ...place, env: { ...place.env, VTCODE__POLICY__DENY: '["Write(new.txt)"]' } })
    const { err } = await vtcode(place, ['--mode', 'auto', 'exec', '--remote', 'write'])
    expect(err).toMatch(/write new\.txt {2}VT_POLICY_DENIED/)
    expect(existsSync(join(place.root, 'new.txt'))).toBe(false)
  })

  it('refuses a job that was changed in the queue, and runs nothing of it', async () => {
    const { peer, place } = await onRedis([{ content: 'Done.' }], { 'a.txt': 'a' })
    const id = (await vtcode(place, ['exec', '--remote', '--detach', 'good'])).out.trim()
    const key = `{vtcode}:thread:${id}`
    const data = JSON.parse(redis.ask('HGET', key, 'data'))
    data.job.payload.prompt = 'bad'
    redis.ask('HSET', key, 'data', JSON.stringify(data))
    await startWorker(place)
    await eventually(async () => (await askQueue(place, 'status')).failed === 1)
    expect((await askQueue(place, 'show', id)).reason).toMatch(/^VT_QUEUE_BAD_SIGNATURE: The job was refused/)
    expect(await vtcode(place, ['queue', 'follow', id])).toMatchObject({
      code: 1,
      err: expect.stringContaining('VT_QUEUE_BAD_SIGNATURE'),
    })
    expect(peer.asked).toEqual([])
  })
})
