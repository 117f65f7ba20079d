import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  createKernel,
  resolveHome,
  openTrust,
  listConsentItems,
  type Approval,
  type Config,
  type JsonObject,
  type Result,
} from 'vtcode'
import { bootKernel, tempWorkspace, type Booted } from 'vtcode/test'
import { nap, processesWith } from '../../support/exec.js'

type Entry = Record<string, unknown>
const say = (json: object): string => `cat > seen; printf %s '${JSON.stringify(json)}'`
const decide = (decision: string, more: object = {}): string =>
  say({
    hookSpecificOutput: {
      hookEventName: 'PreToolUse',
      permissionDecision: decision,
      permissionDecisionReason: `Because ${decision}.`,
      ...more,
    },
  })
const boot = (
  entries: Entry[],
  matcher: string | undefined = undefined,
  config: Config = {},
  env: Record<string, string> = {},
): Promise<Booted> =>
  bootKernel({
    mode: 'auto',
    env,
    config: { hooks: { PreToolUse: [{ ...(matcher !== undefined && { matcher }), hooks: entries }] }, ...config },
    files: { 'a.txt': 'one\n', 'b.txt': 'two\n' },
  })
const read = (booted: Booted, path = 'a.txt'): Promise<Result> => booted.call('unified_file', { action: 'read', path })
const word = (result: Result): string =>
  result.ok
    ? 'run'
    : ({ VT_POLICY_DENIED: 'deny', VT_POLICY_NEEDS_APPROVAL: 'ask' }[result.error.code] ?? result.error.code)
/** Returns whether a process runs; a zombie does not. */
const isRunning = (pid: number): boolean => {
  try {
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}
const codes = (result: Result): string[] => (result.notices ?? []).map(({ code }) => code)

describe('PreToolUse hook', () => {
  it('passes the event as Claude Code writes it and both names of the environment', async () => {
    await using booted = await boot([
      { command: 'cat > seen; printf "%s %s" "$CLAUDE_PROJECT_DIR" "$VTCODE_HOOK_EVENT" > env' },
    ])
    expect(word(await read(booted))).toBe('run')
    expect(JSON.parse((await booted.read('seen'))!)).toMatchObject({
      session_id: 'main',
      cwd: booted.root,
      hook_event_name: 'PreToolUse',
      permission_mode: 'acceptEdits',
      tool_name: 'unified_file/read',
      tool_input: { path: 'a.txt' },
      tool_use_id: expect.any(String),
      transcript_path: join(booted.root, '.vtcode/sessions/main/transcript.jsonl'),
    })
    expect(await booted.read('env')).toBe(`${booted.root} PreToolUse`)
  })

  it.each<[string, Entry, string, string?]>([
    ['says nothing', { command: 'true' }, 'run'],
    ['prints text', { command: 'echo fine' }, 'run'],
    ['denies', { command: decide('deny') }, 'deny', 'Because deny.'],
    ['asks', { command: decide('ask') }, 'ask', 'Because ask.'],
    ['defers', { command: decide('defer') }, 'ask'],
    ['allows, which changes nothing', { command: decide('allow') }, 'run'],
    ['blocks in the old form', { command: say({ decision: 'block', reason: 'Not this.' }) }, 'deny', 'Not this.'],
    ['stops', { command: say({ continue: false, stopReason: 'Stop.' }) }, 'deny', 'Stop.'],
    ['ends with 2', { command: 'echo no way >&2; exit 2' }, 'deny', 'no way'],
    ['ends with 2 and says allow', { command: `${decide('allow')}; exit 2` }, 'deny'],
    ['ends with another code', { command: 'exit 7' }, 'deny', 'exit code 7'],
    ['ends with another code and may', { command: 'exit 7', on_error: 'allow' }, 'run'],
    ['ends with another code and asks', { command: 'exit 7', onError: 'ask' }, 'ask'],
    ['prints broken JSON', { command: "echo '{broken'" }, 'deny', 'JSON'],
    ['decides nonsense', { command: decide('perhaps') }, 'deny', 'perhaps'],
    ['is ended by a signal', { command: 'kill -9 $$' }, 'deny', 'signal'],
    ['hangs', { command: 'sleep 30', timeout: 1 }, 'deny', 'within 1 s'],
    ['does not exist', { command: 'no_such_program_here', args: [] }, 'deny', '`no_such_program_here` cannot be found'],
    ['is of a kind that is not served', { type: 'prompt', prompt: 'Is it wise?' }, 'deny', 'prompt'],
    ['has arguments that no shell reads', { command: 'test', args: ['$(exit 3)', '=', '$(exit 3)'] }, 'run'],
  ])('decides correctly for a hook that %s', async (_, entry, expected, reason) => {
    await using booted = await boot([entry])
    const result = await read(booted)
    expect([word(result), result.ok ? '' : result.error.message]).toEqual([
      expected,
      reason ? expect.stringContaining(reason) : expect.anything(),
    ])
  })

  // Each case waits for a timeout, so all run at once.
  it.concurrent.for<[string, string, string]>([
    ['waits for them', 'sleep 300 & echo $! > child; wait', 'within 3 s'],
    ['ignores SIGTERM, as they do', "trap '' TERM; sh -c 'sleep 300; sleep 300' & echo $! > child; wait", 'within 3 s'],
    ['prints without end, as they do', 'yes & echo $! > child; yes', 'more than 1 MiB'],
  ])(
    'ends the process group of a hook with grandchildren when the hook %s',
    async ([, command, reason], { expect }) => {
      await using booted = await boot([{ command, timeout: 3 }])
      const started = Date.now()
      const result = await read(booted)
      expect([word(result), result.ok ? '' : result.error.message]).toEqual(['deny', expect.stringContaining(reason)])
      expect(Date.now() - started).toBeLessThan(200_000)
      const child = Number(await booted.read('child'))
      expect(child).toBeGreaterThan(1)
      await expect.poll(() => isRunning(child)).toBe(false)
    },
  )

  it.each<[string | undefined, string]>([
    [undefined, 'deny'],
    ['*', 'deny'],
    ['', 'deny'],
    ['Read', 'deny'],
    ['Edit|Read', 'deny'],
    ['Edit, Read', 'deny'],
    ['unified_file/read', 'deny'],
    ['unified_file', 'deny'],
    ['Edit|Write', 'run'],
    ['read', 'run'],
    ['unified_.*/re', 'deny'],
    ['^Re.d$', 'deny'],
    ['(unclosed', 'deny'],
    ['Bash', 'run'],
  ])('applies the matcher %j', async (matcher, expected) => {
    await using booted = await boot([{ command: 'exit 2' }], matcher)
    expect(word(await read(booted))).toBe(expected)
  })

  it('waits for no process that a hook leaves, and its exit decides', async () => {
    const left = nap()
    await using booted = await boot([{ command: `${left} & echo "the pid is $!" >&2; exit 0` }])
    try {
      expect(word(await read(booted))).toBe('run')
      expect(processesWith(left.replace(' ', '\0'))).toHaveLength(1)
    } finally {
      for (const pid of processesWith(left.replace(' ', '\0'))) process.kill(pid, 'SIGKILL')
    }
    await using refusing = await boot([{ command: `${left} & echo "not now" >&2; exit 2` }])
    try {
      expect(await read(refusing)).toMatchObject({ ok: false, error: { message: expect.stringContaining('not now') } })
    } finally {
      for (const pid of processesWith(left.replace(' ', '\0'))) process.kill(pid, 'SIGKILL')
    }
  })

  it('issues the call once more with the changed input and judges it by every policy again', async () => {
    const swap = (path: string): Entry => ({
      command: decide('', { permissionDecision: undefined, updatedInput: { path } }),
    })
    await using booted = await boot([swap('b.txt')], 'Read', { policy: { deny: ['Read(secret)'] } })
    const result = await read(booted)
    expect(result).toMatchObject({ ok: true, output: { content: 'two\n' } })
    expect(codes(result)).toContain('VT_CALL_REISSUED')
    await using two = await boot([swap('b.txt'), swap('c.txt')])
    expect(word(await read(two))).toBe('deny')
    await using denied = await boot([swap('secret')], 'Read', { policy: { deny: ['Read(secret)'] } })
    expect(word(await read(denied))).toBe('deny')
    await using outside = await boot([swap('../x')])
    expect(word(await read(outside))).toBe('VT_PATH_OUTSIDE')
  })

  it('passes the text of a hook to the model and uses the strictest of several decisions', async () => {
    await using booted = await boot([
      { command: decide('ask') },
      { command: decide('deny') },
      { command: say({ systemMessage: 'Mind the gap.', hookSpecificOutput: { additionalContext: 'It is late.' } }) },
    ])
    const result = await read(booted)
    expect(word(result)).toBe('deny')
    expect(result.notices).toMatchObject([
      { code: 'VT_HOOK_CONTEXT', message: 'It is late.' },
      { code: 'VT_HOOK_CONTEXT', message: 'Mind the gap.' },
    ])
  })

  it('opens nothing that another policy denies and starts nothing in an explanation', async () => {
    await using booted = await boot([{ command: decide('allow') }], undefined, {
      policy: { deny: ['unified_file/delete'], ask: ['unified_file/write'] },
    })
    expect(word(await booted.call('unified_file', { action: 'delete', path: 'a.txt' }))).toBe('deny')
    expect(word(await booted.call('unified_file', { action: 'write', path: 'n', content: '' }))).toBe('ask')
    await using other = await boot([{ command: 'touch started' }])
    const told = await other.kernel.explain('unified_file', { action: 'read', path: 'a.txt' })
    expect(told.chain.find(({ policy }) => policy.endsWith('lifecycle_hooks'))).toMatchObject({
      notes: [{ hooks: ['touch started'] }],
    })
    expect(await other.read('started')).toBeUndefined()
  })
})

describe('hook `if` rule', () => {
  it.each<[rule: string, tool: string, input: JsonObject, expected: string]>([
    ['Bash(git push *)', 'unified_exec', { action: 'run', command: 'git push origin' }, 'deny'],
    ['Bash(git push *)', 'unified_exec', { action: 'run', command: 'true && env X=1 git push' }, 'deny'],
    ['Bash(git push *)', 'unified_exec', { action: 'run', command: 'echo git push' }, 'run'],
    ['Bash(git push *)', 'unified_exec', { action: 'run', command: 'echo "unclosed' }, 'deny'],
    ['Bash(git push *)', 'unified_exec', { action: 'run', command: '$X push' }, 'deny'],
    ['Bash(git push *)', 'unified_file', { action: 'read', path: 'a.txt' }, 'run'],
    ['Read(a.*)', 'unified_file', { action: 'read', path: 'a.txt' }, 'deny'],
    ['Read(a.*)', 'unified_file', { action: 'read', path: 'b.txt' }, 'run'],
    ['Edit', 'unified_file', { action: 'write', path: 'n', content: '' }, 'deny'],
    ['Edit', 'unified_file', { action: 'read', path: 'a.txt' }, 'run'],
    ['no rule at all (', 'unified_file', { action: 'read', path: 'a.txt' }, 'deny'],
  ])('applies %s before %s %j: %s', async (rule, tool, input, expected) => {
    await using booted = await boot([{ command: 'exit 2', if: rule }], undefined, {
      automation: { full_auto: { enabled: true, allowed_tools: ['exec'] } },
      policy: { allow: ['exec'] },
      sandbox: { mode: 'off' },
    } as Config)
    expect(word(await booted.call(tool, input))).toBe(expected)
  })
})

describe('hooks in another dialect', () => {
  const told = async (
    tool: string,
    input: JsonObject,
    dialect = 'claude',
    event = 'PreToolUse',
  ): Promise<JsonObject[]> => {
    const hooks = { [event]: [{ dialect, hooks: [{ command: 'cat >> seen' }] }] }
    await using booted = await bootKernel({ config: { hooks } as Config, files: { 'a.txt': 'one\ntwo\n', 'd/x': '' } })
    await booted.call(tool, input)
    const lines = ((await booted.read('seen')) ?? '')
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line.replaceAll(booted.root, '/ws')) as JsonObject)
    return lines
      .map(({ tool_name, tool_input }) => ({ tool_name, tool_input }))
      .sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
  }
  it.each<[tool: string, input: JsonObject, ...JsonObject[]]>([
    [
      'unified_exec',
      { action: 'run', command: 'true', timeout_secs: 3, background: false },
      { tool_name: 'Bash', tool_input: { command: 'true', timeout: 3000, run_in_background: false } },
    ],
    [
      'unified_exec',
      { action: 'run', command: ['echo', 'a b'] },
      { tool_name: 'Bash', tool_input: { command: 'echo a b' } },
    ],
    [
      'unified_file',
      { action: 'read', path: 'a.txt', offset_lines: 2, page_size_lines: 1 },
      { tool_name: 'Read', tool_input: { file_path: '/ws/a.txt', offset: 2, limit: 1 } },
    ],
    [
      'unified_file',
      { action: 'write', path: 'n', content: 'x' },
      { tool_name: 'Write', tool_input: { file_path: '/ws/n', content: 'x' } },
    ],
    [
      'unified_file',
      { action: 'edit', path: 'a.txt', old_str: 'one', new_str: '1' },
      { tool_name: 'Edit', tool_input: { file_path: '/ws/a.txt', old_string: 'one', new_string: '1' } },
    ],
    [
      'unified_file',
      {
        action: 'edit',
        path: 'a.txt',
        edits: [
          { old_str: 'one', new_str: '1' },
          { old_str: 'two', new_str: '2' },
        ],
      },
      {
        tool_name: 'Edit',
        tool_input: { file_path: '/ws/a.txt', old_string: 'one', new_string: '1', replace_all: false },
      },
      {
        tool_name: 'Edit',
        tool_input: { file_path: '/ws/a.txt', old_string: 'two', new_string: '2', replace_all: false },
      },
    ],
    [
      'apply_patch',
      {
        input:
          '*** Begin Patch\n*** Add File: n\n+x\n*** Update File: a.txt\n@@\n-one\n+1\n*** Delete File: d/x\n*** End Patch',
      },
      { tool_name: 'Edit', tool_input: { file_path: '/ws/a.txt' } },
      { tool_name: 'Edit', tool_input: { file_path: '/ws/d/x' } },
      { tool_name: 'Write', tool_input: { file_path: '/ws/n' } },
    ],
    [
      'unified_file',
      { action: 'move', path: 'a.txt', destination: 'b.txt' },
      { tool_name: 'Edit', tool_input: { file_path: '/ws/a.txt' } },
      { tool_name: 'Write', tool_input: { file_path: '/ws/b.txt' } },
    ],
    [
      'unified_file',
      { action: 'copy', path: 'a.txt', destination: 'b.txt' },
      { tool_name: 'Write', tool_input: { file_path: '/ws/b.txt' } },
    ],
    [
      'unified_file',
      { action: 'delete', path: 'a.txt' },
      { tool_name: 'Edit', tool_input: { file_path: '/ws/a.txt' } },
    ],
    [
      'unified_search',
      { action: 'grep', pattern: 'x', path: 'd' },
      { tool_name: 'Grep', tool_input: { pattern: 'x', path: 'd' } },
    ],
    [
      'unified_search',
      { action: 'tools', keyword: 'x' },
      { tool_name: 'unified_search/tools', tool_input: { keyword: 'x' } },
    ],
  ])('passes %s %j in the words of the dialect', async (tool, input, ...expected) => {
    expect(await told(tool, input)).toEqual(expected)
  })

  it.each([
    ['gemini', { timeout: 500 }, 'within 0.5 s'],
    ['gemini', { timeout: 500_000, timeout_secs: 1 }, 'within 1 s'],
    ['claude', { timeout: 1 }, 'within 1 s'],
  ])('counts the time of a hook of %s with %j in the unit of that program', async (dialect, limit, reason) => {
    await using booted = await bootKernel({
      mode: 'auto',
      config: { hooks: { PreToolUse: [{ dialect, hooks: [{ command: 'sleep 30', ...limit }] }] } } as Config,
      files: { 'a.txt': 'one\n' },
    })
    const result: any = await booted.call('unified_file', { action: 'read', path: 'a.txt' })
    expect(result.error.message).toContain(reason)
  })

  it('passes Gemini names for Gemini events', async () => {
    expect(await told('unified_file', { action: 'read', path: 'a.txt' }, 'gemini', 'BeforeTool')).toEqual([
      { tool_name: 'read_file', tool_input: { file_path: '/ws/a.txt' } },
    ])
  })

  it('treats other exit codes as no objection, asks on a broken answer and reads changed inputs', async () => {
    const run = async (command: string, input: JsonObject = { action: 'read', path: 'a.txt' }): Promise<Result> => {
      await using booted = await bootKernel({
        mode: 'auto',
        config: { hooks: { PreToolUse: [{ dialect: 'claude', hooks: [{ command }] }] } } as Config,
        files: { 'a.txt': 'one\n', 'b.txt': 'two\n' },
      })
      return await booted.call('unified_file', input)
    }
    expect(word(await run('exit 1'))).toBe('run')
    expect(word(await run("echo '{'"))).toBe('ask')
    expect(word(await run('exit 2'))).toBe('deny')
    const wants = (input: JsonObject): string =>
      `printf %s '${JSON.stringify({ hookSpecificOutput: { updatedInput: input } })}'`
    expect(await run(wants({ file_path: 'b.txt' }))).toMatchObject({ ok: true, output: { content: 'two\n' } })
    expect(word(await run(wants({ file_path: '../out' })))).toBe('VT_PATH_OUTSIDE')
    expect(word(await run(wants({ file_path: 'x' }), { action: 'move', path: 'a.txt', destination: 'c.txt' }))).toBe(
      'deny',
    )
  })
})

describe('PermissionRequest hook', () => {
  const decides = (decision: object): string =>
    say({ hookSpecificOutput: { hookEventName: 'PermissionRequest', decision } })
  const ask = async (command: string, files: Record<string, string> = {}, more: Config = {}) => {
    const booted = await bootKernel({
      mode: 'ask',
      files,
      config: { hooks: { PermissionRequest: [{ matcher: 'Write', hooks: [{ command }] }] }, ...more } as Config,
    })
    const asked: Approval[] = []
    const call = (path: string, approved = false) =>
      booted.call(
        'unified_file',
        { action: 'write', path, content: '' },
        { approve: (request) => (asked.push(request), approved) },
      )
    return { booted, asked, call, [Symbol.asyncDispose]: booted[Symbol.asyncDispose] }
  }
  it('answers for a person with no, yes or nothing', async () => {
    await using no = await ask(decides({ behavior: 'deny', message: 'Not on a Sunday.' }))
    expect([await no.call('n', true), no.asked]).toMatchObject([
      { ok: false, error: { code: 'VT_POLICY_DENIED', message: 'Not on a Sunday.', details: { not_applied: true } } },
      [],
    ])
    await using yes = await ask(decides({ behavior: 'allow' }))
    expect([(await yes.call('n')).ok, yes.asked]).toEqual([true, []])
    expect(JSON.parse((await yes.booted.read('seen'))!)).toMatchObject({
      hook_event_name: 'PermissionRequest',
      tool_name: 'unified_file/write',
      tool_input: { path: 'n' },
      permission_suggestions: [{ behavior: 'allow' }],
    })
    for (const command of [
      'true',
      'exit 1',
      'echo {',
      decides({ behavior: 'allow', updatedInput: { path: 'other' } }),
      decides({ behavior: 'perhaps' }),
    ]) {
      await using none = await ask(command)
      expect([command, (await none.call('n', true)).ok, none.asked.length]).toEqual([command, true, 1])
    }
  })
  it('skips the hook when no person would be asked and when a policy denies', async () => {
    await using scene = await ask(decides({ behavior: 'allow' }), {}, {
      policy: { deny: ['Edit(/kept/**)'], allow: ['Edit(/free/**)'] },
    } as Config)
    expect((await scene.call('free/n')).ok).toBe(true)
    expect(word(await scene.call('kept/n'))).toBe('deny')
    expect(word(await scene.call('.git/config'))).toBe('deny')
    expect(await scene.booted.read('seen')).toBeUndefined()
  })
  it('accepts a longer approval from a user hook and only a no from a workspace hook', async () => {
    await using workspace = await tempWorkspace({
      '.vtcode/config.yaml': `hooks: { PermissionRequest: [{ hooks: [{ command: ${JSON.stringify(decides({ behavior: 'allow' }))} }] }] }`,
    })
    const env = { HOME: workspace.home, PATH: process.env.PATH }
    const home = resolveHome({ env })
    const trust = openTrust({ home, workspace: workspace.root, env })
    trust.add(await listConsentItems({ workspace: workspace.root, home, user: workspace.home, env, trust }))
    const kernel = await createKernel({ workspace: workspace.root, home: workspace.home, env, mode: 'ask' })
    const result = await kernel.call('unified_file', { action: 'write', path: 'n', content: '' })
    expect([word(result), codes(result), await workspace.read('seen')]).toEqual([
      'ask',
      ['VT_HOOK_IGNORED'],
      expect.any(String),
    ])
    await kernel.close()
    await using scene = await ask(
      decides({ behavior: 'allow', updatedPermissions: [{ type: 'addRules', destination: 'session' }] }),
    )
    await scene.call('n')
    await scene.booted.write('seen', 'asked no more')
    await scene.call('n')
    expect(await scene.booted.read('seen')).toBe('asked no more')
  })
})

describe('HTTP hook', () => {
  const serve = async (answer: (request: IncomingMessage, body: string) => [status: number, body: string]) => {
    const requests: { headers: IncomingMessage['headers']; body: string }[] = []
    const server = createServer((request, response) => {
      let body = ''
      request
        .on('data', (chunk) => (body += String(chunk)))
        .on('end', () => {
          requests.push({ headers: request.headers, body })
          const [status, text] = answer(request, body)
          response
            .writeHead(status, {
              'content-type': 'application/json',
              ...(status === 302 && { location: '/elsewhere' }),
            })
            .end(text)
        })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`
    return {
      url,
      requests,
      [Symbol.asyncDispose]: () =>
        new Promise<void>((resolve) => (server.closeAllConnections(), server.close(() => resolve()))),
    }
  }
  const local = { web: { private_hosts: ['127.0.0.1'] } } as unknown as Config

  it('posts the event through the common fetcher with permitted variables and applies the decision', async () => {
    await using service = await serve(() => [
      200,
      JSON.stringify({
        hookSpecificOutput: { permissionDecision: 'deny', permissionDecisionReason: 'The service objects.' },
      }),
    ])
    await using booted = await boot(
      [
        {
          type: 'http',
          url: service.url,
          headers: { Authorization: 'Bearer $HOOK_TEST_TOKEN', 'X-Home': '${HOME}' },
          allowedEnvVars: ['HOOK_TEST_TOKEN'],
        },
      ],
      undefined,
      local,
      { HOOK_TEST_TOKEN: 'hook-canary-1234567890' },
    )
    expect(await read(booted)).toMatchObject({
      ok: false,
      error: { code: 'VT_POLICY_DENIED', message: 'The service objects.' },
    })
    expect(service.requests).toMatchObject([
      { headers: { authorization: 'Bearer hook-canary-1234567890', 'x-home': '', 'content-type': 'application/json' } },
    ])
    expect(JSON.parse(service.requests[0]!.body)).toMatchObject({
      hook_event_name: 'PreToolUse',
      tool_name: 'unified_file/read',
    })
  })
  it.each<[string, [number, string], string]>([
    ['says nothing', [200, ''], 'run'],
    ['has no objection', [204, ''], 'run'],
    ['answers no JSON', [200, 'fine'], 'deny'],
    ['answers broken JSON', [200, '{'], 'deny'],
    ['fails', [500, '{}'], 'deny'],
    ['points elsewhere', [302, ''], 'deny'],
    ['answers too much', [200, `{"x":"${'x'.repeat(1_100_000)}"}`], 'deny'],
  ])('decides correctly for a service that %s', async (_, answer, expected) => {
    await using service = await serve(() => answer)
    await using booted = await boot([{ type: 'http', url: service.url }], undefined, local)
    expect(word(await read(booted))).toBe(expected)
  })
  it('calls a service only where the web rules allow it', async () => {
    await using service = await serve(() => [200, '{}'])
    for (const url of [service.url, 'http://example.org/hook', 'file:///etc/passwd', 'nonsense']) {
      await using booted = await boot([{ type: 'http', url }])
      expect([url, word(await read(booted))]).toEqual([url, 'deny'])
    }
    expect(service.requests).toEqual([])
  })
})

describe('hooks for unknown events', () => {
  it('reports the nearest event for an unknown one, also when other programs know it', async () => {
    await using booted = await bootKernel({
      config: {
        hooks: {
          PreToolUs: [],
          pre_tool_use: [],
          BeforeTool: [],
          InstructionsLoaded: [{ hooks: [{ command: 'true' }] }],
        },
      } as Config,
    })
    const said = booted.kernel.diagnostics()
    expect(said.map(({ code }) => code)).toEqual(['VT_HOOK_NEVER', 'VT_HOOK_NEVER'])
    expect(said.map(({ message }) => message)).toEqual([
      expect.stringMatching(/PreToolUs,.*PreToolUse/),
      expect.stringContaining('InstructionsLoaded'),
    ])
  })
})

describe('workspace hooks', () => {
  it('stays off until the user consents to the digest, and asks after a named file changes', async () => {
    await using workspace = await tempWorkspace({
      'a.txt': '',
      'guard.sh': 'exit 2\n',
      '.vtcode/config.yaml': 'hooks: { PreToolUse: [{ hooks: [{ command: sh, args: [guard.sh] }] }] }\n',
    })
    const env = { HOME: workspace.home, PATH: process.env.PATH }
    const attempt = async (): Promise<string> => {
      const kernel = await createKernel({ workspace: workspace.root, home: workspace.home, env, mode: 'auto' })
      const result = await kernel.call('unified_file', { action: 'read', path: 'a.txt' })
      await kernel.close()
      return word(result)
    }
    expect(await attempt()).toBe('run')
    const home = resolveHome({ env })
    const trust = openTrust({ home, workspace: workspace.root, env })
    const items = await listConsentItems({ workspace: workspace.root, home, user: workspace.home, env, trust })
    expect(items.map(({ id }) => id)).toEqual(['.vtcode/config.yaml#hooks'])
    trust.add(items)
    expect(await attempt()).toBe('deny')
    await workspace.write('guard.sh', 'touch changed\n')
    expect(await attempt()).toBe('ask')
    expect(await workspace.read('changed')).toBeUndefined()
  })

  it('lets no tool of the agent edit the files that decide about hooks', async () => {
    await using booted = await bootKernel({ mode: 'auto' })
    for (const path of [
      '.vtcode/config.yaml',
      '.vtcode/tool-policy.json',
      '.vtcode/approvals/x.json',
      '.vtcode/plugins/x/plugin.yaml',
      '.git/hooks/pre-commit',
      '.VTCODE/config.yaml',
    ]) {
      expect([path, word(await booted.call('unified_file', { action: 'write', path, content: 'x' }))]).toEqual([
        path,
        'deny',
      ])
    }
    for (const path of ['vtcode.config.yaml', '.mcp.json', '.claude/settings.json', '.husky/pre-push']) {
      expect([path, word(await booted.call('unified_file', { action: 'write', path, content: 'x' }))]).toEqual([
        path,
        'ask',
      ])
    }
  })
})

describe('output of a hook with text around its JSON', () => {
  const deny = JSON.stringify({
    hookSpecificOutput: {
      hookEventName: 'PreToolUse',
      permissionDecision: 'deny',
      permissionDecisionReason: 'Not now.',
    },
  })
  it.each([
    ['a line of a shell profile before it', `echo "Now using node v20"; echo '${deny}'`, 'Not now.'],
    ['empty lines and a line before it', `echo; echo loading; echo '${deny}'`, 'Not now.'],
    ['a line after it', `echo '${deny}'; echo done`, 'Not now.'],
    ['two answers', `echo a; echo '${deny}'; echo '${deny}'`, 'prints invalid JSON'],
    ['half of an answer', `echo a; echo '${deny.slice(0, -3)}'`, 'prints invalid JSON'],
    ['an answer within a line', `echo 'a ${deny}'`, 'prints invalid JSON'],
    ['an answer that allows behind other text', `echo a; echo '${deny.replace('"deny"', '"allow"')}'`, 'text around'],
    [
      'a refusal in several lines behind another answer',
      `echo '{"continue":true}'; printf '{\\n"decision": "block"\\n}\\n'`,
      'text around',
    ],
  ])('closes the guard: %s', async (_, command, reason) => {
    await using booted = await boot([{ command }])
    expect(await read(booted)).toMatchObject({
      ok: false,
      error: { code: 'VT_POLICY_DENIED', message: expect.stringContaining(reason) },
    })
  })

  it('lets no text of a call approve it', async () => {
    const request = JSON.stringify({
      hookSpecificOutput: { hookEventName: 'PermissionRequest', decision: { behavior: 'allow' } },
    })
    await using booted = await bootKernel({
      mode: 'ask',
      config: { hooks: { PermissionRequest: [{ hooks: [{ command: 'echo asked; cat' }] }] } } as Config,
    })
    const call = { action: 'write', path: 'made.txt', content: `a\n${request}\n` }
    expect(word(await booted.call('unified_file', call))).toBe('ask')
    await using printed = await bootKernel({
      mode: 'ask',
      config: { hooks: { PermissionRequest: [{ hooks: [{ command: `echo asked; echo '${request}'` }] }] } } as Config,
    })
    expect(word(await printed.call('unified_file', call))).toBe('ask')
    // A refusal in a field that the event does not read takes an approval beside it along.
    const both = JSON.stringify({ continue: false, ...(JSON.parse(request) as object) })
    await using mixed = await bootKernel({
      mode: 'ask',
      config: { hooks: { PermissionRequest: [{ hooks: [{ command: `echo asked; echo '${both}'` }] }] } } as Config,
    })
    expect(word(await mixed.call('unified_file', call))).toBe('deny')
  })

  it('reads plain text with braces as text', async () => {
    await using booted = await boot([{ command: "echo 'checked {a: 1}'" }])
    expect(word(await read(booted))).toBe('run')
  })
})

it('names the hook and the file when the script of a hook is missing', async () => {
  await using booted = await boot([{ command: 'python3 /nowhere/guard.py' }])
  expect(await read(booted)).toMatchObject({
    ok: false,
    error: { message: expect.stringMatching(/hook `python3 \/nowhere\/guard\.py` names a file that is missing/) },
  })
})
