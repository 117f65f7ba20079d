import { describe, expect, it } from 'vitest'
import { bootKernel, tempWorkspace } from 'vtcode/test'

const write = (path: string) => ['unified_file', { action: 'write', path, content: 'x' }] as const
const denied = { ok: false, error: { code: 'VT_POLICY_DENIED' } }

describe('mode of a call', () => {
  it('applies the mode of a call to that call alone', async () => {
    await using one = await bootKernel({ mode: 'auto' })
    expect(await one.kernel.call(...write('a'), { mode: 'plan' })).toMatchObject(denied)
    expect(await one.kernel.explain(...write('a'), { mode: 'plan' })).toMatchObject({ mode: 'plan', verdict: 'deny' })
    expect(await one.kernel.explain('unified_file', { action: 'write' }, { mode: 'plan' })).toMatchObject({
      mode: 'plan',
      verdict: 'refused',
    })
    expect(await one.read('a')).toBeUndefined()
    expect(await one.kernel.call(...write('a'))).toMatchObject({ ok: true })
  })

  it("allows a call a looser mode than the kernel's, but none above max_mode", async () => {
    await using asks = await bootKernel({ mode: 'ask' })
    expect(await asks.kernel.call(...write('a'), { mode: 'auto' })).toMatchObject({ ok: true })
    await using limited = await bootKernel({ mode: 'plan', config: { policy: { max_mode: 'ask' } } })
    expect(await limited.kernel.call(...write('a'), { mode: 'auto' })).toMatchObject({
      ok: false,
      error: { code: 'VT_POLICY_NEEDS_APPROVAL' },
    })
    expect(await limited.kernel.explain(...write('a'), { mode: 'full-auto' })).toMatchObject({
      mode: 'ask',
      verdict: 'ask',
    })
  })

  it('grants full-auto only if own settings or the command line enable it, and maps an unknown mode to plan', async () => {
    await using one = await bootKernel({ mode: 'ask', config: { automation: { full_auto: { enabled: false } } } })
    await using enabled = await bootKernel({ mode: 'ask', config: { automation: { full_auto: { enabled: true } } } })
    await using started = await bootKernel({ mode: 'full-auto' })
    expect([one, enabled, started].map(({ kernel }) => kernel.inspection.resolveMode('full-auto'))).toEqual([
      'auto',
      'full-auto',
      'full-auto',
    ])
    expect(await one.kernel.explain(...write('a'), { mode: 'full-auto' })).toMatchObject({
      mode: 'auto',
      verdict: 'run',
    })
    expect(await one.kernel.call(...write('a'), { mode: 'loose' as never })).toMatchObject(denied)
    expect([one.kernel.inspection.resolveMode(), started.kernel.inspection.resolveMode()]).toEqual(['ask', 'full-auto'])
  })

  it('applies the mode of a call to its nested calls, which cannot loosen it', async () => {
    const manifest = 'name: writer\ndescription: Calls.\neffects: [read, write]\nmodule: ./calls.js\ninput: {}\n'
    const body =
      "export default async (call, context) => ({ ok: true, output: { result: await context.call('unified_file', { action: 'write', path: 'b', content: 'x' }, { mode: 'auto' }) } })\n"
    await using writer = await tempWorkspace({ 'writer.yaml': manifest, 'calls.js': body })
    await using one = await bootKernel({ manifests: [writer.root], mode: 'auto' })
    const through = await one.kernel.call('writer', {}, { mode: 'ask', approve: ({ call }) => call.slot === 'writer' })
    expect(through).toMatchObject({
      ok: true,
      output: { result: { ok: false, error: { code: 'VT_POLICY_NEEDS_APPROVAL' } } },
    })
    expect(await one.read('b')).toBeUndefined()
    expect(await one.kernel.call('writer', {}, { approve: () => true })).toMatchObject({
      ok: true,
      output: { result: { ok: true } },
    })
  })

  it('limits each requested mode to what the settings permit', async () => {
    const permitted = async (config: object): Promise<string> => {
      await using vt = await bootKernel({
        mode: 'auto',
        config: { automation: { full_auto: { enabled: false } }, ...config },
      })
      return (['plan', 'ask', 'auto', 'full-auto'] as const)
        .map((one) => vt.kernel.inspection.resolveMode(one))
        .join(' ')
    }
    expect(await permitted({})).toBe('plan ask auto auto')
    expect(await permitted({ policy: { max_mode: 'ask' } })).toBe('plan ask ask ask')
    expect(await permitted({ automation: { full_auto: { enabled: true } } })).toBe('plan ask auto full-auto')
  })
})
