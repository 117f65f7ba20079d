import { describe, expect, it } from 'vitest'
import { createKernel, homeOf, openTrust, survey, type Config, type Result } from 'vtcode'
import { bootKernel, tempWorkspace, type Booted } from 'vtcode/test'

type Entry = Record<string, unknown>
const say = (json: object): string => `cat > seen; printf %s '${JSON.stringify(json)}'`
const decide = (decision: string, more: object = {}): string => say({ hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision: decision, permissionDecisionReason: `Because ${decision}.`, ...more } })
const boot = (entries: Entry[], matcher: string | undefined = undefined, config: Config = {}): Promise<Booted> =>
  bootKernel({ mode: 'auto', config: { hooks: { PreToolUse: [{ ...(matcher !== undefined && { matcher }), hooks: entries }] }, ...config }, files: { 'a.txt': 'one\n', 'b.txt': 'two\n' } })
const read = (booted: Booted, path = 'a.txt'): Promise<Result> => booted.call('unified_file', { action: 'read', path })
const word = (result: Result): string => (result.ok ? 'run' : ({ VT_POLICY_DENIED: 'deny', VT_POLICY_NEEDS_APPROVAL: 'ask' }[result.error.code] ?? result.error.code))
const codes = (result: Result): string[] => (result.notices ?? []).map(({ code }) => code)

describe('a PreToolUse hook', () => {
  it('gets the event as Claude Code writes it, and our environment under both names', async () => {
    await using booted = await boot([{ command: 'cat > seen; printf "%s %s" "$CLAUDE_PROJECT_DIR" "$VTCODE_HOOK_EVENT" > env' }])
    expect(word(await read(booted))).toBe('run')
    expect(JSON.parse((await booted.read('seen'))!)).toMatchObject({
      session_id: 'main', cwd: booted.root, hook_event_name: 'PreToolUse', permission_mode: 'acceptEdits', tool_name: 'unified_file/read', tool_input: { path: 'a.txt' }, tool_use_id: expect.any(String), transcript_path: expect.stringContaining('calls.jsonl'),
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
    ['does not exist', { command: 'no_such_program_here', args: [] }, 'deny', 'not found'],
    ['is of a kind that is not served', { type: 'http', url: 'http://x' }, 'deny', 'http'],
    ['has arguments that no shell reads', { command: 'test', args: ['$(exit 3)', '=', '$(exit 3)'] }, 'run'],
  ])('that %s', async (_, entry, expected, reason) => {
    await using booted = await boot([entry])
    const result = await read(booted)
    expect([word(result), result.ok ? '' : result.error.message]).toEqual([expected, reason ? expect.stringContaining(reason) : expect.anything()])
  })

  it.each<[string | undefined, string]>([
    [undefined, 'deny'], ['*', 'deny'], ['', 'deny'], ['Read', 'deny'], ['Edit|Read', 'deny'], ['Edit, Read', 'deny'], ['unified_file/read', 'deny'], ['unified_file', 'deny'],
    ['Edit|Write', 'run'], ['read', 'run'], ['unified_.*/re', 'deny'], ['^Re.d$', 'deny'], ['(unclosed', 'deny'], ['Bash', 'run'],
  ])('with the matcher %j', async (matcher, expected) => {
    await using booted = await boot([{ command: 'exit 2' }], matcher)
    expect(word(await read(booted))).toBe(expected)
  })

  it('changes the input: the call is issued once more and judged by every policy anew', async () => {
    const swap = (path: string): Entry => ({ command: decide('', { permissionDecision: undefined, updatedInput: { path } }) })
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

  it('tells the model what it has to say, and the worst of several decides', async () => {
    await using booted = await boot([{ command: decide('ask') }, { command: decide('deny') }, { command: say({ systemMessage: 'Mind the gap.', hookSpecificOutput: { additionalContext: 'It is late.' } }) }])
    const result = await read(booted)
    expect(word(result)).toBe('deny')
    expect(result.notices).toMatchObject([{ code: 'VT_HOOK_CONTEXT', message: 'It is late.' }, { code: 'VT_HOOK_CONTEXT', message: 'Mind the gap.' }])
  })

  it('opens nothing that another policy shut, and starts nothing when a call is only explained', async () => {
    await using booted = await boot([{ command: decide('allow') }], undefined, { policy: { deny: ['unified_file/delete'], ask: ['unified_file/write'] } })
    expect(word(await booted.call('unified_file', { action: 'delete', path: 'a.txt' }))).toBe('deny')
    expect(word(await booted.call('unified_file', { action: 'write', path: 'n', content: '' }))).toBe('ask')
    await using other = await boot([{ command: 'touch started' }])
    const told = await other.kernel.explain('unified_file', { action: 'read', path: 'a.txt' })
    expect(told.chain.find(({ policy }) => policy.endsWith('lifecycle_hooks'))).toMatchObject({ notes: [{ hooks: ['touch started'] }] })
    expect(await other.read('started')).toBeUndefined()
  })
})

describe('the hooks of a workspace', () => {
  it('are off until its user agrees to their digest, and off again when a file that they name changes', async () => {
    await using workspace = await tempWorkspace({ 'a.txt': '', 'guard.sh': 'exit 2\n', '.vtcode/config.yaml': 'hooks: { PreToolUse: [{ hooks: [{ command: sh, args: [guard.sh] }] }] }\n' })
    const env = { HOME: workspace.home, PATH: process.env.PATH }
    const attempt = async (): Promise<string> => {
      const kernel = await createKernel({ workspace: workspace.root, home: workspace.home, env, mode: 'auto' })
      const result = await kernel.call('unified_file', { action: 'read', path: 'a.txt' })
      await kernel.close()
      return word(result)
    }
    expect(await attempt()).toBe('run')
    const home = homeOf({ env })
    const trust = openTrust({ home, workspace: workspace.root, env })
    const items = await survey({ workspace: workspace.root, home, user: workspace.home, env, trust })
    expect(items.map(({ id }) => id)).toEqual(['.vtcode/config.yaml#hooks'])
    trust.add(items)
    expect(await attempt()).toBe('deny')
    await workspace.write('guard.sh', 'touch changed\n')
    expect(await attempt()).toBe('run')
    expect(await workspace.read('changed')).toBeUndefined()
  })

  it('and what decides about them no tool of the agent can edit', async () => {
    await using booted = await bootKernel({ mode: 'auto' })
    for (const path of ['.vtcode/config.yaml', '.vtcode/tool-policy.json', '.vtcode/approvals/x.json', '.vtcode/plugins/x/plugin.yaml', '.git/hooks/pre-commit', '.VTCODE/config.yaml']) {
      expect([path, word(await booted.call('unified_file', { action: 'write', path, content: 'x' }))]).toEqual([path, 'deny'])
    }
    for (const path of ['vtcode.config.yaml', '.mcp.json', '.claude/settings.json', '.husky/pre-push']) {
      expect([path, word(await booted.call('unified_file', { action: 'write', path, content: 'x' }))]).toEqual([path, 'ask'])
    }
  })
})
