import { bootKernel } from 'vtcode/test'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Booted } from 'vtcode/test'

let booted: Booted
beforeAll(async () => {
  booted = await bootKernel({ files: { 'a.txt': 'x' } })
})
afterAll(() => booted[Symbol.asyncDispose]())

describe('kernel.resolve', () => {
  it.each([
    ['unified_exec', { command: 'ls' }, 'unified_exec/run', ['exec'], undefined],
    ['unified_exec_run', { command: 'ls' }, 'unified_exec/run', ['exec'], undefined],
    ['functions.unified_exec', { action: 'run', command: 'ls' }, 'unified_exec/run', ['exec'], undefined],
    ['Unified-Exec', '{"action":"run","command":"ls"}', 'unified_exec/run', ['exec'], undefined],
    ['run_shell', { program: 'ls' }, 'unified_exec/run', ['exec'], 'run_shell'],
    ['run_terminal_cmd', { command: ['ls'] }, 'unified_exec/run', ['exec'], 'run_terminal_cmd'],
    ['execute_code', { code: '1', language: 'py' }, 'unified_exec/code', ['exec'], undefined],
    ['execute_code', { code: '1' }, 'unified_exec/code', [], undefined],
    ['ast_grep', { pat: 'x', paths: ['a.ts'] }, 'ast_grep', ['read'], undefined],
    ['unified_search_list', {}, 'unified_search/list', ['read'], undefined],
    ['grep_search', { mode: 'fuzzy', pattern: 'x' }, 'grep_search/fuzzy', ['read'], 'grep_search'],
    ['unified_exec', { action: 'poll', session_id: 'run-00000000' }, 'unified_exec/poll', [], undefined],
  ])('resolves %s %j to its slot', async (tool, input, slot, effects, alias) => {
    const found = await booted.kernel.resolve(tool, input)
    expect(found).toMatchObject({ slot: { slot }, effects })
    expect(found?.alias).toBe(alias)
  })

  it('returns the input in the words of the slot, and the worst effects for a refused input', async () => {
    expect(await booted.kernel.resolve('run_shell', { program: 'ls', args: ['-l'] })).toMatchObject({
      input: { command: 'ls', args: ['-l'] },
    })
    expect(await booted.kernel.resolve('unified_exec_run', { nonsense: 1 })).toMatchObject({
      slot: { slot: 'unified_exec/run' },
      effects: ['exec'],
    })
  })

  it('returns undefined for names and inputs that lead to no slot, and never rejects', async () => {
    for (const [tool, input] of [
      ['nope', {}],
      ['unified_exec', { action: 'nope' }],
      ['', undefined],
      ['unified_exec_run', '{"broken'],
    ] as const)
      expect(await booted.kernel.resolve(tool, input)).toBeUndefined()
  })

  it.each(['unified_file', 'Unified-File', 'functions.unified_file'])(
    'reports not_applied for a call of %s that resolves to no slot',
    async (tool) => {
      expect(await booted.call(tool, { action: 'nope' })).toMatchObject({
        ok: false,
        error: { code: 'VT_ACTION_UNKNOWN', details: { not_applied: true } },
      })
    },
  )

  it('returns the traits of a slot from its manifest', async () => {
    const of = async (tool: string, input: object) => (await booted.kernel.resolve(tool, input))!.slot
    expect(await of('write_file', { path: 'a', content: '' })).toMatchObject({
      reports_changes: true,
      keeps_history: true,
    })
    expect(await of('unified_exec_poll', { session_id: 'run-00000000' })).toMatchObject({ continues: true })
    expect(await of('load_skill', { name: 'x' })).toMatchObject({ stays_in_context: true })
    expect(await of('unified_exec', { command: 'ls' })).not.toHaveProperty('keeps_history')
  })
})
