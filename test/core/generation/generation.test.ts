import { describe, expect, it } from 'vitest'
import { createKernel, type Kernel, type KernelOptions } from 'vtcode'
import { tempWorkspace } from 'vtcode/test'

const user = '../home/.vtcode/vtcode.config.yaml'
/** The mode a program would run in, and the codes of what it says about it. */
async function started(
  files: Record<string, string>,
  options: KernelOptions = {},
): Promise<[mode: string, ...codes: string[]]> {
  await using made = await tempWorkspace(files)
  const kernel: Kernel = await createKernel({
    workspace: made.root,
    home: made.home,
    env: { PATH: process.env['PATH'] },
    ...options,
  })
  const said = [kernel.settings.policy.mode, ...kernel.diagnostics().map(({ code }) => code)] as [string, ...string[]]
  await kernel.close()
  return said
}

describe('start in full-auto', () => {
  it.each<[string, Record<string, string>, KernelOptions, string[]]>([
    ['in full-auto when the command line asks for it', {}, { mode: 'full-auto' }, ['full-auto']],
    [
      'in full-auto when own settings name and enable it',
      { [user]: 'policy: { mode: full-auto }\nautomation: { full_auto: { enabled: true } }' },
      {},
      ['full-auto'],
    ],
    [
      'in auto when own settings name full-auto but do not enable it',
      { [user]: 'policy: { mode: full-auto }' },
      {},
      ['auto', 'VT_POLICY_FULL_AUTO'],
    ],
    [
      'in auto when a variable names full-auto and nothing enables it',
      {},
      { env: { VTCODE__POLICY__MODE: 'full-auto' } },
      ['auto', 'VT_POLICY_FULL_AUTO'],
    ],
    [
      'in the default mode when only a workspace names full-auto',
      { 'vtcode.config.yaml': 'policy: { mode: full-auto }\nautomation: { full_auto: { enabled: true } }' },
      {},
      ['ask', 'VT_CONFIG_LOOSENS', 'VT_CONFIG_LOOSENS'],
    ],
    [
      'in auto when only a workspace enables the full-auto of its user',
      { [user]: 'policy: { mode: full-auto }', 'vtcode.config.yaml': 'automation: { full_auto: { enabled: true } }' },
      {},
      ['auto', 'VT_CONFIG_LOOSENS', 'VT_POLICY_FULL_AUTO'],
    ],
    [
      'within max_mode when the command line asks for full-auto',
      { [user]: 'policy: { max_mode: ask }' },
      { mode: 'full-auto' },
      ['ask'],
    ],
  ])('starts %s', async (_, files, options, expected) => {
    expect(await started(files, options)).toEqual(expected)
  })
})

describe('mode of a running kernel', () => {
  it('keeps tools from changing the mode: denies their writes and ignores the files', async () => {
    await using made = await tempWorkspace()
    const kernel = await createKernel({
      workspace: made.root,
      home: made.home,
      env: { PATH: process.env['PATH'] },
      mode: 'plan',
      config: { sandbox: { mode: 'off' } },
    })
    const raise = 'policy: { mode: full-auto, max_mode: full-auto }\nautomation: { full_auto: { enabled: true } }\n'
    const attempts: [string, object][] = [
      ['unified_file', { action: 'write', path: 'vtcode.config.yaml', content: raise }],
      ['unified_file', { action: 'write', path: '.vtcode/config.yaml', content: raise }],
      ['unified_exec', { action: 'run', command: `printf '${raise}' > vtcode.config.yaml` }],
      ['unified_exec', { action: 'run', command: 'vtcode --mode full-auto call unified_file delete --path a' }],
    ]
    for (const [tool, input] of attempts)
      expect(await kernel.call(tool, input, { approve: () => true })).toMatchObject({
        ok: false,
        error: { code: 'VT_POLICY_DENIED' },
      })
    await made.write('vtcode.config.yaml', raise)
    await kernel.reload()
    expect(kernel.settings.policy.mode).toBe('plan')
    expect(kernel.list().filter(({ slot }) => /mode/.test(slot))).toEqual([])
    await kernel.close()
  })
})
