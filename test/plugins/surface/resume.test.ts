import { execFileSync } from 'node:child_process'
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { createKernel } from 'vtcode'
import { createAgent } from 'vtcode/agent'
import { afterEach, describe, expect, it } from 'vitest'
import { checkLog, checkMessages } from '../../support/invariants.js'
import { samplePoints } from '../../support/sample.js'
import { eventually, nap, processesWith } from '../../support/exec.js'
import {
  call,
  eventsOf,
  home,
  logOf,
  startPeer,
  vtcode,
  type Answer,
  type Home,
  type Peer,
} from '../../support/peer.js'

const held: AsyncDisposable[] = []
afterEach(async () => {
  for (const one of held.splice(0).reverse()) await one[Symbol.asyncDispose]()
})
async function scene(
  script: Parameters<typeof startPeer>[0],
  files = {},
  extra: Parameters<typeof home>[2] = {},
): Promise<{ peer: Peer; place: Home }> {
  const peer = await startPeer(script)
  held.push(peer)
  const place = await home(peer, files, {
    ...extra,
    settings: {
      automation: { full_auto: { enabled: true, allowed_tools: ['read', 'write', 'exec', 'net'] } },
      ...extra?.settings,
    },
  })
  held.push(place)
  return { peer, place }
}
const sessionOf = (place: Home): string =>
  readdirSync(join(place.root, '.vtcode/sessions')).find((name) => name.startsWith('ses_'))!
const journal = (place: Home, id = sessionOf(place)): string =>
  join(place.root, '.vtcode/sessions', id, 'messages.jsonl')
const killing = join(import.meta.dirname, '../../support/kill.mjs')

/** Answers by the requests so far, so that a repeated run finds its place. */
const steps: Answer[] = [
  {
    toolCalls: [
      call('unified_search', { action: 'list' }),
      call('unified_file', { action: 'write', path: 'a.txt', content: 'one\n' }),
    ],
  },
  { toolCalls: [call('unified_exec', { action: 'run', command: 'echo ran >> log.txt' })] },
  { toolCalls: [call('unified_file', { action: 'edit', path: 'a.txt', old_str: 'one', new_str: 'two' })] },
  { content: 'All done.' },
]
const byPlace = (body: any): Answer =>
  steps[body.messages.filter(({ role }: any) => role === 'assistant').length] ?? { content: 'All done.' }
const script = Array.from({ length: 60 }, () => byPlace)

describe('a resumed session', () => {
  it('continues after kill -9 at any journal write, repeats no command and loses no change', async () => {
    const whole = await scene(script)
    expect((await vtcode(whole.place, ['exec', '--mode', 'full-auto', 'go'])).code).toBe(0)
    const writes = readFileSync(journal(whole.place), 'utf8').trim().split('\n').length
    expect(writes).toBeGreaterThan(12)
    const points = Array.from({ length: writes - 1 }, (_, index) => index + 1)
    for (const n of samplePoints(points, 3)) {
      const { peer, place } = await scene(script)
      const killed = await vtcode(place, ['exec', '--mode', 'full-auto', 'go'], {
        node: ['--import', killing],
        env: { KILL_AFTER: String(n) },
      })
      expect(killed.code, `killed after ${n}`).toBe(null)
      const about = `after ${n} of ${writes} writes`
      const kernel = await createKernel({ workspace: place.root, env: place.env, mode: 'full-auto' })
      const agent = await createAgent(kernel, { env: place.env, resume: 'last' })
      expect(await agent.run(), about).toMatchObject({ outcome_code: 'success', text: 'All done.' })
      await agent.close()
      await kernel.close()
      expect(await place.read('a.txt'), about).toBe('two\n')
      expect((await place.read('log.txt')) ?? '', about).toMatch(/^(ran\n)?$/)
      checkLog(logOf(place, sessionOf(place)))
      for (const { messages } of peer.bodies) checkMessages(messages)
    }
  }, 600_000)

  it('rejects another word in the place of its id, and shows how an id begins', async () => {
    const { place } = await scene([])
    const { code, err } = await vtcode(place, ['resume', 'nosuch'])
    expect(code).toBe(2)
    expect(err).toContain('Invalid session id "nosuch": an id begins with ses_. Pass an id or --last;')
  })

  it('continues with a new task, and records the interrupted turn as failed', async () => {
    const { peer, place } = await scene(script)
    await vtcode(place, ['exec', '--mode', 'full-auto', 'go'], {
      node: ['--import', killing],
      env: { KILL_AFTER: '9' },
    })
    const { code, out } = await vtcode(place, ['exec', 'resume', sessionOf(place), 'what now?', '--mode', 'full-auto'])
    expect([code, out]).toEqual([0, 'All done.\n'])
    const { messages } = peer.bodies.at(-1)
    checkMessages(messages)
    expect(messages.some(({ content }: any) => content === 'what now?')).toBe(true)
    checkLog(logOf(place, sessionOf(place)))
    expect(
      logOf(place, sessionOf(place)).filter(
        ({ type, code }) => type === 'turn.failed' && code === 'VT_SESSION_INTERRUPTED',
      ),
    ).toHaveLength(1)
  })

  it('repeats no command that may have run, and reports that', async () => {
    const { peer, place } = await scene(script)
    await vtcode(place, ['exec', '--mode', 'full-auto', 'go'])
    const lines = readFileSync(journal(place), 'utf8').split('\n')
    const started = lines.findIndex((line) => line.includes('"kind":"call_start","call_id":"c2-0"')) + 1
    rmSync(join(place.root, '.vtcode'), { recursive: true })
    rmSync(join(place.root, 'log.txt'))
    rmSync(join(place.root, 'a.txt'))
    await vtcode(place, ['exec', '--mode', 'full-auto', 'go'], {
      node: ['--import', killing],
      env: { KILL_AFTER: String(started) },
    })
    await vtcode(place, ['resume', '--last', '--continue-turn', '--mode', 'full-auto'])
    expect(JSON.stringify(peer.bodies.at(-1).messages)).toContain('VT_CALL_INTERRUPTED')
    expect(await place.read('log.txt')).toBeUndefined()
  })

  it('reports the output of a killed command, as far as a file holds it', async () => {
    const { peer, place } = await scene([
      { toolCalls: [call('unified_exec', { action: 'run', command: 'seq 1 60000; sleep 97' })] },
      { content: 'fine' },
    ])
    const written = () =>
      readdirSync(join(place.root, '.vtcode/spool')).find((name) => name.startsWith(sessionOf(place)))
    const printed = () =>
      existsSync(join(place.root, '.vtcode/spool')) &&
      written() !== undefined &&
      readFileSync(join(place.root, '.vtcode/spool', written()!), 'utf8').endsWith('60000\n')
    await vtcode(place, ['exec', '--quiet', '--mode', 'full-auto', 'go'], {
      started: (child) => {
        const look = setInterval(() => printed() && (clearInterval(look), child.kill('SIGKILL')), 50)
      },
    })
    expect((await vtcode(place, ['resume', '--last', '--continue-turn', '--mode', 'full-auto'])).out).toBe('fine\n')
    const told = peer.bodies.at(-1).messages.at(-1).content
    expect(told).toMatch(
      /^ERROR VT_CALL_INTERRUPTED: [\s\S]* What it printed is in \.vtcode\/spool\/ses_\S+ \(\d+ bytes\); it ends:\n[\s\S]*\n60000\n/,
    )
    expect(told).not.toContain('\n50000\n')
    expect((await vtcode(place, ['sessions', 'delete', sessionOf(place)])).code).toBe(0)
    expect(written()).toBeUndefined()
  })

  it('continues without a torn last line, and refuses other damage until it is repaired', async () => {
    const { place } = await scene(script)
    await vtcode(place, ['exec', '--mode', 'full-auto', 'go'])
    const file = journal(place)
    appendFileSync(file, '{"n":99,"ts":"2026')
    const torn = await vtcode(place, ['exec', 'resume', '--last', 'more', '--json', '--mode', 'full-auto'])
    expect(torn.code).toBe(0)
    expect(eventsOf(torn.out).find(({ item }) => item?.event === 'resumed').item.message).toContain('incomplete')
    const lines = readFileSync(file, 'utf8').split('\n')
    lines[3] = lines[3]!.replace(/[a-z]/, 'X')
    writeFileSync(file, lines.join('\n'))
    const corrupt = await vtcode(place, ['exec', 'resume', '--last', 'more'])
    expect([corrupt.code, corrupt.err.includes('VT_SESSION_CORRUPT: Line 4')]).toEqual([1, true])
    expect((await vtcode(place, ['sessions', 'repair', sessionOf(place), '--text'])).out).toMatch(
      /Moved \d+ damaged lines?/,
    )
    expect((await vtcode(place, ['exec', 'resume', '--last', 'more', '--mode', 'full-auto'])).code).toBe(0)
    truncateSync(file, 0)
    expect((await vtcode(place, ['exec', 'resume', '--last', 'more', '--mode', 'full-auto'])).code).toBe(0)
  })

  it('belongs to one process at a time, and a dead one loses it', async () => {
    const slow: Answer = { content: 'slow '.repeat(500), how: { latency: 50, chunkSize: 5 } }
    const { place } = await scene([{ content: 'first' }, slow, { content: 'third' }])
    await vtcode(place, ['exec', 'go'])
    let other: Promise<unknown> | undefined
    const first = vtcode(place, ['exec', 'resume', '--last', 'again', '--json'], {
      started: (child) =>
        child.stdout!.on('data', (chunk: Buffer) => {
          // The model has been asked by then: the next run gets the next answer.
          if (other === undefined && String(chunk).includes('"agent_message"'))
            other = vtcode(place, ['exec', 'resume', '--last', 'me too']).then((second) => {
              expect([second.code, second.err]).toEqual([
                1,
                expect.stringContaining(`VT_SESSION_LOCKED: The session is in use by process ${child.pid}`),
              ])
              child.kill('SIGKILL')
            })
        }),
    })
    expect((await first).code).toBe(null)
    await other
    expect(await vtcode(place, ['exec', 'resume', '--last', 'now me'])).toMatchObject({ code: 0, out: 'third\n' })
    checkLog(logOf(place, sessionOf(place)))
  })

  it('ends cleanly at Ctrl-C, with one end for everything, and can be resumed', async () => {
    const sleeping = nap()
    const { place } = await scene([
      { toolCalls: [call('unified_exec', { action: 'run', command: sleeping })] },
      { content: 'fine' },
    ])
    const run = vtcode(place, ['exec', '--json', '--mode', 'full-auto', 'go'], {
      started: (child) =>
        child.stdout!.on(
          'data',
          (chunk: Buffer) => String(chunk).includes('tool_invocation') && setTimeout(() => child.kill('SIGINT'), 500),
        ),
    })
    const { code, out } = await run
    expect(code).toBe(130)
    const events = eventsOf(out)
    checkLog(events)
    expect(events.at(-1)).toMatchObject({ type: 'thread.completed', outcome_code: 'cancelled', subtype: 'cancelled' })
    // A killed process may take a moment to end.
    expect(await eventually(() => processesWith(sleeping.replace(' ', '\0')).length === 0)).toBe(true)
    expect(await vtcode(place, ['exec', 'resume', '--last', 'well?'])).toMatchObject({ code: 0, out: 'fine\n' })
  })

  it('forks with the whole conversation or its memory, and keeps the old session unchanged', async () => {
    const { peer, place } = await scene([
      ...['1', '2', '3', '4', '5'].map((n) => ({ content: `answer ${n}` })),
      { content: 'copied' },
      { content: 'summarised' },
    ])
    for (const n of ['1', '2', '3', '4', '5'])
      await vtcode(place, ['exec', `question ${n}`, ...(n === '1' ? [] : ['--resume', 'last'])])
    const parent = sessionOf(place)
    const before = readFileSync(journal(place, parent), 'utf8')
    const said = () =>
      peer.bodies
        .at(-1)
        .messages.slice(1)
        .map(({ content }: any) => content)
    expect(await vtcode(place, ['resume', parent, '--fork', 'and now?'])).toMatchObject({ code: 0, out: 'copied\n' })
    expect(said()).toEqual([...['1', '2', '3', '4', '5'].flatMap((n) => [`question ${n}`, `answer ${n}`]), 'and now?'])
    expect(await vtcode(place, ['resume', parent, '--fork', '--summarize', 'and then?'])).toMatchObject({
      code: 0,
      out: 'summarised\n',
    })
    expect(peer.bodies).toHaveLength(7)
    const [memory, summary, ...words] = said()
    expect(memory).toContain(`.vtcode/sessions/${parent}/messages.jsonl`)
    expect(summary).toContain('Goal: question 1')
    expect(words).toEqual(['question 2', 'question 3', 'question 4', 'question 5', 'and then?'])
    expect(readFileSync(journal(place, parent), 'utf8')).toBe(before)
    const all = JSON.parse((await vtcode(place, ['sessions', 'list', '--json'])).out)
    expect(
      all
        .filter(({ parent_session_id }: any) => parent_session_id === parent)
        .map(({ fork_mode }: any) => fork_mode)
        .sort(),
    ).toEqual(['full_copy', 'summarized'])
    for (const { session_id, fork_mode } of all) {
      const log = logOf(place, session_id)
      checkLog(log)
      if (fork_mode) expect(log[0].parent_thread_id).toMatch(/^th_/)
    }
    expect((await vtcode(place, ['resume', 'ses_nothere', '--fork', 'x'])).err).toContain('VT_SESSION_NOT_FOUND')
    expect((await vtcode(place, ['resume', parent, '--summarize', 'x'])).code).toBe(2)
  })

  it("starts a new log file after a large one, and copies the log to the user's path", async () => {
    const { place } = await scene(
      [{ content: 'one' }, { content: 'two' }],
      {},
      { settings: { agent: { model: 'peer/m', harness: { event_log_path: 'copy.jsonl' } } } },
    )
    await vtcode(place, ['exec', 'go'])
    const id = sessionOf(place)
    const folder = join(place.root, '.vtcode/sessions', id)
    const { seq, thread_id } = logOf(place, id).at(-1)
    appendFileSync(
      join(folder, 'events.jsonl'),
      `${JSON.stringify({ schema_version: '1.0.0', event: { type: 'of_the_future', seq: seq + 1, thread_id, pad: 'x'.repeat(64 * 2 ** 20) } })}\n`,
    )
    expect((await vtcode(place, ['exec', '--resume', 'last', 'on'])).code).toBe(0)
    expect(existsSync(join(folder, 'events.1.jsonl'))).toBe(true)
    expect(logOf(place, id)[0]).toMatchObject({ type: 'thread.started', seq: seq + 2 })
    expect(
      (await place.read('copy.jsonl'))!
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).event.type)
        .filter((type) => type === 'thread.completed'),
    ).toHaveLength(2)
  })

  it('stays whole with a redacted secret, since the checksum covers the written text', async () => {
    const { place } = await scene([
      { toolCalls: [call('unified_file', { action: 'write', path: 'a.txt', content: 'key-of-the-peer-0123' })] },
      { content: 'I saw key-of-the-peer-0123.' },
      { content: 'still here' },
    ])
    await vtcode(place, ['exec', '--mode', 'auto', 'go'])
    expect(readFileSync(journal(place), 'utf8')).not.toContain('key-of-the-peer-0123')
    expect(await vtcode(place, ['exec', '--resume', 'last', 'more'])).toMatchObject({ code: 0, out: 'still here\n' })
  })

  it('refuses session files that are pipes, devices or links, and writes nothing elsewhere', async () => {
    const { place } = await scene([{ content: 'one' }, { content: 'two' }])
    await vtcode(place, ['exec', 'go'])
    const id = sessionOf(place)
    const folder = join(place.root, '.vtcode/sessions', id)
    const saved = join(place.home, 'saved')
    cpSync(folder, saved, { recursive: true })
    const resumed = async (lay: () => void) => {
      lay()
      const { code, err } = await vtcode(place, ['exec', '--resume', id, 'on'])
      rmSync(folder, { recursive: true })
      cpSync(saved, folder, { recursive: true })
      return [code, /VT_[A-Z_]+/.exec(err)?.[0]]
    }
    for (const name of ['messages.jsonl', 'events.jsonl', 'manifest.json', 'queue.json']) {
      const file = join(folder, name)
      rmSync(file, { force: true })
      expect(await resumed(() => execFileSync('mkfifo', [file])), name).toEqual([1, 'VT_SESSION_CORRUPT'])
      rmSync(file, { force: true })
      expect(await resumed(() => symlinkSync('/dev/null', file)), name).toEqual([1, 'VT_SESSION_CORRUPT'])
    }
    expect(await resumed(() => writeFileSync(join(folder, 'queue.json'), '{"v":1,"pending":null}'))).toEqual([
      1,
      'VT_SESSION_CORRUPT',
    ])
    const away = join(place.home, 'away')
    mkdirSync(away)
    rmSync(join(folder, 'prompts'), { recursive: true })
    expect(await resumed(() => symlinkSync(away, join(folder, 'prompts')))).toEqual([1, 'VT_SESSION_WRITE'])
    expect(readdirSync(away)).toEqual([])
    // Missing texts are written again; an invalid lock delays no run.
    expect(
      await resumed(
        () => (rmSync(join(folder, 'prompts'), { recursive: true }), execFileSync('mkfifo', [join(folder, 'lock')])),
      ),
    ).toEqual([0, undefined])
  })

  it('reports a missing session, and a disk that takes no journal', async () => {
    const { place } = await scene([{ content: 'ok' }])
    expect(await vtcode(place, ['resume', 'ses_nothere', 'x'])).toMatchObject({
      code: 1,
      err: expect.stringContaining("VT_SESSION_NOT_FOUND: Session not found: 'ses_nothere'"),
    })
    expect(await vtcode(place, ['resume', '--last', 'x'])).toMatchObject({
      code: 1,
      err: expect.stringContaining('VT_SESSION_NOT_FOUND'),
    })
    expect((await vtcode(place, ['resume'])).code).toBe(2)
    mkdirSync(join(place.root, '.vtcode'), { recursive: true })
    const full = join(import.meta.dirname, '../../support/full.mjs')
    const { code, out } = await vtcode(place, ['exec', '--json', 'go'], { node: ['--import', full] })
    const stopped = eventsOf(out).at(-1)
    expect([code, stopped.outcome_code, stopped.stop_reason]).toEqual([1, 'failed', 'VT_SESSION_WRITE'])
  })
})

it('reads the next task from a pipe, alone or after words', async () => {
  const { peer, place } = await scene(Array.from({ length: 5 }, () => ({ content: 'ok' })))
  await vtcode(place, ['exec', '--session-id', 'ses_one', 'begin'])
  for (const words of [['ses_one'], ['--last'], ['--last', '-']])
    expect(await vtcode(place, ['resume', ...words], { input: 'from the pipe\n' })).toMatchObject({ code: 0 })
  expect(await vtcode(place, ['resume', '--last', 'look at this', '-'], { input: 'log' })).toMatchObject({ code: 0 })
  expect(peer.bodies.slice(1).map(({ messages }) => messages.at(-1).content)).toEqual([
    ...Array(3).fill('from the pipe'),
    'look at this\n\n<stdin>\nlog\n</stdin>',
  ])
  expect(await vtcode(place, ['resume', '--last'], { input: '' })).toMatchObject({
    code: 2,
    err: expect.stringContaining('No task given.'),
  })
})
