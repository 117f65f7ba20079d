import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { bootKernel, matches, tempWorkspace, type Boot, type Booted, type TempWorkspace } from 'vtcode/test'
import type { Result } from 'vtcode'

let plugins: TempWorkspace
beforeAll(async () => {
  const slot = (name: string, effect: string, body: string): Record<string, string> => ({
    [`${name}.yaml`]: `name: ${name}\neffects: [${effect}]\ndescription: Answers.\nerrors: { FLAKY_FAIL: { message: No. } }\ninput: { properties: { text: { type: string } } }\nmodule: ./${name}.js\n`,
    [`${name}.js`]: `let count = 0\nexport default ({ input }) => (${body})\n`,
  })
  plugins = await tempWorkspace({
    ...slot('same', 'read', '{ ok: true, output: { text: input.text, took_ms: ++count } }'),
    ...slot('other', 'read', '{ ok: true, output: { count: ++count } }'),
    ...slot('change', 'write', '{ ok: true, output: {} }'),
    ...slot('flaky', 'read', "{ ok: false, error: { code: 'FLAKY_FAIL', message: 'No.' } }"),
  })
})
afterAll(() => plugins[Symbol.asyncDispose]())
afterEach(() => void vi.useRealTimers())

const boot = (how: Boot = {}): Promise<Booted> =>
  bootKernel({
    manifests: [plugins.root],
    timeouts: { reading: 50 },
    ...how,
    config: { tools: { max_repeated_tool_calls: 2 }, ...how.config },
  })
const codeOf = (result: Result): string => (result.ok ? (result.notices?.[0]?.code ?? 'ok') : result.error.code)
/** Calls at the pace of a caller that reads the answers. */
async function slowly(booted: Booted, times: number, ...call: [string, object?]): Promise<string[]> {
  const codes = []
  for (let round = 0; round < times; round += 1) {
    if (round > 0) await new Promise((resolve) => setTimeout(resolve, 60))
    codes.push(codeOf(await booted.call(...call)))
  }
  return codes
}
const remark = 'VT_GUARD_DUPLICATE'

describe('duplicate_calls policy', () => {
  it('remarks on the third equal answer and refuses the sixth call', async () => {
    await using booted = await boot()
    expect(await slowly(booted, 6, 'same', { text: 'x' })).toEqual(['ok', 'ok', remark, remark, remark, remark])
    matches(await booted.call('same', { text: 'x' }), {
      ok: false,
      error: { code: remark, message: 're:.*5 times.*', hint: 're:Nothing was done.*' },
    })
    expect(codeOf(await booted.call('same', { text: 'y' }))).toBe('ok')
  })

  it('allows a program to repeat itself faster than a reader could follow', async () => {
    await using booted = await boot({ timeouts: {} })
    const results = await Promise.all(Array.from({ length: 50 }, () => booted.call('same', { text: 'x' })))
    expect(results.every((result) => codeOf(result) === 'ok')).toBe(true)
  })

  it('resets the count after another answer or a change in between', async () => {
    await using booted = await boot()
    expect(await slowly(booted, 4, 'other')).toEqual(['ok', 'ok', 'ok', 'ok'])
    expect(await slowly(booted, 2, 'same')).toEqual(['ok', 'ok'])
    await booted.call('change')
    expect(await slowly(booted, 2, 'same')).toEqual(['ok', 'ok'])
  })

  it('refuses a call that failed three times until another one succeeds', async () => {
    await using booted = await boot()
    for (let round = 0; round < 3; round += 1) expect(codeOf(await booted.call('flaky'))).toBe('FLAKY_FAIL')
    matches(await booted.call('flaky'), { ok: false, error: { code: remark, message: 're:.*3 times.*FLAKY_FAIL.*' } })
    await booted.call('same')
    expect(codeOf(await booted.call('flaky'))).toBe('FLAKY_FAIL')
  })

  it('repeats a denial at once with the same advice', async () => {
    await using booted = await boot({ mode: 'plan' })
    const first = await booted.call('change')
    const again = await booted.call('change')
    matches(again, { ok: false, error: { code: 'VT_POLICY_REPEATED', details: { not_applied: true } } })
    expect(!first.ok && !again.ok && again.error.hint).toBe(!first.ok && first.error.hint)
  })

  it('recognises a refused call under another name of its tool and with another answer form', async () => {
    const direct = { action: 'run', command: 'rm x', tty: true }
    for (const [tool, input] of [
      ['run_terminal_cmd', { command: 'rm x' }],
      ['exec_command', { cmd: 'rm x', tty: true, yield_time_ms: 500 }],
      ['unified_exec', { ...direct, timeout_secs: 9, rows: 40, session_id: 'mine' }],
    ] as const) {
      await using denied = await boot({ mode: 'auto', config: { policy: { deny: ['Bash(rm *)'] } } })
      expect([
        tool,
        codeOf(await denied.call(tool, input)),
        codeOf(await denied.call('unified_exec', direct)),
        codeOf(await denied.call(tool, input)),
      ]).toEqual([tool, 'VT_POLICY_DENIED', 'VT_POLICY_REPEATED', 'VT_POLICY_REPEATED'])
      await using asked = await boot({ mode: 'auto' })
      expect([
        tool,
        codeOf(await asked.call(tool, input, { approve: () => false })),
        codeOf(await asked.call('unified_exec', direct, { approve: () => true })),
      ]).toEqual([tool, 'VT_POLICY_NEEDS_APPROVAL', 'VT_POLICY_REPEATED'])
      expect(codeOf(await asked.call('unified_exec', { ...direct, command: 'true' }, { approve: () => true }))).toBe(
        'ok',
      )
    }
  })

  it('drops a denial when something changed that the denying hook may have read', async () => {
    const guard = 'test -e allowed || { echo not yet >&2; exit 2; }'
    await using booted = await boot({
      config: { hooks: { PreToolUse: [{ matcher: 'same', hooks: [{ command: guard }] }] } },
    })
    const codes = []
    for (const call of ['same', 'same']) codes.push(codeOf(await booted.call(call)))
    await booted.call('unified_file', { action: 'write', path: 'allowed', content: '' })
    codes.push(codeOf(await booted.call('same')))
    expect(codes).toEqual(['VT_POLICY_DENIED', 'VT_POLICY_REPEATED', 'ok'])
  })

  it('drops a denial when other rules apply after a reload', async () => {
    await using booted = await boot({ mode: 'auto' })
    await booted.write('.vtcode/config.yaml', 'policy: { deny: [same] }')
    await booted.kernel.reload()
    expect([codeOf(await booted.call('same')), codeOf(await booted.call('same'))]).toEqual([
      'VT_POLICY_DENIED',
      'VT_POLICY_REPEATED',
    ])
    await booted.write('.vtcode/config.yaml', '{}')
    await booted.kernel.reload()
    expect(codeOf(await booted.call('same'))).toBe('ok')
  })

  it('asks a person once about a refused call and treats a missing approver as no answer', async () => {
    await using booted = await boot({ mode: 'ask' })
    let asked = 0
    const approve = (): boolean => (asked += 1) < 0
    for (let round = 0; round < 5; round += 1)
      expect(codeOf(await booted.call('change'))).toBe('VT_POLICY_NEEDS_APPROVAL')
    expect(codeOf(await booted.call('change', { text: 'x' }, { approve }))).toBe('VT_POLICY_NEEDS_APPROVAL')
    expect(codeOf(await booted.call('change', { text: 'x' }, { approve }))).toBe('VT_POLICY_REPEATED')
    expect(asked).toBe(1)
    expect(codeOf(await booted.call('change', { text: 'y' }, { approve: () => true }))).toBe('ok')
  })

  it('reads a file again that changed meanwhile and a page that was not read yet', async () => {
    await using booted = await boot({ files: { 'a.txt': 'one\ntwo\n' } })
    const read = { action: 'read', path: 'a.txt' }
    expect((await slowly(booted, 6, 'unified_file', read)).at(-1)).toBe(remark)
    expect((await booted.call('unified_file', read)).ok).toBe(false)
    expect(codeOf(await booted.call('unified_file', { ...read, offset_lines: 2 }))).toBe('ok')
    await booted.write('a.txt', 'three\n')
    expect(await booted.call('unified_file', read)).toMatchObject({ ok: true, output: { content: 'three\n' } })
  })

  it('forgets results after a minute', async () => {
    await using booted = await boot()
    expect((await slowly(booted, 6, 'same')).at(-1)).toBe(remark)
    for (let round = 0; round < 3; round += 1) await booted.call('flaky')
    expect([(await booted.call('same')).ok, codeOf(await booted.call('flaky'))]).toEqual([false, remark])
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 61_000 })
    expect([codeOf(await booted.call('flaky')), (await booted.call('same')).ok]).toEqual(['FLAKY_FAIL', true])
  })

  it('skips hops of a redirect and inner calls in the count', async () => {
    await using hops = await tempWorkspace({
      'hop.yaml':
        'name: hop\neffects: [read]\ndescription: Leads elsewhere.\ninput: { properties: { from: { type: string } } }\nmodule: ./hop.js\n',
      'hop.js':
        "export default async ({ input }, { call }) => (input.from === 'end' ? { ok: true, output: { end: true } } : call('hop', { from: 'end' }))\n",
    })
    await using booted = await boot({ manifests: [plugins.root, hops.root] })
    for (let round = 0; round < 8; round += 1) {
      await new Promise((resolve) => setTimeout(resolve, 60))
      expect([round, codeOf(await booted.call('hop', { from: `link ${round}` }))]).toEqual([round, 'ok'])
    }
    expect(await slowly(booted, 3, 'hop', { from: 'end' })).toEqual(['ok', 'ok', remark])
  })

  it('keeps sessions apart and can be switched off', async () => {
    await using booted = await boot({ config: { tools: { max_repeated_tool_calls: 0 } } })
    expect(await slowly(booted, 4, 'same')).toEqual(['ok', 'ok', 'ok', 'ok'])
    await using plan = await boot({ mode: 'plan' })
    for (const session of ['one', 'two'])
      expect(codeOf(await plan.call('change', {}, { session }))).toBe('VT_POLICY_DENIED')
  })
})
