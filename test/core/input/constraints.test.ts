import { describe, expect, it } from 'vitest'
import { bootKernel, matches, type Boot, type Booted } from 'vtcode/test'
import { createKernel, type Config } from 'vtcode'
import { tempWorkspace } from 'vtcode/test'

/** The published policy file, with smaller numbers. */
const published = {
  constraints: {
    run_terminal_cmd: { allowed_modes: ['pty', 'terminal', 'streaming'], default_response_format: 'concise' },
    list_files: { max_items_per_call: 3, default_response_format: 'concise' },
    grep_search: { max_results_per_call: 2, default_response_format: 'detailed' },
    read_file: { max_bytes_per_read: 10 },
  },
}
const files = { 'a.txt': 'x1\nx2\nx3\nx4\nx5\nx6\n', b: '', c: '', d: '', e: '' }
const boot = (policy: object, config: Config = {}, how: Boot = {}): Promise<Booted> =>
  bootKernel({
    mode: 'auto',
    ...how,
    config,
    files: { ...files, '.vtcode/tool-policy.json': JSON.stringify({ version: 1, ...policy }) },
  })
const capped = (result: unknown): string[] =>
  ((result as { notices?: { code: string; message: string }[] }).notices ?? [])
    .filter(({ code }) => code === 'VT_POLICY_CAPPED')
    .map(({ message }) => message)

describe('tool policy of a workspace', () => {
  it('lowers a number above its limit with a notice, and keeps a smaller one', async () => {
    await using booted = await boot(published)
    const grep = (input: object) =>
      booted.call('unified_search', { action: 'grep', pattern: 'x', response_format: 'concise', ...input })
    const large = await grep({ max_results: 100 })
    matches(large, { ok: true, output: { matches: [{ line_number: 1 }, { line_number: 2 }], truncated: true } })
    expect(large.notices).toMatchObject([{ code: 'VT_POLICY_CAPPED' }])
    expect(capped(large)).toEqual(["'max_results' is at most 2 a call, by the policy for unified_search/grep."])
    const small = await grep({ max_results: 1 })
    matches(small, { output: { matches: [{ line_number: 1 }] } })
    expect(capped(small)).toEqual([])
  })

  it('limits a default number too, with a notice where a result was cut', async () => {
    await using booted = await boot(published)
    const cut = await booted.call('unified_file', { action: 'read', path: 'a.txt' })
    matches(cut, { ok: true, output: { truncated: true } })
    expect(String(cut.ok && cut.output['content']).length).toBeLessThanOrEqual(10)
    expect(capped(cut)).toEqual(["'max_bytes' is at most 10 a call, by the policy for unified_file/read."])
    const lines = await booted.call('unified_file', {
      action: 'read',
      path: 'a.txt',
      offset_lines: 1,
      page_size_lines: 6,
    })
    expect(capped(lines)).toHaveLength(1)
    const bytes = await booted.call('unified_file', {
      action: 'read',
      path: 'a.txt',
      offset_bytes: 0,
      page_size_bytes: 500,
    })
    matches(bytes, { ok: true, output: { next: { tool: 'unified_file' } } })
    expect(capped(bytes)).toEqual(["'page_size_bytes' is at most 10 a call, by the policy for unified_file/read."])
    const whole = await booted.call('unified_file', { action: 'read', path: 'b' })
    matches(whole, { ok: true, output: { truncated: false } })
    expect(capped(whole)).toEqual([])
    const list = await booted.call('unified_search', { action: 'list', path: '.' })
    matches(list, { ok: true, output: { items: [{}, {}, {}], has_more: true } })
    expect(capped(list)).toHaveLength(1)
  })

  it('sets the response format that the call does not choose', async () => {
    await using booted = await boot(published)
    const answer = (input: object) => booted.call('unified_search', { action: 'grep', pattern: 'x1', ...input })
    matches(await answer({}), { ok: true, output: { matches: [{ submatches: [{ text: 'x1' }] }] } })
    expect((await answer({ response_format: 'concise' })) as { text?: string }).toHaveProperty('text')
  })

  it('refuses modes that are not allowed and names the allowed ones; a default becomes the first of them', async () => {
    await using booted = await boot({
      constraints: {
        write_file: { allowed_modes: ['skip_if_exists', 'append'] },
        run_terminal_cmd: { allowed_modes: ['terminal'] },
      },
    })
    const write = (input: object) =>
      booted.call('unified_file', { action: 'write', path: 'a.txt', content: 'y', ...input })
    matches(await write({ mode: 'overwrite' }), {
      ok: false,
      error: { code: 'VT_POLICY_DENIED', message: "re:.*skip_if_exists, append.*'overwrite'.*" },
    })
    matches(await write({}), { ok: true, output: { mode: 'skip_if_exists' } })
    matches(await booted.call('unified_exec', { action: 'run', command: 'ls', tty: true }), {
      ok: false,
      error: { code: 'VT_POLICY_DENIED', message: "re:.*'pty'.*" },
    })
    matches(await booted.call('unified_exec', { action: 'run', command: 'echo a' }), { ok: true })
  })

  it('replaces the default mode of an alias by an allowed one, and refuses the mode of the caller or of the name', async () => {
    const allowed_modes = ['terminal']
    await using booted = await boot(
      { constraints: { run_terminal_cmd: { allowed_modes, default_response_format: 'concise' } } },
      { sandbox: { mode: 'off' } },
    )
    const run = (tool: string, input: object = {}) => booted.call(tool, { command: 'printf a', ...input })
    matches(await run('run_terminal_cmd'), { ok: true, output: { stdout: 'a', mode: 'terminal' } })
    matches(await run('run_terminal_cmd', { mode: 'terminal' }), { ok: true, output: { mode: 'terminal' } })
    expect(await booted.kernel.explain('run_terminal_cmd', { command: 'printf a' })).toMatchObject({ verdict: 'run' })
    for (const denied of [await run('run_terminal_cmd', { mode: 'pty' }), await run('run_pty_cmd')])
      matches(denied, { ok: false, error: { code: 'VT_POLICY_DENIED', message: "re:.*terminal.*'pty'.*" } })
    await using published = await boot({
      constraints: { run_terminal_cmd: { allowed_modes: ['pty', 'terminal', 'streaming'] } },
    })
    expect(await published.kernel.explain('run_terminal_cmd', { command: 'printf a' })).toMatchObject({
      verdict: 'run',
    })
  })

  it('reports a limit for a default number of an alias only where the answer was cut', async () => {
    await using booted = await boot({ constraints: { list_files: { max_items_per_call: 40 } } })
    const list = (input: object) => booted.call('list_files', { path: '.', ...input })
    expect(capped(await list({}))).toEqual([])
    expect(capped(await list({ max_items: 60 }))).toHaveLength(1)
  })

  it('offers the call that allowed modes and addresses permit in place of the denied one', async () => {
    const constraints = {
      write_file: { allowed_modes: ['skip_if_exists'] },
      run_terminal_cmd: { allowed_modes: ['terminal'] },
      list_files: { allowed_modes: ['find_name', 'recursive'] },
      web_fetch: { allowed_url_schemes: ['https'], denied_url_hosts: ['closed.example'] },
    }
    await using booted = await boot({ constraints }, { sandbox: { mode: 'off' } })
    const rows: [tool: string, input: object, hint: RegExp, next: object | undefined][] = [
      [
        'unified_file',
        { action: 'write', path: 'n.txt', content: 'y', mode: 'overwrite' },
        /Use mode: skip_if_exists\.$/,
        { tool: 'unified_file', input: { action: 'write', path: 'n.txt', content: 'y', mode: 'skip_if_exists' } },
      ],
      [
        'write_file',
        { path: 'm.txt', content: 'y', mode: 'overwrite' },
        /Use mode: skip_if_exists\.$/,
        { tool: 'write_file', input: { path: 'm.txt', content: 'y', mode: 'skip_if_exists' } },
      ],
      [
        'unified_exec',
        { action: 'run', command: 'ls', tty: true },
        /Use tty: false\.$/,
        { tool: 'unified_exec', input: { action: 'run', command: 'ls', tty: false } },
      ],
      // The first mode that is allowed would need a name.
      [
        'unified_search',
        { action: 'list', path: '.', mode: 'tree' },
        /Use mode: find_name or recursive\.$/,
        { tool: 'unified_search', input: { action: 'list', path: '.', mode: 'recursive' } },
      ],
      [
        'web_fetch',
        { url: 'http://open.example/a' },
        /Give an address of https\.$/,
        { tool: 'unified_search', input: { action: 'web', url: 'https://open.example/a' } },
      ],
      ['web_fetch', { url: 'http://closed.example/a' }, /Give an address of https\.$/, undefined],
      ['web_fetch', { url: 'https://closed.example/a' }, /Use another way/, undefined],
    ]
    for (const [tool, input, hint, next] of rows) {
      const result = await booted.call(tool, input)
      expect(result, JSON.stringify(input)).toMatchObject({
        ok: false,
        error: {
          code: 'VT_POLICY_DENIED',
          hint: expect.stringMatching(hint),
          message: expect.not.stringMatching(/unified_/),
        },
      })
      expect((result as any).error.next, JSON.stringify(input)).toEqual(next)
      if (next && tool !== 'web_fetch')
        expect(await booted.call((next as any).tool, (next as any).input), JSON.stringify(next)).toMatchObject({
          ok: true,
        })
    }
  })

  it('denies and asks by tool; reports and ignores an allow', async () => {
    const policies = { unified_exec: 'prompt', 'unified_file/delete': 'deny', web_search: 'allow', edit_file: 'deny' }
    await using booted = await boot({ policies, approval_cache: {} })
    const code = async (tool: string, input: object) => {
      const result = await booted.call(tool, input)
      return result.ok ? 'ok' : result.error.code
    }
    expect(await code('unified_exec', { action: 'run', command: 'ls' })).toBe('VT_POLICY_NEEDS_APPROVAL')
    expect(await code('unified_file', { action: 'delete', path: 'b' })).toBe('VT_POLICY_DENIED')
    expect(await code('unified_file', { action: 'edit', path: 'a.txt', old_str: 'x1', new_str: 'y' })).toBe(
      'VT_POLICY_DENIED',
    )
    expect(await code('web_search', { query: 'x' })).toBe('VT_POLICY_NEEDS_APPROVAL')
    const codes = booted.kernel.diagnostics().map(({ code }) => code)
    expect(codes).toEqual(expect.arrayContaining(['VT_POLICY_ALLOW_IGNORED', 'VT_POLICY_UNUSED']))
  })

  it("joins with the user's settings to the strictest: the smallest number, the modes that both allow", async () => {
    await using loose = await boot(published, {
      policy: { constraints: { 'unified_search/grep': { max_results_per_call: 5 } } },
    })
    await using strict = await boot(published, {
      policy: { constraints: { unified_search: { max_results_per_call: 1 } } },
    })
    const shown = async (booted: Booted) => {
      const result = await booted.call('unified_search', { action: 'grep', pattern: 'x' })
      return result.ok && (result.output['matches'] as unknown[]).length
    }
    expect(await shown(loose)).toBe(2)
    expect(await shown(strict)).toBe(1)
  })

  it('allows web calls only to permitted schemes and hosts', async () => {
    await using booted = await boot({
      constraints: {
        'unified_search/web': { allowed_url_schemes: ['https'], denied_url_hosts: ['*.evil.example', 'bad.example'] },
      },
    })
    const fetch = (url: string) => booted.call('unified_search', { action: 'web', url })
    for (const url of ['http://ok.example/', 'https://a.b.evil.example/', 'https://BAD.example./x'])
      matches(await fetch(url), { ok: false, error: { code: 'VT_POLICY_DENIED' } })
    matches(await fetch('https://ok.example/'), { ok: false, error: { code: 'VT_POLICY_NEEDS_APPROVAL' } })
  })

  it('reports a tool name that does not exist, with the nearest one', async () => {
    await using booted = await boot({
      policies: { unified_fle: 'deny' },
      constraints: { grep_serch: { max_results_per_call: 1 } },
    })
    const found = booted.kernel.diagnostics()
    expect(found.map(({ code }) => code)).toEqual(['VT_POLICY_UNKNOWN_TOOL', 'VT_POLICY_UNKNOWN_TOOL'])
    expect(found.map(({ message }) => message).join()).toMatch(/grep_serch.*grep_search.*unified_fle.*unified_file/)
  })

  it.each([
    ['{', 'syntax'],
    ['{"version":2}', 'version'],
    ['{"version":1,"policies":{"x":"perhaps"}}', 'word'],
    ['{"version":1,"constraints":{"x":{"max":1}}}', 'key'],
  ])('refuses the tool policy %s with its file (%s)', async (text) => {
    await using folder = await tempWorkspace({ '.vtcode/tool-policy.json': text })
    await expect(createKernel({ workspace: folder.root, home: folder.home })).rejects.toMatchObject({
      code: 'VT_CONFIG_INVALID',
      message: expect.stringContaining('tool-policy.json'),
    })
  })
})
