import { describe, expect, it } from 'vitest'
import { bootKernel } from 'vtcode/test'

// A next call that leads out of the workspace cannot be made, so the kernel leaves it out.
const outside = ['/etc/passwd', '../x', 'a/../../x', '~/x']
const looks = (path: string): string[] => [
  `cat ${path}`,
  `head -n 3 ${path}`,
  `tail ${path}`,
  `sed -n 2,5p ${path}`,
  `ls ${path}`,
  `tree ${path}`,
  `find ${path} -name x`,
  `grep x ${path}`,
  `rg x ${path}`,
]
const errorOf = (result: any): any => result.error

describe('next call of a denied command', () => {
  it.each([
    ['by a rule that denies', { policy: { deny: ['Bash'] } }],
    ['by a rule that asks', { policy: { ask: ['Bash'] } }],
  ])('offers a next call for a command stopped %s, and none outside the workspace', async (_, config) => {
    await using booted = await bootKernel({
      mode: 'auto',
      config: { sandbox: { mode: 'off' }, ...config },
      files: { 'a.txt': 'x\n'.repeat(9) },
    })
    for (const command of looks('a.txt')) {
      const { next } = errorOf(await booted.call('unified_exec', { action: 'run', command }))
      expect(next, command).toMatchObject({ tool: expect.stringMatching(/^unified_/) })
      if (!/^(tree|ls|find)/.test(command))
        expect(await booted.call(next.tool, next.input), command).toMatchObject({ ok: true })
    }
    for (const path of outside)
      for (const command of looks(path))
        expect(errorOf(await booted.call('unified_exec', { action: 'run', command })), command).not.toHaveProperty(
          'next',
        )
  })
  it('offers no next call outside the workspace for a command that the mode denies', async () => {
    await using booted = await bootKernel({ mode: 'plan', files: { 'a.txt': 'x\n' } })
    for (const path of outside)
      for (const command of looks(path))
        expect(await booted.call('unified_exec', { action: 'run', command }), command).not.toHaveProperty('error.next')
  })
  it('offers no other way to read a file that a rule protects', async () => {
    await using booted = await bootKernel({
      mode: 'auto',
      config: { policy: { deny: ['Read(.env*)', 'Bash(cat *)'] } },
      files: { '.env': 'x\n' },
    })
    expect(errorOf(await booted.call('unified_exec', { action: 'run', command: 'cat .env' }))).toMatchObject({
      code: 'VT_POLICY_DENIED',
    })
    expect(errorOf(await booted.call('unified_exec', { action: 'run', command: 'cat .env' }))).not.toHaveProperty(
      'next',
    )
  })
})

it('offers no next call outside the workspace in any failure or answer of a plugin', async () => {
  const calls = [
    ['unified_file', 'read'],
    ['unified_file', 'edit'],
    ['unified_search', 'list'],
    ['unified_search', 'grep'],
    ['unified_search', 'outline'],
    ['unified_search', 'structural'],
    ['unified_exec', 'inspect'],
  ]
  const said = calls.flatMap(([tool, action]) =>
    outside
      .slice(0, 3)
      .map((path) => ({ tool, input: { action, ...(action === 'inspect' ? { spool_path: path } : { path }) } })),
  )
  await using booted = await bootKernel({
    mode: 'auto',
    files: {
      'p/lead.yaml':
        'action: demo/lead\neffects: [read]\ndescription: Leads somewhere.\nmodule: ./lead.js\ninput: { properties: { next: { type: object }, fails: { type: boolean } } }\nerrors: { DEMO_NO: { message: No., hint: Do that. } }\n',
      'p/lead.js':
        "export default ({ input: { next, fails } }) => fails ? { ok: false, error: { code: 'DEMO_NO', message: 'No.', hint: 'Look.', retryable: false, next } } : { ok: true, output: { next } }\n",
    },
    config: { manifests: ['builtin', './p'] },
  })
  const lead = (next: object, fails: boolean): Promise<any> => booted.call('demo', { action: 'lead', next, fails })
  const kept = { tool: 'unified_file', input: { action: 'read', path: 'a.txt' } }
  expect(await lead(kept, true)).toMatchObject({ error: { next: kept } })
  expect(await lead(kept, false)).toMatchObject({ output: { next: kept } })
  for (const next of said) {
    const failed = await lead(next, true)
    expect(failed, JSON.stringify(next)).toMatchObject({ ok: false, error: { code: 'DEMO_NO', hint: 'Look.' } })
    expect(failed.error, JSON.stringify(next)).not.toHaveProperty('next')
    expect((await lead(next, false)).output, JSON.stringify(next)).not.toHaveProperty('next')
  }
})
