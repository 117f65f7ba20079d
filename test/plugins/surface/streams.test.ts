import { spawn, type ChildProcess } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { afterEach, describe, expect, it } from 'vitest'
import { textOf } from '../../house/sources.js'
import { checkLog } from '../../support/invariants.js'
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
import { eventually, nap, processesWith } from '../../support/exec.js'
import { bin, typing } from '../../support/terminal.js'

const held: AsyncDisposable[] = []
afterEach(async () => {
  for (const one of held.splice(0).reverse()) await one[Symbol.asyncDispose]()
})
async function scene(
  script: Answer[],
  files = {},
  extra: Parameters<typeof home>[2] = {},
): Promise<{ peer: Peer; place: Home }> {
  const peer = await startPeer(script)
  held.push(peer)
  const place = await home(peer, files, extra)
  held.push(place)
  return { peer, place }
}
const slow: Answer = { content: 'slow '.repeat(2000), how: { latency: 20, chunkSize: 5 } }
const answers = (count: number): Answer[] => Array.from({ length: count }, () => ({ content: 'ok' }))
const sessions = (place: Home): string[] =>
  readdirSync(join(place.root, '.vtcode/sessions')).filter((name) => name.startsWith('ses_'))

describe('vtcode without a verb', () => {
  it('opens the chat at a terminal, and reports a usage error elsewhere', async () => {
    const { place } = await scene([])
    const at = await typing(place, [])
    await at.until('peer/m, mode ask')
    at.terminal.write('\x04')
    expect((await at.end()).code).toBe(0)
    for (const input of [undefined, 'hello\n']) {
      expect(await vtcode(place, [], input === undefined ? {} : { input })).toEqual({
        code: 2,
        out: '',
        err: expect.stringMatching(
          /^vtcode: error: No verb given; known verbs: acp, agents, approvals, ask, .*\nSee `vtcode help`\.\n$/,
        ),
      })
    }
  })
})

describe('common flags', () => {
  const verbs: Record<string, string[]> = {
    ask: ['ask', 'x'],
    exec: ['exec', 'x'],
    'exec resume': ['exec', 'resume', 'ses_a', 'x'],
    chat: ['chat'],
    resume: ['resume', 'ses_a', 'x'],
    sessions: ['sessions'],
    revert: ['revert', '--turn', '1', '--session', 'ses_a', '--dry-run'],
    approvals: ['approvals'],
    models: ['models'],
  }
  const talking = ['ask', 'exec', 'exec resume', 'chat', 'resume']
  const everywhere =
    '--workspace . --mode plan --allowed-tools unified_file --disallowed-tools unified_exec --config agent.model=peer/m --quiet --verbose --log-level info --no-color'.split(
      ' ',
    )
  const runner = async (script: Answer[]) => {
    const { place } = await scene(script)
    await vtcode(place, ['exec', '--session-id', 'ses_a', 'first'])
    return (name: string, ...flags: string[]) =>
      vtcode(place, [...verbs[name]!, ...flags], { input: name === 'chat' ? 'hello\n' : '' })
  }
  it('accepts common flags with every verb where they have a meaning', async () => {
    const ran = await runner(answers(20))
    for (const name of Object.keys(verbs)) {
      const model = talking.includes(name) ? ['--model', 'm', '--provider', 'peer'] : []
      expect([name, await ran(name, ...everywhere, ...model)]).toEqual([name, expect.objectContaining({ code: 0 })])
      if (name === 'chat') continue
      const { code, out } = await ran(name, '--json')
      expect([name, code, eventsOf(out).length > 0]).toEqual([name, 0, true])
    }
    for (const name of ['ask', 'exec', 'chat'])
      for (const flags of [['--session-id', `ses_${name}`], ['--resume', 'ses_a'], ['--continue']])
        expect([name, flags, (await ran(name, ...flags)).code]).toEqual([name, flags, 0])
  })

  it('refuses common flags with a reason where they have no meaning', async () => {
    const ran = await runner(answers(1))
    const goes = (flag: string, with_what: string) => ({
      code: 2,
      out: '',
      err: `vtcode: error: ${flag} has no place here; ${with_what}.\n`,
    })
    for (const name of Object.keys(verbs))
      expect(await ran(name, '--agent', 'x')).toEqual(
        goes('--agent', 'agents work parallel to a conversation, `vtcode agents` lists them'),
      )
    expect(await ran('chat', '--json')).toEqual(goes('--json', 'it goes with call, ask, exec, resume and with lists'))
    expect(await ran('models', '--model', 'peer/m')).toEqual(goes('--model', 'it goes with ask, exec, chat and resume'))
    for (const flag of ['--resume', '--continue', '--session-id', '--provider'])
      expect(await ran('sessions', flag)).toMatchObject({
        code: 2,
        err: expect.stringContaining(`${flag} has no place here; it goes with ask, exec`),
      })
    expect(await ran('exec resume', '--session-id', 'ses_b')).toMatchObject({
      code: 2,
      err: expect.stringContaining('--session-id names a new session'),
    })
    expect(await ran('resume', '--session-id', 'ses_b')).toMatchObject({
      code: 2,
      err: expect.stringContaining('--session-id needs --fork'),
    })
  })

  it('answers an unknown flag with the nearest one and exit 2, and prints help to stdout', async () => {
    const { place } = await scene([])
    for (const [verb, ...words] of Object.values(verbs)) {
      expect(await vtcode(place, [verb!, ...words, '--workspaces'])).toEqual({
        code: 2,
        out: '',
        err: expect.stringMatching(
          new RegExp(
            `^vtcode: error: unknown option '--workspaces'.*\nSee \`vtcode ${verb}(?: resume)? --help\`\\.\n$`,
            's',
          ),
        ),
      })
      expect(await vtcode(place, [verb!, '--help'])).toEqual({
        code: 0,
        out: expect.stringMatching(/^Usage: vtcode /),
        err: '',
      })
    }
    expect((await vtcode(place, ['exec', '--jsno', 'x'])).err).toContain('(Did you mean --json?)')
    expect(await vtcode(place, ['--workspace', 'nowhere', 'exec', 'x'])).toEqual({
      code: 2,
      out: '',
      err: expect.stringContaining("'nowhere' is not a folder. Give --workspace a folder."),
    })
    expect(await vtcode(place, ['sessions', 'shwo'])).toMatchObject({
      code: 2,
      err: "vtcode: error: Unknown sub-command 'shwo' (did you mean show?); known: list, show, rename, flag, repair, adopt, delete, gc.\nSee `vtcode sessions --help`.\n",
    })
    // A verb with a default sub-command accepts no unknown one; errors of a sub-command name its own help.
    expect(await vtcode(place, ['config', 'sett', 'policy.mode', 'auto'])).toMatchObject({
      code: 2,
      err: expect.stringMatching(
        /^vtcode: error: Unknown sub-command 'sett' .*; known: show, get, set, unset, validate, path, schema\.\n/,
      ),
    })
    expect(await vtcode(place, ['plugins', 'new', 'a', '--template', 'x'])).toMatchObject({
      code: 2,
      err: expect.stringMatching(/choices are js, [\s\S]*\nSee `vtcode plugins new --help`\.\n$/),
    })
    expect(await vtcode(place, ['schedule', 'create', '--every', '1h', 'hi', 'you'])).toMatchObject({
      code: 2,
      err: "vtcode: error: 'you' has no place here; `vtcode schedule create` takes 1 word besides its flags.\nSee `vtcode schedule create --help`.\n",
    })
    expect(await vtcode(place, ['undo', '1', '2'])).toMatchObject({
      code: 2,
      err: expect.stringContaining("'2' has no place here; `vtcode undo` takes 1 word besides its flags."),
    })
    expect(await vtcode(place, ['config', 'get', 'policy.mod'])).toMatchObject({
      code: 1,
      err: expect.stringContaining("'policy.mod' is not set (did you mean policy.mode?)"),
    })
  })

  it('knows the flags of the chat, and which take a value, before the program is loaded', async () => {
    const { place } = await scene([])
    const shown = [...(await vtcode(place, ['chat', '--help'])).out.matchAll(/^ {2}(--[a-z-]+)( <)?/gm)].map(
      ([, flag, value]) => [flag, value !== undefined],
    )
    const known = [...textOf('plugins/surface/chat/front.ts').matchAll(/'(--[a-z-]+)': (true|false)/g)].map(
      ([, flag, value]) => [flag, value === 'true'],
    )
    // A chat in lines has no screen.
    expect(Object.fromEntries(known)).toEqual(Object.fromEntries(shown.filter(([flag]) => flag !== '--plain')))
  })

  it('leaves only errors on stderr with --quiet, for every verb', async () => {
    const step: Answer = { toolCalls: [call('unified_search', { action: 'list' })] }
    const { place } = await scene([
      step,
      { content: 'a' },
      step,
      { content: 'b' },
      { content: 'c' },
      { error: { message: 'no' }, status: 400 },
    ])
    expect(await vtcode(place, ['exec', '--quiet', 'x'])).toEqual({ code: 0, out: 'a\n', err: '' })
    expect(await vtcode(place, ['--quiet', 'chat'], { input: 'x\n' })).toEqual({ code: 0, out: 'b\n', err: '' })
    expect(await vtcode(place, ['ask', '--quiet', 'x'])).toEqual({ code: 0, out: 'c\n', err: '' })
    expect(await vtcode(place, ['models', '--quiet'])).toMatchObject({ code: 0, err: '' })
    expect(await vtcode(place, ['revert', '--quiet', '--turn', '1'])).toMatchObject({ code: 0, err: '' })
    expect(await vtcode(place, ['exec', '--quiet', 'x'])).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringContaining('VT_LLM_REQUEST'),
    })
  })
})

describe('colors of output', () => {
  it('colors output only for a terminal, and not with NO_COLOR or --no-color', async () => {
    const wrong = call('unified_file', { action: 'read', path: 'nothing' })
    const script = [{ toolCalls: [wrong] }, { content: 'ok' }]
    const shown = async (flags: string[], env: Record<string, string> = {}) => {
      const { place } = await scene(script)
      const { out } = await vtcode(place, [...flags, 'exec', 'x'], { terminal: true, env: { TERM: 'xterm', ...env } })
      expect(out).toContain('✗ unified_file')
      return out
    }
    const colour = '\u001b[31m'
    const at = await typing((await scene(script)).place, ['exec', 'x'])
    expect((await at.until('✗ unified_file')) + (await at.end()).rest).toContain(colour)
    expect(await shown([])).toContain(colour)
    for (const plain of [
      await shown(['--no-color']),
      await shown([], { NO_COLOR: '1' }),
      await shown([], { TERM: 'dumb' }),
    ])
      expect(plain).not.toContain(colour)
    const { place } = await scene([{ toolCalls: [wrong] }, { content: 'ok' }])
    expect((await vtcode(place, ['exec', 'x'])).err).not.toContain('\u001b')
  })
})

it('escapes control text of a model at a terminal, and passes it unchanged to a pipe', async () => {
  const hostile = 'a\u001b]52;c;ZXZpbA==\u0007b\u001b[2Jc'
  const { place } = await scene(Array.from({ length: 3 }, () => ({ content: hostile })))
  for (const verb of ['exec', 'ask']) {
    const at = await typing(place, [verb, 'x', '--quiet'])
    const { rest } = await at.end()
    expect(rest).toContain('a\\u{1b}]52;c;ZXZpbA==\\u{7}b\\u{1b}[2Jc')
    expect(rest).not.toContain('\u001b]52')
  }
  expect((await vtcode(place, ['exec', '--quiet', 'x'])).out).toBe(`${hostile}\n`)
})

describe('signals', () => {
  const allowed = { settings: { agent: { model: 'peer/m' }, policy: { allow: ['exec'] } } }
  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 130],
    ['SIGHUP', 130],
  ] as const)('ends a run on %s with its programs gone and its log whole', async (signal, expected) => {
    const program = nap()
    const { place } = await scene(
      [{ toolCalls: [call('unified_exec', { action: 'run', command: program })] }],
      {},
      allowed,
    )
    const { code } = await vtcode(place, ['exec', '--json', 'go'], {
      started: (child) => void eventually(() => processesWith(program).length > 0).then(() => child.kill(signal)),
    })
    expect(code).toBe(expected)
    const log = logOf(place, sessions(place)[0]!)
    checkLog(log)
    expect(log.at(-1)).toMatchObject({ type: 'thread.completed', outcome_code: 'cancelled' })
    expect(log.filter(({ type }) => type === 'turn.failed' || type === 'turn.completed')).toMatchObject([
      { code: 'VT_CANCELLED' },
    ])
    // A killed process may take a moment to end; none outlives its owner by more than 2 s.
    expect(await eventually(() => processesWith(program).length === 0)).toBe(true)
  })

  it('counts presses within 200 ms once, and ends at once on a second one soon after', async () => {
    // The end of a session waits for it.
    const ending = nap()
    const { place } = await scene(
      Array.from({ length: 10 }, () => slow),
      {},
      {
        settings: {
          agent: { model: 'peer/m' },
          hooks: { SessionEnd: [{ hooks: [{ command: ending, timeout_secs: 60 }] }] },
        },
      },
    )
    const pressing = async (press: (child: ChildProcess) => Promise<unknown>) => {
      let pressed: Promise<unknown> | undefined
      const { code } = await vtcode(place, ['exec', '--json', 'go'], {
        started: (child) =>
          child.stdout!.on(
            'data',
            (chunk: Buffer) => String(chunk).includes('agent_message') && (pressed ??= press(child)),
          ),
      })
      await eventually(() => processesWith(ending).length === 0)
      return [code, await pressed, processesWith(ending)]
    }
    // A busy machine delivers presses later than they are sent, so a case is repeated until they arrive in time.
    const expectOnce = async (press: (child: ChildProcess) => Promise<unknown>, expected: unknown) => {
      let seen = await pressing(press)
      for (let attempt = 1; attempt < 5 && !isDeepStrictEqual(seen, expected); attempt++) seen = await pressing(press)
      expect(seen).toEqual(expected)
    }
    const twice = async (child: ChildProcess, gap: number) => {
      child.kill('SIGINT')
      await sleep(gap)
      child.kill('SIGINT')
    }
    const pressAgainLater = async (child: ChildProcess): Promise<boolean> => {
      await twice(child, 50)
      await eventually(() => processesWith(ending).length > 0 || child.exitCode !== null)
      await sleep(1500)
      const waits = child.exitCode === null
      child.kill('SIGINT')
      return waits
    }
    await expectOnce(pressAgainLater, [130, true, []])
    await expectOnce((child) => twice(child, 400), [130, undefined, []])
  })

  it('ends a run like SIGTERM when its reader goes away, with a readable log', async () => {
    const { place } = await scene([slow])
    const shell = spawn(
      '/bin/bash',
      ['-c', `"${process.execPath}" "${bin}" exec --json go | head -c1; echo " \${PIPESTATUS[0]}"`],
      { cwd: place.root, env: place.env, stdio: ['ignore', 'pipe', 'ignore'] },
    )
    let out = ''
    shell.stdout.on('data', (chunk: Buffer) => (out += String(chunk)))
    await new Promise((resolve) => shell.on('close', resolve))
    const log = logOf(place, sessions(place)[0]!)
    checkLog(log)
    expect([out, log.at(-1).outcome_code]).toEqual(['{ 130\n', 'cancelled'])
  })
})
