import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { checkLog, checkMessages } from '../../support/invariants.js'
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
  const place = await home(peer, files, extra)
  held.push(place)
  return { peer, place }
}
const exec = (place: Home, ...args: string[]) => vtcode(place, ['exec', ...args])
const write = (path: string, content: string) => call('unified_file', { action: 'write', path, content })

describe('vtcode exec', () => {
  it('works on a task with tools until the model calls no more', async () => {
    const { peer, place } = await scene([
      { toolCalls: [write('a.txt', 'hello\n'), call('unified_search', { action: 'list' })] },
      { content: 'It is done.' },
    ])
    const { code, out, err } = await exec(place, 'write', 'a file')
    expect([code, out]).toEqual([0, 'It is done.\n'])
    expect(err).toMatch(/✓ unified_file write a\.txt {2}\d/)
    expect(err).toContain('success: 2 requests, 1 file changed, ')
    expect(await place.read('a.txt')).toBe('hello\n')
    const [first, second] = peer.bodies
    expect(first.messages.at(-1)).toMatchObject({ role: 'user', content: 'write a file' })
    expect(first.tools.map((tool: any) => tool.function.name)).toEqual(
      first.tools.map((tool: any) => tool.function.name).sort(),
    )
    expect(JSON.stringify(first.tools)).not.toMatch(/x-aliases|workspace-path/)
    expect(second.messages.slice(-2).map(({ content }: any) => content)).toEqual([
      'created a.txt (1 line, 6 bytes)',
      'a.txt\n1 entry',
    ])
    checkMessages(second.messages)
  })

  it('begins with at most 5,600 bytes in an empty folder, 4,700 of them tools, the same for every step', async () => {
    const { peer, place } = await scene([
      { toolCalls: [call('unified_search', { action: 'tools', keyword: 'copy a file' })] },
      { toolCalls: [call('call_tool', { tool: 'unified_search/list', input: {} })] },
      { content: 'Done.' },
    ])
    expect((await exec(place, 'hello')).code).toBe(0)
    const size = (value: unknown) => Buffer.byteLength(JSON.stringify(value))
    const [first, second, third] = peer.bodies
    expect(size(first)).toBeLessThan(5_600)
    expect(size(first.tools)).toBeLessThan(4_700)
    expect([second.tools, third.tools]).toEqual([first.tools, first.tools])
    expect(second.messages.at(-1).content).toContain('destination (string, required)')
    expect(third.messages.at(-1).content).toContain('0 entries')
  })

  it('prints every event as one line of JSON, the same that the session keeps', async () => {
    const { place } = await scene(
      [
        { content: 'Looking. '.repeat(400), toolCalls: [call('unified_search', { action: 'list' })] },
        { content: 'Done.' },
      ],
      {},
      { provider: { context_window: 128_000 } },
    )
    const { code, out, err } = await exec(place, '--json', 'look around')
    expect([code, err]).toEqual([0, ''])
    const events = eventsOf(out)
    checkLog(events)
    expect(events).toEqual(logOf(place, events[0].session_id))
    expect(
      events
        .map(({ type, item }) => (item ? `${type} ${item.type}` : type))
        .filter((type) => !type.startsWith('item.updated')),
    ).toEqual([
      'thread.started',
      'turn.started',
      'item.started user_message',
      'item.completed user_message',
      'segment.started',
      'item.started agent_message',
      'item.completed agent_message',
      'item.started tool_invocation',
      'item.started tool_output',
      'item.completed tool_output',
      'item.completed tool_invocation',
      'step.completed',
      'item.started agent_message',
      'item.completed agent_message',
      'step.completed',
      'turn.completed',
      'thread.completed',
    ])
    expect(events.at(-1)).toMatchObject({
      outcome_code: 'success',
      subtype: 'success',
      result: 'Done.',
      num_turns: 1,
      num_steps: 2,
      total_cost_usd: null,
      verified: null,
    })
  })

  it('explains a failed run that has no answer, even with --quiet', async () => {
    const loop = (index: number): Answer => ({
      toolCalls: [call('unified_search', { action: 'list', path: `d${index % 2}` })],
    })
    const { place } = await scene(
      Array.from({ length: 40 }, (_, index) => loop(index)),
      { 'd0/a': '', 'd1/b': '' },
    )
    expect(await exec(place, '--quiet', 'go')).toMatchObject({
      code: 1,
      out: 'The remaining work is in .vtcode/tasks/current_blocked.md.\n',
      err: expect.stringContaining('vtcode: error: loop_detected: '),
    })
  })

  it('ends once with exit 130 on SIGTERM and when its output is closed, as at Ctrl-C', async () => {
    const slow: Answer = { content: 'slow '.repeat(20_000), how: { latency: 50, chunkSize: 100 } }
    const { place } = await scene([slow, slow])
    for (const end of [(child: any) => child.kill('SIGTERM'), (child: any) => child.stdout.destroy()]) {
      const { code } = await vtcode(place, ['exec', '--json', 'go'], {
        started: (child) =>
          child.stdout!.on('data', (chunk: Buffer) => String(chunk).includes('agent_message') && end(child)),
      })
      expect(code).toBe(130)
      const [{ session_id }] = JSON.parse((await vtcode(place, ['sessions', 'list', '--json'])).out)
      checkLog(logOf(place, session_id))
      expect(logOf(place, session_id).at(-1)).toMatchObject({ outcome_code: 'cancelled' })
    }
  })

  it('names the obstacle where no session can be kept', async () => {
    const { place } = await scene([{ content: 'never' }])
    writeFileSync(join(place.root, '.vtcode'), 'no folder')
    expect(await exec(place, 'go')).toMatchObject({
      code: 3,
      out: '',
      err: expect.stringMatching(/\.vtcode is not a folder\.\n +Move it: .*sessions/),
    })
  })

  it('moves a file in the place of the sessions away, and reports that', async () => {
    const { place } = await scene([{ content: 'done' }])
    mkdirSync(join(place.root, '.vtcode'))
    writeFileSync(join(place.root, '.vtcode/sessions'), 'no folder')
    expect(await exec(place, 'go')).toMatchObject({
      code: 0,
      out: 'done\n',
      err: expect.stringContaining("'.vtcode/sessions' has no valid seal"),
    })
  })

  it('sends nothing that would exceed the budget', async () => {
    const { peer, place } = await scene(
      [
        {
          toolCalls: [call('unified_search', { action: 'list' })],
          usage: { prompt_tokens: 1000, completion_tokens: 1000 },
        },
        { content: 'never' },
      ],
      {},
      {
        provider: { cost: { input: 100, output: 900 } },
      },
    )
    const { code, out } = await exec(place, '--json', '--max-budget-usd', '1', 'go')
    const events = eventsOf(out)
    expect(events.at(-1)).toMatchObject({
      outcome_code: 'budget_limit_reached',
      subtype: 'error_max_budget_usd',
      stop_reason: 'VT_LOOP_BUDGET',
      total_cost_usd: 1,
    })
    expect([code, peer.asked.length]).toEqual([1, 1])
  })

  it('refuses to start with exit 3 where a setting is missing, and names what to write', async () => {
    const { place } = await scene([])
    const none = await vtcode(place, ['exec', 'x', '--model', 'nobody/m'])
    expect([none.code, none.out]).toEqual([3, ''])
    expect(none.err).toContain("VT_LLM_NO_MODEL: Unknown provider 'nobody'")
    expect(none.err).toContain('custom_providers')
    const keyless = await scene([], {}, { provider: { api_key_env: 'MY_KEY' } })
    const missing = await exec(keyless.place, 'x')
    expect([missing.code, missing.err.includes('MY_KEY is not set')]).toEqual([3, true])
    for (const [provider, said] of [
      [{ base_url: 'http://example.com/v1' }, 'neither https nor http to this machine'],
      [{ name: 'openai' }, 'reserved'],
      [{ api_key_env: 'A', auth: { type: 'none' } }, 'exclude each other'],
      [{ headers: { Authorization: 'x' } }, "cannot set 'Authorization'"],
      [{ base_url: 'https://u:p@example.com' }, 'user name'],
    ] as const) {
      const { place } = await scene([], {}, { provider })
      const { code, err } = await exec(place, 'x')
      expect([code, err.includes(said), err.includes('custom_providers[0]')], said).toEqual([3, true, true])
    }
    expect((await exec(place)).code).toBe(2)
    expect((await exec(place, '--nonsense', 'x')).code).toBe(2)
  })

  it('shows how a run would begin, and sends and creates nothing', async () => {
    const { peer, place } = await scene([], { 'AGENTS.md': 'Be brief.' })
    const { code, out } = await vtcode(place, ['exec', '--dry-run', 'do it'], { env: { PEER_API_KEY: '' } })
    expect([code, peer.asked.length, existsSync(join(place.root, '.vtcode'))]).toEqual([0, 0, false])
    for (const part of [
      'peer/m (openai-chat), mode auto',
      'Be brief.',
      '# Task\ndo it',
      'unified_file: ',
      'max_tool_loops',
      'protected_paths',
    ])
      expect(out).toContain(part)
    const { prompt, tools, limits } = JSON.parse(
      (await vtcode(place, ['exec', '--dry-run', '--json', '--max-turns', '3', 'do it'])).out,
    )
    expect([prompt.includes('Be brief.'), tools.length > 3, limits.max_turns]).toEqual([true, true, 3])
  })

  it.each([[[]], [['--plan']], [['-c', 'subagents.enabled=false']]])(
    'shows with --dry-run exactly the tools of the request, with the flags %j',
    async (flags) => {
      const { peer, place } = await scene([{ content: 'ok' }, { content: 'ok' }])
      const config = flags[0] === '-c' ? flags : []
      const task = [...(flags[0] === '--plan' ? flags : []), 'do it']
      const { tools } = JSON.parse((await vtcode(place, [...config, 'exec', '--dry-run', '--json', ...task])).out)
      await vtcode(place, [...config, 'exec', ...task])
      const names = (list: any[]) => list.map((tool) => tool.name ?? tool.function.name)
      expect(names(tools)).toEqual(names(peer.bodies[0].tools))
    },
  )

  it('names the form of a task that begins with a dash, and accepts that form', async () => {
    const { peer, place } = await scene([{ content: 'ok' }])
    expect(await exec(place, '- add tests')).toMatchObject({
      code: 2,
      err: expect.stringContaining(
        "'- add tests' looks like an option, because it begins with a dash. Write it last, after -- ",
      ),
    })
    expect((await exec(place, '--', '- add tests')).code).toBe(0)
    expect(peer.bodies.at(-1).messages.at(-1).content).toBe('- add tests')
  })

  it('reads the task from a pipe too', async () => {
    const { peer, place } = await scene([{ content: 'ok' }, { content: 'ok' }])
    expect((await vtcode(place, ['exec', '-'], { input: 'from the pipe\n' })).code).toBe(0)
    expect((await vtcode(place, ['exec', 'look at this', '-'], { input: 'log' })).code).toBe(0)
    expect(peer.bodies.map(({ messages }) => messages.at(-1).content)).toEqual([
      'from the pipe',
      'look at this\n\n<stdin>\nlog\n</stdin>',
    ])
  })

  it('writes the answer and the events to files as well', async () => {
    const { place } = await scene([{ content: 'the answer' }])
    const { out } = await exec(place, 'x', '--last-message-file', 'last.txt', '--events', 'ev.jsonl', '--quiet')
    expect([out, await place.read('last.txt')]).toEqual(['the answer\n', 'the answer'])
    for (const file of ['nowhere/last.txt', '.'])
      expect(await exec(place, 'x', '--last-message-file', file)).toMatchObject({
        code: 2,
        out: '',
        err: expect.stringContaining(`--last-message-file ${file} cannot be written`),
      })
    const lines = (await place.read('ev.jsonl'))!
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(lines.every(({ schema_version }) => schema_version === '1.0.0')).toBe(true)
    checkLog(lines.map(({ event }) => event))
  })

  it('keeps the key out of every file and stream, whatever the server says', async () => {
    const { place } = await scene([
      { error: { message: 'Incorrect API key provided: key-of-the-peer-0123' }, status: 401 },
    ])
    const { code, out, err } = await exec(place, '--json', 'x')
    expect([code, eventsOf(out).at(-1).stop_reason]).toEqual([1, 'VT_LLM_AUTH'])
    expect(out + err).not.toContain('key-of-the-peer')
    const folder = join(place.root, '.vtcode/sessions', eventsOf(out)[0].session_id)
    for (const name of ['events.jsonl', 'messages.jsonl'])
      expect(readFileSync(join(folder, name), 'utf8')).not.toContain('key-of-the-peer')
  })

  it('loads its modules for no other verb, and no client of another provider', async () => {
    const { place } = await scene([{ content: 'ok' }])
    const hook = join(import.meta.dirname, '../../support/loaded.mjs')
    const loaded = async (...args: string[]) => (
      await vtcode(place, args, { node: ['--import', hook], env: { LOADED: join(place.home, 'loaded') } }),
      readFileSync(join(place.home, 'loaded'), 'utf8')
    )
    expect(
      /ai-sdk|agent\/index|aimock|continuation|delegation|\bjobs\b|records|bullmq|ioredis|\/pg\/|pi-tui|agentclientprotocol|croner/.exec(
        await loaded('call', 'unified_file', 'read', '--path', 'a.txt'),
      ),
    ).toBe(null)
    expect(existsSync(join(place.home, 'loaded'))).toBe(true)
    const run = await loaded('exec', 'x')
    expect(run).toMatch(/plugins\/agent\/index\.cjs[^]*core\/_ai-sdk_openai-compatible\.cjs/)
    expect(/ai-sdk[/_](anthropic|google|openai)\b(?!-)/.exec(run)).toBe(null)
    expect(/core\/_(?:jobs|remote)|job_engine|bullmq|ioredis/.exec(run)).toBe(null)
  })

  it('calls nothing excluded by --disallowed-tools or --allowed-tools, under any name; neither adds a tool', async () => {
    const calls = () => ({
      toolCalls: [
        write('a.txt', 'x'),
        call('grep_search', { pattern: 'one' }),
        call('unified_search', { action: 'list' }),
        call('unified_exec', { action: 'run', command: 'echo x > b.txt' }),
      ],
    })
    const { peer, place } = await scene(
      Array.from({ length: 4 }, () => [calls(), { content: 'ok' }, { content: 'not done' }]).flat(),
      { 'c.txt': 'one\n' },
      { settings: { policy: { deny: ['unified_search/list'] } } },
    )
    const outcomes = async (...flags: string[]) => {
      const { out, err } = await exec(place, '--json', ...flags, 'go')
      const events = eventsOf(out).filter(({ item }) => item)
      const order = events
        .filter(({ type, item }) => type === 'item.started' && item.type === 'tool_invocation')
        .map(({ item }) => item.call_id)
      const code = new Map(
        events
          .filter(({ type, item }) => type === 'item.completed' && item.type === 'tool_output')
          .map(({ item }) => [item.call_id, item.error_code ?? 'ok']),
      )
      return [order.map((id) => String(code.get(id)).replace('VT_POLICY_', '')), err]
    }
    const away = 'DENIED'
    expect(await outcomes('--disallowed-tools', 'grep_search,write')).toEqual([
      [away, away, away, expect.stringMatching(/APPROVAL|ok/)],
      '',
    ])
    expect(await outcomes('--allowed-tools=unified_search,unified_exec', '--allowed-tools', 'unified_search')).toEqual([
      [away, 'ok', away, away],
      '',
    ])
    expect(await outcomes('--disallowed-tools', 'unified_fil,exec')).toEqual([
      ['ok', 'ok', away, away],
      expect.stringContaining('The policy names unified_fil, a tool that does not exist; nearest: unified_file.'),
    ])
    expect(JSON.stringify(peer.bodies.at(-1))).toContain("Its rights: all but 'unified_fil', 'exec'.")
    // Plan mode stays plan mode.
    expect(await outcomes('--mode', 'plan', '--allowed-tools', 'unified_file')).toEqual([[away, away, away, away], ''])
    for (const wrong of [
      ['--allowed-tools', 'Bash(git *)'],
      ['--disallowed-tools', ','],
      ['--disallowed-tools', 'a b'],
      ['--allowed-tools'],
    ])
      expect((await exec(place, 'go', ...wrong)).code, String(wrong)).toBe(2)
  })

  it('mentions no excluded tool to the model in lists or hints, also on resume, and lets no snippet call one', async () => {
    const code =
      "const codes = []\nfor (const input of [{ action: 'write', path: 'n.txt', content: '' }, { action: 'read', path: 'a.txt' }]) codes.push(await vtcode.call('unified_file', input).then(() => 'ok', ({ code }) => code))\nexport const result = codes"
    const calls = {
      toolCalls: [
        call('unified_file', { action: 'read', path: 'src' }),
        call('unified_file', { action: 'rite', path: 'src' }),
        call('unified_fil', {}),
        call('unified_exec', { action: 'run', command: 'ls src' }),
        call('unified_exec', { action: 'code', language: 'javascript', code }),
        call('unified_search', { action: 'tools', keyword: '*' }),
        call('unified_exec', {
          action: 'code',
          language: 'javascript',
          code: 'console.log("x".repeat(99).concat("\\n").repeat(200))',
        }),
      ],
    }
    const settings = {
      automation: { full_auto: { enabled: true, allowed_tools: ['read', 'write', 'exec'] } },
      sandbox: { mode: 'off' },
    }
    const { peer, place } = await scene(
      [
        calls,
        { content: 'done' },
        { content: 'not done' },
        { content: 'still ok' },
        { content: 'ok' },
        { content: 'all' },
      ],
      { 'src/a.txt': 'x', 'a.txt': 'one' },
      { settings },
    )
    const flags = [
      '--allowed-tools',
      'unified_file,unified_exec/code',
      '--disallowed-tools',
      'write',
      '--mode',
      'full-auto',
    ]
    expect((await exec(place, ...flags, 'go')).out).toBe(
      'not done\nNot applied: unified_exec ls src (VT_POLICY_DENIED)\n',
    )
    expect((await exec(place, ...flags, '--continue', 'go on')).out).toBe('still ok\n')
    const [first, second, , third] = peer.bodies
    const [rest, file, ...more] = first.tools.map((tool: any) => tool.function)
    expect([
      rest.name,
      rest.description.split('\n').slice(1),
      file.name,
      file.parameters.properties.action.enum,
      more,
    ]).toEqual(['unified_exec', [], 'unified_file', ['read'], []])
    expect(JSON.stringify(first.tools)).not.toMatch(
      /unified_search|web_search|load_skill|apply_patch|"(?:write|edit|run)"|write\(|run\(/,
    )
    expect([second.tools, third.tools]).toEqual([first.tools, first.tools])
    const texts = second.messages
      .filter(({ role }: any) => role === 'tool')
      .map(({ content }: any) => content as string)
    expect(texts).toHaveLength(7)
    expect(texts[4]).toContain('["VT_POLICY_DENIED","ok"]')
    expect(texts[5]).toContain(
      "VT_POLICY_DENIED: This call may not use unified_search/tools. Its rights: 'unified_file', 'unified_exec/code'.",
    )
    expect(
      texts
        .map((text: string) =>
          text
            .replace(/This call may not use [^.]*\. Its rights: [^.]*\./, '')
            .replace(/no tool "[^"]*"|no action '[^']*'/, ''),
        )
        .join('\n'),
    ).not.toMatch(
      /unified_search|list_files|grep|write\b|edit|apply_patch|unified_exec (?:run|poll|inspect)|"action":"(?!read)|web_search|load_skill/,
    )
    // An exclusion is no fact of the session: a resume has to repeat it.
    expect((await exec(place, '--continue', '--allowed-tools', 'unified_search', 'more')).out).toBe('ok\n')
    expect(peer.bodies[4].tools.map((tool: any) => tool.function.name)).toEqual(['unified_search'])
    expect((await exec(place, '--continue', 'more')).out).toBe('all\n')
    expect(peer.bodies[5].tools.length).toBeGreaterThan(3)
  })

  it('starts a session with a given id, continues the last one, and accepts provider and model apart', async () => {
    const { peer, place } = await scene([{ content: 'a' }, { content: 'b' }, { content: 'c' }, { content: 'd' }])
    expect((await exec(place, '--session-id', 'ses_mine-1', 'one')).out).toBe('a\n')
    expect(await exec(place, '--session-id', 'ses_mine-1', 'one')).toMatchObject({
      code: 1,
      err: expect.stringContaining("VT_SESSION_EXISTS: There is a session 'ses_mine-1' already."),
    })
    for (const id of ['../x', 'mine', 'ses_'])
      expect(await exec(place, '--session-id', id, 'one'), id).toMatchObject({
        code: 3,
        err: expect.stringContaining('VT_CONFIG_INVALID'),
      })
    expect(JSON.parse((await vtcode(place, ['ask', '--continue', '--json', 'two'])).out)).toMatchObject({
      response: 'b',
      session_id: 'ses_mine-1',
      model: 'm',
    })
    expect((await exec(place, '--continue', '--provider', 'peer', '--model', 'm', 'three')).out).toBe('c\n')
    expect((await vtcode(place, ['resume', '--continue', '--provider', 'peer', 'four'])).out).toBe('d\n')
    expect(
      peer.bodies
        .at(-1)
        .messages.filter(({ role }: any) => role === 'user')
        .map(({ content }: any) => content),
    ).toEqual(['one', 'two', 'three', 'four'])
    expect(await exec(place, '--provider', 'pear', 'x')).toMatchObject({
      code: 3,
      err: expect.stringContaining("Unknown provider 'pear'"),
    })
    for (const wrong of [
      ['--continue', '--resume', 'last'],
      ['--continue', '--session-id', 'ses_b'],
      ['--agent', 'x'],
      ['--log-level', 'loud'],
    ])
      expect((await exec(place, ...wrong, 'x')).code, String(wrong)).toBe(2)
    expect((await exec(place, '--sesion-id', 'x', 'y')).err).toContain('(Did you mean --session-id?)')
  })
})
