import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { checkLog } from '../../support/invariants.js'
import { setTimeout as sleep } from 'node:timers/promises'
import { call, vtcode } from '../../support/peer.js'
import { edit, play, read, run, step, write, type Face, type Scene } from '../../support/endings.js'
import { rounds } from '../../support/exec.js'
import { told, type Ending } from '../../support/endings_told.js'

const done = { content: 'Done.' }
const honest = { content: 'Not done.' }
const slow = { content: 'It was a dark and stormy night. '.repeat(200), how: { latency: 40, chunkSize: 8 } }
const deny = { policy: { deny: ['Edit(a.txt)'] } }
const allow = (...rules: string[]) => ({ policy: { allow: rules } })
const hook = (event: string, command: string) => ({ hooks: { [event]: [{ hooks: [{ command }] }] } })
const harness = (settings: object) => ({ agent: { model: 'peer/m', harness: settings } })
const error = (status: number, message: string, code?: string) => ({
  error: { message, ...(code !== undefined && { code }) },
  status,
})
const signal = (
  when: NonNullable<Scene['once']>['when'],
  ...signals: NodeJS.Signals[]
): NonNullable<Scene['once']> => ({
  when,
  then: async (child) => {
    for (const [index, one] of signals.entries()) {
      // Presses that follow each other at once are one.
      if (index > 0) await sleep(300)
      child.kill(one)
    }
  },
})
const isAsked: NonNullable<Scene['once']>['when'] = (_, peer) => peer.asked.length > 0
const hasBegun: NonNullable<Scene['once']>['when'] = ({ root }) => existsSync(join(root, 'begun'))
const questions = (root: string): string[] =>
  existsSync(join(root, '.vtcode/approvals'))
    ? readdirSync(join(root, '.vtcode/approvals')).filter((name) => name.endsWith('.json'))
    : []
const waits: NonNullable<Scene['once']>['when'] = ({ root }) => questions(root).length > 0
const says = (...words: string[]): NonNullable<Scene['once']> => ({
  when: waits,
  beside: true,
  then: (_, place) =>
    vtcode(place, ['approvals', words[0]!, questions(place.root)[0]!.replace('.json', ''), ...words.slice(1)]),
})
const long = run('touch begun; sleep 60')
const sleeping = allow('Bash(touch *)', 'Bash(sleep *)')

const rows: Record<string, Scene> = {
  finished: { script: [step(write('b.txt')), done, honest] },
  'nothing to do': { script: [{ content: 'Nothing.' }] },
  'denied write, then an honest answer': { script: [step(write()), done, honest], settings: deny },
  'denied write, then done all the same': { script: [step(write()), done, done], settings: deny },
  'denied write, then a look around': {
    script: [step(write()), step(run('ls')), done, honest],
    settings: { policy: { deny: ['Edit(a.txt)'], allow: ['Bash(ls)'] } },
  },
  'denied write, then another way': { script: [step(write()), step(write('b.txt')), done, honest], settings: deny },
  'failed edit': { script: [step(edit('three')), done, honest] },
  'failed edit, then a good one': { script: [step(edit('three')), step(edit('one')), done, honest] },
  'failing test run': { script: [step(run('false')), { content: 'The tests fail.' }], settings: allow('Bash(false)') },
  'denied read': {
    script: [step(read('.env')), { content: 'I may not read it.' }],
    settings: { policy: { deny: ['Read(.env)'] } },
  },
  'two denials': { script: [step(write(), write('b.txt')), done, honest], settings: { policy: { deny: ['Edit'] } } },
  'refused by a hook': {
    script: [step(write()), done, honest],
    settings: hook('PreToolUse', 'echo not on a Sunday >&2; exit 2'),
  },
  'refused because nobody can be asked': { script: [step(write()), done, honest], mode: 'ask' },
  'refused by a person': {
    script: [step(write()), done, honest],
    mode: 'ask',
    settings: harness({ async_approval: { enabled: true } }),
    once: says('reject', '--message', 'Not on a Sunday.'),
  },
  'allowed by a person': {
    script: [step(write()), done],
    mode: 'ask',
    settings: harness({ async_approval: { enabled: true } }),
    once: says('approve'),
  },
  'refused by a cap': {
    script: [step(write('b.txt')), step(write()), done, honest],
    settings: { policy: { constraints: { 'unified_file/write': { max_calls_per_minute: 1 } } } },
  },
  'a model that nobody knows': { script: [], settings: { agent: { model: 'nobody/m' } } },
  'a prompt that a hook refuses': { script: [done], settings: hook('UserPromptSubmit', 'echo no secrets >&2; exit 2') },
  'the money is used up': {
    script: [{ ...step(read('there.txt')), usage: { prompt_tokens: 1000, completion_tokens: 1000 } }, done],
    provider: { cost: { input: 100, output: 900 } },
    settings: harness({ max_budget_usd: 1 }),
  },
  'a limit of steps': {
    script: [step(read('there.txt')), { content: 'Half of it.' }],
    settings: { tools: { max_tool_loops: 1 } },
  },
  'a limit of steps behind a denied write': {
    script: [step(write()), { content: 'Not applied.' }],
    settings: { ...deny, tools: { max_tool_loops: 1 } },
  },
  'a limit of turns': {
    script: [done, done],
    settings: { tools: { max_conversation_turns: 1 } },
    lines: ['go', 'go on'],
    then: ['exec', '--mode', 'auto', '--resume', 'last', 'go on'],
  },
  'calls in a circle': {
    script: [...Array.from({ length: 4 }, () => step(write())), { content: 'In circles.' }],
    settings: deny,
  },
  'cut at its length': { script: [{ content: 'It was a dark and', finishReason: 'length' }] },
  'cut by a filter': { script: [{ content: 'It was a dark and', finishReason: 'content_filter' }] },
  'longer than the context': {
    script: Array.from({ length: 6 }, () => error(400, 'maximum context length exceeded', 'context_length_exceeded')),
  },
  'a server that says 401': { script: [error(401, 'bad key')] },
  'a server that says 429': { script: [error(429, 'slow down')] },
  'a server that says 500': { script: [error(500, 'oops')] },
  'a dead server': { script: [], server: 'dead' },
  'a silent server': { script: [], server: 'silent', provider: { timeouts: { first_token_ms: 300 } } },
  'a server of something else': { script: [], server: 'prose' },
  'an answer that breaks off': {
    script: [{ content: 'It was a dark and stormy night.', how: { truncateAfterChunks: 2, chunkSize: 5 } }],
  },
  'an empty answer': { script: Array.from({ length: 4 }, () => ({ content: '' })) },
  'calls written as text': {
    script: Array.from({ length: 3 }, () => ({ content: '<tool_call>{"name":"unified_file"}</tool_call>' })),
  },
  'a call that fits no schema': { script: [step(call('unified_file', { action: 'write', path: 7 })), done, honest] },
  'a tool that nobody has': { script: [step(call('no_such_tool', {})), { content: 'There is no such tool.' }] },
  'a command that does not end in its time': {
    script: [
      step(call('unified_exec', { action: 'run', command: 'sleep 60', timeout_secs: 1 })),
      { content: 'It did not end.' },
    ],
    settings: sleeping,
  },
  'stopped in its text': { script: [slow], once: signal(isAsked, 'SIGINT') },
  'stopped in a call': { script: [step(long), done], settings: sleeping, once: signal(hasBegun, 'SIGINT') },
  'stopped while somebody is asked': {
    script: [step(write()), done],
    mode: 'ask',
    settings: harness({ async_approval: { enabled: true } }),
    once: signal(waits, 'SIGINT'),
  },
  'stopped twice': { script: [step(long), done], settings: sleeping, once: signal(hasBegun, 'SIGINT', 'SIGINT') },
  'killed, and gone on with': {
    script: [step(write('b.txt'), long), done],
    settings: sleeping,
    once: signal(hasBegun, 'SIGKILL'),
    then: ['resume', '--last', '--continue-turn', '--mode', 'auto'],
  },
  'killed, and left for something else': {
    script: [step(long, write('b.txt')), { content: 'Something else.' }],
    settings: sleeping,
    once: signal(hasBegun, 'SIGKILL'),
    then: ['exec', '--mode', 'auto', '--resume', 'last', 'something else'],
  },
  'a full disk': {
    script: [step(write('b.txt')), done],
    node: ['--import', join(import.meta.dirname, '../../support/full.mjs')],
  },
}

/**
 * Endings that only `exec` plays in the short run. The signal handling of a process is in no surface, so the first signal
 * row is enough for each surface. Each surface reports a failed command in `failing test run`, so one waits for a timeout.
 */
const onlyExec = new Set([
  'a command that does not end in its time',
  'stopped in a call',
  'stopped while somebody is asked',
  'stopped twice',
  'a full disk',
])

/** Plays an ending at each surface: in parallel where each has its own process, else one after another. */
async function playAll(title: string, faces: readonly Face[]) {
  const scene = rows[title]!
  const played: [Face, Awaited<ReturnType<typeof play>>][] = []
  const playOne = async (face: Face): Promise<void> => void played.push([face, await play(face, scene)])
  if ((scene.once && !scene.once.beside) || scene.node) await Promise.all(faces.map(playOne))
  else for (const face of faces) await playOne(face)
  return Object.fromEntries(played) as Record<Face, Awaited<ReturnType<typeof play>>>
}

describe('endings of a run', () => {
  it('lists at least thirty endings, each with its expected report', () => {
    expect(Object.keys(told)).toEqual(Object.keys(rows))
    expect(Object.keys(rows).length).toBeGreaterThanOrEqual(30)
  })

  it.each(Object.keys(rows))('reports the expected ending on each surface: %s', async (title) => {
    const { asked, log, ...all } = told[title]!
    const faces = rounds(0, 1) || !onlyExec.has(title) ? all : { exec: all.exec! }
    const played = await playAll(title, Object.keys(faces) as Face[])
    for (const [face, { err, ...expected }] of Object.entries(faces) as [Face, NonNullable<Ending['exec']>][]) {
      const { told: is, log: events } = played[face]
      expect({ face, ...is }).toEqual({
        face,
        ...expected,
        err: err === undefined ? expect.anything() : err.map((line) => `${line}\n`).join(''),
      })
      if (log) checkLog(events)
    }
    if (asked !== undefined) expect([played.exec.asked.length, played.exec.logged]).toEqual([asked, log])
  })

  it('reports no unfinished work as done in exit code, last line or log', () => {
    for (const [title, { log, exec }] of Object.entries(told)) {
      if (!exec || !log) continue
      const refused = log.not_applied?.some((one) => / VT_POLICY_/.test(one)) ?? false
      expect([title, exec.code === 0]).toEqual([title, log.outcome === 'success' && !refused])
      const lines = exec.err ?? []
      for (const one of log.not_applied ?? [])
        expect([title, lines]).toEqual([
          title,
          expect.arrayContaining([expect.stringContaining(`Not applied: ${one.split(' ')[0]}`)]),
        ])
      // An ending without success states the reason and the next step.
      if (exec.code !== 0) expect([title, lines.at(-1)]).toEqual([title, expect.stringMatching(/^ {2}\S/)])
    }
  })
})
