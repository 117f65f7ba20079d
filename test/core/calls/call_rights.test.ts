import { symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { CallOptions, Result, RightsScope } from 'vtcode'
import { bootKernel, tempWorkspace, type Booted } from 'vtcode/test'

const write = (path: string) => ['unified_file', { action: 'write', path, content: 'x' }] as const
const run = (command: string) => ['unified_exec', { action: 'run', command }] as const
const codeOf = (result: Result) => (result.ok ? 'ok' : result.error.code)
const denied = 'VT_POLICY_DENIED'
let sessions = 0
type Asked = readonly [tool: string, input: object]
const codes = async ({ kernel }: Booted, options: CallOptions, calls: readonly Asked[]) => {
  const results: Result[] = []
  // Each in a session of its own: that the same call was refused before is another matter.
  for (const [tool, input] of calls)
    results.push(await kernel.call(tool, input, { session: `s${++sessions}`, ...options }))
  return results.map(codeOf)
}
/** A plugin that makes the given call with the given rights. */
const caller = {
  'caller.yaml':
    'name: caller\ndescription: Calls.\neffects: [read, write, exec]\nmodule: ./caller.js\ninput: { type: object, properties: { tool: { type: string }, input: { type: object }, how: { type: object } } }\n',
  'caller.js':
    'export default async ({ input: { tool, input, how } }, context) => ({ ok: true, output: { result: await context.call(tool, input, how), conversation: typeof context.conversation } })\n',
}
const inner = (result: Result) => (result.ok ? codeOf(result.output['result'] as Result) : result.error.code)

describe('rights of a call: tools', () => {
  it('denies every tool outside the rights of a call, under any name, and names the tools that remain', async () => {
    await using one = await bootKernel({
      files: { 'a.txt': 'one\n' },
      mode: 'auto',
      config: { sandbox: { mode: 'off' } } as never,
    })
    const calls: Asked[] = [
      ['unified_file', { action: 'read', path: 'a.txt' }],
      ['read_file', { path: 'a.txt' }],
      write('b.txt'),
      run('true'),
      ['create_file', { path: 'c.txt', content: '' }],
      ['unified_search', { action: 'list' }],
    ]
    expect(await codes(one, { only: { tools: ['unified_file/read'] } }, calls)).toEqual([
      'ok',
      'ok',
      denied,
      denied,
      denied,
      denied,
    ])
    expect(await one.kernel.call(...write('b.txt'), { only: { tools: ['unified_file/read'] } })).toMatchObject({
      error: {
        message: "This call may not use unified_file/write. Its rights: 'unified_file/read'.",
        hint: expect.stringContaining('Do not repeat the call.'),
        details: { not_applied: true },
      },
    })
    expect(await one.read('b.txt')).toBeUndefined()
    // The kernel keeps no rights of a call.
    expect(codeOf(await one.kernel.call(...write('b.txt')))).toBe('ok')
  })

  it('accepts families, effects, aliases, patterns and exceptions as in rules', async () => {
    await using one = await bootKernel({
      files: { 'a.txt': 'one\n' },
      mode: 'auto',
      config: { policy: { allow: ['exec'] }, sandbox: { mode: 'off' } } as never,
    })
    const calls: Asked[] = [
      ['unified_file', { action: 'read', path: 'a.txt' }],
      ['read_file', { path: 'a.txt' }],
      ['unified_file', { action: 'write', path: 'b.txt', content: 'x', mode: 'overwrite' }],
      run('true'),
      ['unified_search', { action: 'list' }],
    ]
    const left = (...tools: string[]) => codes(one, { only: { tools } }, calls)
    expect(await left('Read')).toEqual(['ok', 'ok', denied, denied, 'ok'])
    expect(await left('read')).toEqual(['ok', 'ok', denied, denied, 'ok'])
    expect(await left('Edit', 'Bash')).toEqual([denied, denied, 'ok', 'ok', denied])
    expect(await left('read_file')).toEqual([denied, 'ok', denied, denied, denied])
    expect(await left('unified_file')).toEqual(['ok', 'ok', 'ok', denied, denied])
    expect(await left('*/write', 'unified_search/*')).toEqual([denied, denied, 'ok', denied, 'ok'])
    expect(await left('Except(exec, unified_file/write)')).toEqual(['ok', 'ok', denied, denied, 'ok'])
    expect(await left('Except(read_file)')).toEqual([denied, denied, 'ok', 'ok', 'ok'])
    expect(await left()).toEqual([denied, denied, denied, denied, denied])
    expect(await codes(one, { only: {} }, calls)).toEqual(['ok', 'ok', 'ok', 'ok', 'ok'])
  })

  it('applies the rights and the mode of a call to its nested calls, which can only narrow them', async () => {
    await using place = await tempWorkspace(caller)
    await using one = await bootKernel({
      manifests: [place.root],
      files: { 'a.txt': 'x' },
      mode: 'auto',
      config: { policy: { allow: ['caller'] } } as never,
    })
    const through = async (
      only: RightsScope | undefined,
      [tool, input]: Asked,
      how?: object,
      options: CallOptions = {},
    ) => inner(await one.kernel.call('caller', { tool, input, how }, { ...options, ...(only && { only }) }))
    const read = ['unified_file', { action: 'read', path: 'a.txt' }] as const
    const left = { tools: ['caller', 'unified_file/read'] }
    expect([
      await through(left, read),
      await through(left, write('b.txt')),
      await through(left, write('b.txt'), { only: { tools: ['unified_file'] } }),
      await through(left, write('b.txt'), { only: {} }),
    ]).toEqual(['ok', denied, denied, denied])
    expect([
      await through(undefined, write('b.txt'), { only: { tools: ['unified_file/read'] } }),
      await through(undefined, read, { only: { tools: ['unified_file/read'] } }),
    ]).toEqual([denied, 'ok'])
    expect([
      await through(undefined, write('b.txt'), { mode: 'plan' }),
      await through(
        undefined,
        write('b.txt'),
        { mode: 'auto' },
        { mode: 'ask', approve: ({ call }) => call.slot === 'caller' },
      ),
    ]).toEqual([denied, 'VT_POLICY_NEEDS_APPROVAL'])
    expect(
      await through(left, [
        'caller',
        { tool: 'unified_file', input: { action: 'write', path: 'b.txt', content: 'x' }, how: { only: {} } },
      ]),
    ).toBe('ok')
    expect(await one.read('b.txt')).toBeUndefined()
    expect(await through(undefined, write('b.txt'))).toBe('ok')
  })

  it('limits all calls of a kernel to the rights that the kernel was made with', async () => {
    await using one = await bootKernel({ files: { 'a.txt': 'x' }, mode: 'auto', only: [{ tools: ['unified_file'] }] })
    expect(
      await codes(one, {}, [
        ['unified_file', { action: 'read', path: 'a.txt' }],
        write('b.txt'),
        ['unified_search', { action: 'list' }],
      ]),
    ).toEqual(['ok', 'ok', denied])
    expect(
      await codes(one, { only: { tools: ['unified_file/read', 'unified_search'] } }, [
        ['unified_file', { action: 'read', path: 'a.txt' }],
        write('b.txt'),
        ['unified_search', { action: 'list' }],
      ]),
    ).toEqual(['ok', denied, denied])
    expect(one.kernel.tools().map(({ name }) => name)).toEqual(['unified_file'])
    expect(new Set(one.kernel.list().map(({ tool }) => tool))).toEqual(new Set(['unified_file']))
    await expect(bootKernel({ only: [{ tools: 'unified_file' } as never] })).rejects.toThrow(
      '`only.tools` is not a list of texts.',
    )
  })

  it('explains a call with its rights, without calling', async () => {
    await using one = await bootKernel({ mode: 'auto' })
    expect(await one.kernel.explain(...write('a'), { only: { tools: ['read'] } })).toMatchObject({
      verdict: 'deny',
      reason: expect.stringContaining("Its rights: 'read'."),
    })
    expect(await one.kernel.explain(...write('a'), { only: { tools: ['raed'] } })).toMatchObject({
      verdict: 'refused',
      reason: expect.stringContaining("'raed'"),
    })
  })
})

describe('rights of a call: writes', () => {
  const files = { 'src/a.txt': 'a\n', 'other/b.txt': 'b\n' }
  const only = { writes: ['src/**'] }

  it('allows writes only where the given and the resolved path match: no link, no `..`, no missing path', async () => {
    await using one = await bootKernel({ files, mode: 'auto' })
    await symlink('../other', join(one.root, 'src/out'))
    await symlink('../other/b.txt', join(one.root, 'src/file'))
    await symlink(one.home, join(one.root, 'src/away'))
    await symlink('src', join(one.root, 'in'))
    const patch = (path: string) =>
      ['apply_patch', { input: `*** Begin Patch\n*** Update File: ${path}\n@@\n-b\n+c\n*** End Patch` }] as const
    const outside: Asked[] = [
      write('other/c.txt'),
      write('src/out/c.txt'),
      write('src/file'),
      write('in/c.txt'),
      patch('other/b.txt'),
      patch('src/file'),
      ['unified_file', { action: 'move', path: 'src/a.txt', destination: 'other/a.txt' }],
      ['unified_file', { action: 'delete', path: 'src/file' }],
    ]
    expect(await codes(one, { only }, outside)).toEqual(outside.map(() => denied))
    expect(await codes(one, { only }, [write('../x'), write('src/../../x'), write('src/away/x')])).toEqual(
      Array(3).fill('VT_PATH_OUTSIDE'),
    )
    expect(
      await codes(one, { only }, [
        write('src/../other/c.txt'),
        write('src/new/c.txt'),
        ['unified_file', { action: 'read', path: 'other/b.txt' }],
        ['unified_search', { action: 'list' }],
      ]),
    ).toEqual([denied, 'ok', 'ok', 'ok'])
    expect([await one.read('other/b.txt'), await one.read('other/c.txt'), await one.read('src/new/c.txt')]).toEqual([
      'b\n',
      undefined,
      'x',
    ])
    expect(await one.kernel.call(...write('other/c.txt'), { only })).toMatchObject({
      error: { message: "Only 'src/**' may be written; 'other/c.txt' is not one of them." },
    })
  })

  it('allows only commands known to read, whatever a rule allows in addition', async () => {
    await using one = await bootKernel({
      files,
      mode: 'auto',
      config: { policy: { allow: ['exec', 'Bash(sed:*)'] }, sandbox: { mode: 'off' } } as never,
    })
    const calls = [
      'ls src',
      'cat other/b.txt',
      'sed -i s/a/b/ src/a.txt',
      'echo x > src/a.txt',
      'node -e 1',
      'touch src/b.txt',
    ].map(run)
    expect(await codes(one, { only }, calls)).toEqual(['ok', 'ok', denied, denied, denied, denied])
    expect(await codes(one, { only }, [['unified_exec', { action: 'code', language: 'node', code: '1' }]])).toEqual([
      denied,
    ])
    expect(await one.read('src/a.txt')).toBe('a\n')
    expect(codeOf(await one.kernel.call(...run('sed -i s/a/b/ src/a.txt')))).toBe('ok')
  })

  it('denies a tool that does not declare where it writes, and limits the calls nested in one that does', async () => {
    await using place = await tempWorkspace({
      ...caller,
      'mute.yaml': 'name: mute\ndescription: Writes somewhere.\neffects: [write]\nmodule: ./mute.js\ninput: {}\n',
      'mute.js': 'export default () => ({ ok: true, output: {} })\n',
    })
    await using one = await bootKernel({ manifests: [place.root], files, mode: 'auto' })
    expect(await one.kernel.call('mute', {}, { only })).toMatchObject({
      error: { code: denied, message: "Only 'src/**' may be written, and mute does not declare its targets." },
    })
  })
})

describe('invalid rights', () => {
  it('refuses a call with invalid rights, says what is wrong, and runs nothing', async () => {
    await using one = await bootKernel({ mode: 'auto' })
    const told = async (only: unknown) => {
      const result = await one.kernel.call(...write('a'), { only: only as RightsScope })
      return result.ok ? 'ok' : `${result.error.code}: ${result.error.message}`
    }
    expect(await told({ tools: ['unified_fil'] })).toBe(
      "VT_POLICY_ONLY: `only.tools` names 'unified_fil', a tool that does not exist; nearest: unified_file.",
    )
    expect(await told({ tools: ['Except(unified_file/raed)'] })).toContain(
      "'unified_file/raed', a tool that does not exist; nearest: unified_file.",
    )
    expect(await told({ tools: ['mcp__nobody__x'] })).toContain("'mcp__nobody__x'")
    for (const wrong of [
      null,
      [],
      'unified_file',
      { tool: ['unified_file'] },
      { tools: 'unified_file' },
      { tools: [1] },
      { writes: [''] },
      { writes: {} },
    ])
      expect(await told(wrong), JSON.stringify(wrong)).toMatch(/^VT_POLICY_ONLY: `only/)
    expect(await one.read('a')).toBeUndefined()
  })

  it('refuses more than 10,000 globs and applies as many as that', async () => {
    await using one = await bootKernel({ mode: 'auto' })
    const globs = (count: number) => Array.from({ length: count }, (_, index) => `src/part${index}/*/**`)
    expect(
      await codes(one, { only: { writes: globs(10_000) } }, [write('src/part9999/a/b'), write('src/part10000/a/b')]),
    ).toEqual(['ok', denied])
    expect(await one.kernel.call(...write('a'), { only: { writes: globs(10_001) } })).toMatchObject({
      error: { code: 'VT_POLICY_ONLY', message: '`only.writes` has 10001 entries; at most 10000 are allowed.' },
    })
    expect(await one.kernel.call(...write('a'), { only: { writes: ['x'.repeat(1_025)] } })).toMatchObject({
      error: { code: 'VT_POLICY_ONLY' },
    })
    expect(
      await one.kernel.call(...write('a'), { only: { writes: Array(1_000).fill('x'.repeat(1_000)) } }),
    ).toMatchObject({ error: { code: 'VT_POLICY_ONLY' } })
  })

  it('copies the rights when a call begins, so that later changes count only for the next call', async () => {
    await using place = await tempWorkspace({
      ...caller,
      'caller.js':
        'export default async ({ input: { tool, input } }, context) => { await new Promise((go) => setTimeout(go, 50)); return { ok: true, output: { result: await context.call(tool, input) } } }\n',
    })
    await using one = await bootKernel({
      manifests: [place.root],
      mode: 'auto',
      config: { policy: { allow: ['caller'] } } as never,
    })
    const tools = ['caller']
    const [tool, input] = write('a')
    const running = one.kernel.call('caller', { tool, input }, { only: { tools } })
    await new Promise((go) => setTimeout(go, 10))
    tools.push('unified_file')
    expect(inner(await running)).toBe(denied)
    expect(inner(await one.kernel.call('caller', { tool, input }, { only: { tools } }))).toBe('ok')
  })
})

describe('texts of a call with narrowed rights', () => {
  it('recommends no tool outside the rights of a call in hints, lists of names or next calls', async () => {
    await using one = await bootKernel({ files: { 'src/a.txt': 'x\n'.repeat(500), 'b.txt': 'b' }, mode: 'auto' })
    const texts = async (tools: string[], tool: string, input: object) =>
      JSON.stringify(await one.kernel.call(tool, input, { only: { tools } }))
    const reading = ['unified_file/read', 'unified_file/copy']
    expect(await texts(['unified_file', 'unified_search'], 'unified_file', { action: 'read', path: 'src' })).toContain(
      'List it with unified_search',
    )
    expect(await texts(reading, 'unified_file', { action: 'read', path: 'src' })).not.toMatch(
      /unified_search|unified_exec/,
    )
    expect(await texts(reading, 'unified_fil', {})).not.toMatch(/unified_search|unified_exec|apply_patch/)
    expect(await texts(reading, 'unified_exe', {})).not.toContain('unified_exec')
    expect(await texts(reading, 'unified_file', { action: 'rite' })).toMatch(/known: copy, read\./)
    expect(await texts(reading, 'unified_file', {})).toMatch(/possible: copy, read\./)
    expect(await texts(reading, 'unified_file', { action: 'read', path: 'b.txt', old_str: 'x' })).not.toContain(
      'unified_file/edit',
    )
    expect(await texts(reading, 'unified_exec', { action: 'run', command: 'ls' })).not.toMatch(/unified_search|list_/)
    expect(
      await texts(['unified_exec/run'], 'unified_exec', { action: 'run', command: 'cat b.txt > c.txt' }),
    ).not.toMatch(/unified_file|unified_search/)
    expect(
      await texts(['unified_search'], 'unified_search', { action: 'tools', keyword: '*', max_results: 100 }),
    ).not.toMatch(/"tool":"(?!unified_search|[a-z-]+","source":"skill)/)
  })
})
