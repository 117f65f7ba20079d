import { join } from 'node:path'
import { bootKernel, tempWorkspace, type Booted } from 'vtcode/test'
import { describe, expect, it } from 'vitest'

const files = { 'a.txt': 'x\nx\n', '.git/HEAD': '' }
const under = (policy: object, dialects?: string[]) =>
  bootKernel({
    files,
    mode: 'auto',
    config: { policy, sandbox: { mode: 'off' } } as never,
    ...(dialects && { dialects }),
  })
const codes = (booted: Booted, calls: readonly (readonly [string, object])[]) =>
  Promise.all(
    calls.map(async ([tool, input], index) => {
      const result = await booted.call(tool, input, { session: `s${index}` })
      return result.ok || result.error.code
    }),
  )
const warnings = ({ kernel }: Booted) => kernel.diagnostics().filter(({ code }) => code.startsWith('VT_POLICY_'))

const running = [
  ['unified_exec', { command: 'touch z' }],
  ['unified_exec_run', { command: 'touch z' }],
  ['Unified_Exec', { command: 'touch z' }],
  ['run_shell', { program: 'touch', args: ['z'] }],
  ['run_terminal_cmd', { command: ['touch', 'z'] }],
  ['run_pty_cmd', { command: 'touch z' }],
] as const

describe('rule about any name of a tool', () => {
  it.each([
    'run_terminal_cmd',
    'run_shell',
    'run_pty_cmd',
    'unified_exec_run',
    'unified_exec/run',
    'Run_Shell',
    'run_*',
  ])('denies the slot under all its names with the rule %s', async (name) => {
    await using booted = await under({ deny: [name] })
    expect(await codes(booted, running)).toEqual(running.map(() => 'VT_POLICY_DENIED'))
    expect(await codes(booted, [['unified_file', { action: 'read', path: 'a.txt' }]])).toEqual([true])
    expect(warnings(booted)).toEqual([])
  })

  it('applies a rule whose name leads to several slots to all of them', async () => {
    await using booted = await under({ deny: ['grep_search', 'write_patch'] })
    expect(
      await codes(booted, [
        ['unified_search', { action: 'grep', pattern: 'x' }],
        ['search_text', { pattern: 'x' }],
        ['grep_search_fuzzy', { pattern: 'export' }],
        ['grep_search', { mode: 'similarity', reference_file: 'a.txt' }],
        ['unified_file', { action: 'write', path: 'b.txt', content: '' }],
        ['edit_file', { path: 'a.txt', old_str: 'x', new_str: 'y' }],
        ['unified_search', { action: 'list' }],
      ]),
    ).toEqual([...Array(6).fill('VT_POLICY_DENIED'), true])
  })

  it('allows only the alias that an allow rule names, and warns about that', async () => {
    await using booted = await under({ allow: ['run_shell', 'create_file'] })
    expect(await codes(booted, running)).toEqual([
      'VT_POLICY_NEEDS_APPROVAL',
      'VT_POLICY_NEEDS_APPROVAL',
      'VT_POLICY_NEEDS_APPROVAL',
      true,
      'VT_POLICY_NEEDS_APPROVAL',
      'VT_POLICY_NEEDS_APPROVAL',
    ])
    expect(warnings(booted)).toMatchObject([
      {
        code: 'VT_POLICY_ONE_SPELLING',
        severity: 'warning',
        message: expect.stringContaining('run_shell'),
        hint: 'Name unified_exec/run instead.',
      },
      { code: 'VT_POLICY_ONE_SPELLING', message: expect.stringContaining('unified_file/write') },
    ])
  })

  it('excepts only the alias that an Except rule names', async () => {
    await using booted = await under({ deny: ['Except(read_file, unified_search)'] })
    expect(
      await codes(booted, [
        ['read_file', { path: 'a.txt' }],
        ['unified_file', { action: 'read', path: 'a.txt' }],
        ['list_files', {}],
      ]),
    ).toEqual([true, 'VT_POLICY_DENIED', true])
    expect(warnings(booted)).toMatchObject([{ code: 'VT_POLICY_ONE_SPELLING' }])
  })

  it('warns about a rule on a property that only the alias has', async () => {
    await using booted = await under({
      deny: ['run_terminal_cmd(working_dir:secret)', 'run_terminal_cmd(workdir:secret)'],
    })
    expect(warnings(booted)).toMatchObject([
      {
        code: 'VT_POLICY_ONE_SPELLING',
        message: expect.stringContaining("'working_dir' is not a property of unified_exec/run"),
      },
    ])
  })
})

describe('plugin that takes the name of a tool', () => {
  const module = 'export default () => ({ ok: true, output: {} })\n'
  const plugin = (head: string) => ({
    'own/own.js': module,
    'own/own.yaml': `${head}\ndescription: Taken.\neffects: [exec]\nmodule: ./own.js\n`,
  })
  async function taken(head: string, policy: object): Promise<Booted> {
    const place = await tempWorkspace(plugin(head))
    const booted = await bootKernel({
      files,
      mode: 'auto',
      config: { policy, sandbox: { mode: 'off' } } as never,
      manifests: [join(place.root, 'own/own.yaml')],
    })
    return {
      ...booted,
      [Symbol.asyncDispose]: async () => void (await booted[Symbol.asyncDispose](), await place[Symbol.asyncDispose]()),
    }
  }
  const execs = running.filter(([name]) => name !== 'unified_exec_run')

  it('keeps denying the tool when a plugin takes its name, also without consent to the plugin', async () => {
    await using booted = await taken('name: unified_exec_run', { deny: ['unified_exec_run'] })
    expect(await codes(booted, execs)).toEqual(execs.map(() => 'VT_POLICY_DENIED'))
    const folder = {
      '.vtcode/plugins/own/vtcode/own.yaml': plugin('name: unified_exec_run')['own/own.yaml'],
      '.vtcode/plugins/own/vtcode/own.js': module,
    }
    await using cloned = await bootKernel({
      files: { ...files, ...folder },
      mode: 'auto',
      config: { policy: { deny: ['unified_exec_run'] }, sandbox: { mode: 'off' } } as never,
    })
    expect(cloned.kernel.inspection.contributions().find(({ id }) => id === 'own:unified_exec_run')?.state).toBe(
      'untrusted',
    )
    expect(await codes(cloned, execs)).toEqual(execs.map(() => 'VT_POLICY_DENIED'))
  })

  it('allows no action of a plugin that uses the name of another action as a synonym', async () => {
    await using booted = await taken('action: unified_file/own\ninfer: { synonyms: [delete] }', {
      allow: ['unified_file/delete'],
    })
    expect(
      await codes(booted, [
        ['unified_file', { action: 'own' }],
        ['unified_file', { action: 'delete', path: 'a.txt' }],
      ]),
    ).toEqual(['VT_POLICY_NEEDS_APPROVAL', true])
  })
})

describe('limit under any name of a tool', () => {
  it.each(['search_text', 'grep_search', 'unified_search_grep', 'unified_search/grep'])(
    'applies a limit under the name %s to the slot',
    async (name) => {
      await using booted = await under({ constraints: { [name]: { max_results_per_call: 1 } } })
      for (const [tool, input] of [
        ['unified_search', { action: 'grep', pattern: 'x' }],
        ['unified_search_grep', { pattern: 'x' }],
        ['grep_search', { pattern: 'x' }],
      ] as const) {
        expect(await booted.call(tool, input), tool).toMatchObject({
          ok: true,
          output: { matches: [{ line_number: 1 }] },
        })
      }
      expect(warnings(booted)).toEqual([])
    },
  )

  it('warns about a limit or a rule for an unknown name', async () => {
    await using booted = await under({
      constraints: { serch_text: { max_results_per_call: 1 } },
      deny: ['run_terminal_cmb'],
    })
    expect(warnings(booted).map(({ code, message }) => [code, /nearest: (\w+)/.exec(message)?.[1]])).toEqual([
      ['VT_POLICY_UNKNOWN_TOOL', 'search_text'],
      ['VT_POLICY_UNKNOWN_TOOL', 'run_terminal_cmd'],
    ])
  })
})
