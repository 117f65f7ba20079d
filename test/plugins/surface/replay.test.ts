import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { formatRecord, readJournal } from '../../../build/plugins/agent/session/index.js'
import {
  call,
  formats,
  home,
  markIn,
  startPeer,
  vtcode,
  type Answer,
  type Home,
  type Peer,
} from '../../support/peer.js'

const read = (path: string) => call('unified_file', { action: 'read', path })
const journalOf = (place: Home, id: string): string => join(place.root, '.vtcode/sessions', id, 'messages.jsonl')
/** Writes a journal again after a change of its records, with the seal of its user. */
function reseal(place: Home, id: string, change: (record: any) => void): void {
  const file = journalOf(place, id)
  const { records } = readJournal(readFileSync(file, 'utf8'))
  const lines = records.map((record: any) => {
    const copy = structuredClone(record)
    change(copy)
    const { n, ts, turn, crc: _, seal: __, ...fact } = copy
    return formatRecord(fact, n, turn, ts, (text: string) => markIn(place, id, text))
  })
  writeFileSync(file, lines.join(''))
}
const edit = { action: 'edit', path: 'a.txt', old_str: 'one', new_str: 'two' }
const script: Answer[] = [
  { content: 'I read.', toolCalls: [read('a.txt'), read('nested/b.txt')] },
  { toolCalls: [call('unified_file', edit), read('missing.txt')] },
  { content: 'Changed.' },
  { toolCalls: [call('unified_exec', { action: 'run', command: 'cat a.txt' })] },
  { content: 'It holds.' },
]
const files = {
  'a.txt': 'one\n',
  'nested/b.txt': 'b\n',
  'AGENTS.md': 'Use two spaces.\n',
  'nested/AGENTS.md': 'Files here are short.\n',
}

/** Records two turns and returns the id of the session. */
async function record(place: Home): Promise<string> {
  expect((await vtcode(place, ['exec', '--mode', 'auto', '--session-id', 'ses_one', 'change a.txt'])).code).toBe(0)
  expect((await vtcode(place, ['resume', 'ses_one', 'does it hold?'])).code).toBe(0)
  return 'ses_one'
}

describe.each(formats)('vtcode replay of a session over %s', (format) => {
  it('finds every request equal', async () => {
    await using peer = await startPeer(script)
    await using place = await home(peer, files, { format })
    await record(place)
    const { code, out } = await vtcode(place, ['replay', 'ses_one', '--json'])
    expect([JSON.parse(out), code]).toEqual([
      expect.objectContaining({ status: 'equal', turns: 2, requests: 5, left_out: 0, model: 'peer/m' }),
      0,
    ])
  })
})

describe('vtcode replay', () => {
  let peer: Peer
  let place: Home
  beforeAll(async () => {
    peer = await startPeer(script)
    place = await home(peer, files)
    await record(place)
  })
  afterAll(async () => {
    await place?.[Symbol.asyncDispose]()
    await peer?.[Symbol.asyncDispose]()
  })

  it('prints one line for an equal session', async () => {
    expect(await vtcode(place, ['replay', 'ses_one'])).toMatchObject({
      code: 0,
      out: 'ses_one: equal, 5 compared in 2 turns.\n',
    })
  })
  it('sends nothing to a model', async () => {
    const before = peer.asked.length
    await vtcode(place, ['replay', 'ses_one'])
    expect(peer.asked.length).toBe(before)
  })
  it('names a changed instruction file in the prompt, with both sides', async () => {
    writeFileSync(join(place.root, 'AGENTS.md'), 'Use two tabs.\n')
    const { code, out } = await vtcode(place, ['replay', 'ses_one'])
    const accepted = await vtcode(place, ['replay', 'ses_one', '--accept', 'prompt'])
    writeFileSync(join(place.root, 'AGENTS.md'), files['AGENTS.md'])
    expect(code).toBe(1)
    expect(out).toMatch(
      /^ses_one: different in turn 1, answer 1: the prompt\n {2}recorded: .*two spaces.*\n {2}present: {2}.*two tabs/,
    )
    expect(accepted.code).toBe(0)
  })
  it('names a changed result, and shows the nearest recording', async () => {
    const file = journalOf(place, 'ses_one')
    const before = readFileSync(file)
    reseal(place, 'ses_one', (one) => {
      for (const part of one.message?.parts ?? [])
        if (part.type === 'tool_result' && part.call_id === 'c1-0') part.text = part.text.replace('one', 'onE')
    })
    const { code, out } = await vtcode(place, ['replay', 'ses_one'])
    writeFileSync(file, before)
    expect([code, out]).toEqual([
      1,
      expect.stringContaining('in turn 1, answer 2: message 3: results, result of unified_file'),
    ])
    expect(out).toMatch(/recorded: .*one.*\n {2}present: {2}.*onE/)
  })
})

describe('vtcode replay --all', () => {
  it('lists every session, exits with 1 for a difference, and writes a report for CI', async () => {
    await using peer = await startPeer([...script, { content: 'Fine.' }])
    await using place = await home(peer, files)
    await record(place)
    await vtcode(place, ['exec', '--session-id', 'ses_two', 'all fine?'])
    const equal = await vtcode(place, ['replay', '--all', '--junit', 'replay.xml'])
    expect([equal.code, equal.out.split('\n').slice(0, 3)]).toEqual([
      0,
      [
        expect.stringMatching(/^session +status +turns +requests +first difference$/),
        expect.stringMatching(/^ses_one +equal +2 +5/),
        expect.stringMatching(/^ses_two +equal +1 +1/),
      ],
    ])
    const report = readFileSync(join(place.root, 'replay.xml'), 'utf8')
    expect(report).toContain('<testsuite name="vtcode replay" tests="2" failures="0" errors="0" skipped="0"')

    // One session with another result, one whose journal is damaged in the middle.
    reseal(place, 'ses_two', (one) => {
      if (one.kind === 'turn_start') one.input.parts[0].text = 'all finE?'
    })
    const journal = readFileSync(journalOf(place, 'ses_one'), 'utf8').split('\n')
    journal[2] = journal[2]!.slice(0, 40)
    writeFileSync(journalOf(place, 'ses_one'), journal.join('\n'))
    const { code, out } = await vtcode(place, ['replay', '--all', '--json', '--junit', 'replay.xml'])
    expect(code).toBe(1)
    expect(JSON.parse(out)).toMatchObject([
      { session_id: 'ses_one', status: 'unknown', reason: expect.stringMatching(/^VT_SESSION_CORRUPT: Line 3 /) },
      { session_id: 'ses_two', status: 'different', difference: { turn: 1, step: 1, part: 'messages' } },
    ])
    const after = readFileSync(join(place.root, 'replay.xml'), 'utf8')
    expect(after).toContain('tests="2" failures="1" errors="0" skipped="1"')
    expect(after).toContain('<failure message="turn 1, answer 1: message 1: input">')
  })
})

describe('vtcode replay --tools live', () => {
  it('makes the calls again on a copy, and shows the first different result', async () => {
    await using peer = await startPeer(script)
    await using place = await home(peer, files)
    for (const args of [
      ['init', '-q'],
      ['add', '.'],
    ])
      execFileSync('git', args, { cwd: place.root })
    await record(place)
    writeFileSync(join(place.root, 'a.txt'), 'one\n')
    const equal = await vtcode(place, ['replay', '--tools', 'live', '--json'])
    expect([JSON.parse(equal.out), equal.code]).toMatchObject([{ status: 'equal', requests: 5 }, 0])
    expect(readFileSync(join(place.root, 'a.txt'), 'utf8')).toBe('one\n')

    writeFileSync(join(place.root, 'nested/b.txt'), 'c\n')
    const { code, out } = await vtcode(place, ['replay', '--tools', 'live'])
    expect(code).toBe(1)
    expect(out).toMatch(
      /^ses_one: different in turn 1, answer 1: result of c1-1 unified_file\n {2}recorded: .*b.*\n {2}present: {2}.*c/,
    )
    expect(existsSync(join(place.root, '.vtcode/worktrees/replay-ses_one'))).toBe(false)
  })
})

describe('vtcode replay --from', () => {
  it('forks before a turn and runs its input with another model, prompt and setting', async () => {
    await using peer = await startPeer([...script, { content: 'By another model.' }])
    await using place = await home(peer, files, { provider: { models: ['m', 'n'] } })
    await record(place)
    const changes = [
      '--with',
      'model=peer/n',
      '--with',
      'prompt=does it hold now?',
      '--with',
      'agent.reasoning_effort=high',
    ]
    const { code, out, err } = await vtcode(place, ['replay', 'ses_one', '--from', '2', ...changes])
    expect([code, out]).toEqual([0, 'By another model.\n'])
    const [, fork] = /(ses_\w+) is a fork of ses_one before turn 2/.exec(err)!
    const asked = peer.bodies.at(-1)
    expect(asked).toMatchObject({ model: 'n', reasoning_effort: 'high' })
    expect(asked.messages.at(-1).content).toBe('does it hold now?')
    expect(asked.messages.some(({ content }: any) => content === 'does it hold?')).toBe(false)
    expect((await vtcode(place, ['replay', fork!, '--with', 'model=x'])).err).toContain('--with needs --from')
    expect((await vtcode(place, ['replay', fork!])).code).toBe(1)
    expect((await vtcode(place, ['replay', '--from', '9', 'ses_one'])).err).toContain('VT_REPLAY_TURN')
  })
})

describe('vtcode replay of what it cannot compare', () => {
  let peer: Peer
  let place: Home
  beforeAll(async () => {
    peer = await startPeer(script)
    place = await home(peer, files)
    await record(place)
  })
  afterAll(async () => {
    await place?.[Symbol.asyncDispose]()
    await peer?.[Symbol.asyncDispose]()
  })
  /** Replays after a change of the journal, which is then undone. */
  async function replayAfter(change: (text: string) => string, args = ['replay', 'ses_one']) {
    const file = journalOf(place, 'ses_one')
    const before = readFileSync(file, 'utf8')
    writeFileSync(file, change(before))
    const ran = await vtcode(place, args)
    writeFileSync(file, before)
    return ran
  }

  it('replays a journal that was cut within its last line', async () => {
    const { code, out, err } = await replayAfter((text) => text.slice(0, -30))
    expect([code, out]).toEqual([0, 'ses_one: equal, 5 compared in 2 turns.\n'])
    expect(err).toContain('The last line of the journal is incomplete')
  })
  it('names the line of a journal that a newer version wrote', async () => {
    const file = journalOf(place, 'ses_one')
    const before = readFileSync(file, 'utf8')
    const { length } = readJournal(before).records
    const newer = { kind: 'hologram' } as never
    writeFileSync(
      file,
      before + formatRecord(newer, length + 1, 2, new Date().toISOString(), (text) => markIn(place, 'ses_one', text)),
    )
    const { code, err } = await vtcode(place, ['replay', 'ses_one'])
    writeFileSync(file, before)
    expect(code).toBe(1)
    expect(err).toContain(
      `VT_REPLAY_NEWER: Line ${length + 1} of the journal of session ses_one has the unknown kind 'hologram'`,
    )
  })
  it('says that an older version recorded no requests', async () => {
    const file = journalOf(place, 'ses_one')
    const before = readFileSync(file, 'utf8')
    reseal(place, 'ses_one', (one) => delete one.request)
    const { code, out } = await vtcode(place, ['replay', 'ses_one'])
    writeFileSync(file, before)
    expect([code, out]).toEqual([
      1,
      expect.stringMatching(/^ses_one: not compared. Its requests were not recorded by version/),
    ])
  })
  it('refuses a journal that another user changed, and replays it as a file', async () => {
    const change = (text: string) => text.replace(/"seal":"[0-9a-f]{8}/, '"seal":"00000000')
    expect((await replayAfter(change)).err).toMatch(/VT_SESSION_(CORRUPT|FOREIGN)/)
    const path = '.vtcode/sessions/ses_one/messages.jsonl'
    expect(await vtcode(place, ['replay', path])).toMatchObject({ code: 0, out: expect.stringContaining('equal, 5') })
    writeFileSync(join(place.root, 'notes.jsonl'), 'hello\n')
    expect((await vtcode(place, ['replay', 'notes.jsonl'])).err).toContain('VT_REPLAY_INVALID')
  })
  it('names a tool that no longer exists', async () => {
    const { code, out } = await vtcode(place, ['replay', 'ses_one', '--disallowed-tools', 'unified_exec'])
    expect(code).toBe(1)
    expect(out).toContain('tool unified_exec\n  recorded: offered\n  present:  no longer offered')
  })
  it('names the model that no provider serves any more', async () => {
    const settings = join(place.home, '.vtcode/vtcode.config.json')
    const before = readFileSync(settings, 'utf8')
    writeFileSync(settings, '{}')
    const { code, err } = await vtcode(place, ['replay', 'ses_one'])
    writeFileSync(settings, before)
    expect([code, err]).toEqual([3, expect.stringContaining('VT_LLM_NO_MODEL')])
  })
  it('keeps no secret of a prompt or an argument in the digests of requests', async () => {
    const text = readFileSync(journalOf(place, 'ses_one'), 'utf8')
    const requests = readJournal(text).records.flatMap((one: any) => (one.request ? [JSON.stringify(one.request)] : []))
    expect(requests.length).toBe(5)
    for (const request of requests) expect(request).not.toMatch(/two spaces|key-of-the-peer/)
  })
})
