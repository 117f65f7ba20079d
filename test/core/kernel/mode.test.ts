import { describe, expect, it } from 'vitest'
import type { Mode } from 'vtcode'
import { bootKernel, tempWorkspace } from 'vtcode/test'

const write = { action: 'write', path: 'a.txt', content: 'x' }

describe('the mode of a call', () => {
  it('holds for that call alone, for what it explains, and for the calls that it makes', async () => {
    await using place = await tempWorkspace({
      'outer.yaml': 'name: outer\ndescription: Writes.\neffects: [read]\nmodule: ./outer.js\n',
      'outer.js': `export default async (_, { call }) => ({ ok: true, output: { inner: await call('unified_file', ${JSON.stringify(write)}) } })\n`,
    })
    await using vt = await bootKernel({ mode: 'auto', manifests: [place.root], config: { plugins: { isolate: 'inline' as never } } })
    const { kernel } = vt
    expect(await kernel.call('unified_file', write, { mode: 'plan' })).toMatchObject({ error: { code: 'VT_POLICY_DENIED' } })
    expect(await kernel.explain('unified_file', write, { mode: 'plan' })).toMatchObject({ mode: 'plan', verdict: 'deny' })
    expect(await vt.read('a.txt')).toBeUndefined()
    expect(await kernel.call('unified_file', write)).toMatchObject({ ok: true })
    expect(await kernel.call('unified_file', { ...write, content: 'y' }, { mode: 'ask' })).toMatchObject({ error: { code: 'VT_POLICY_NEEDS_APPROVAL' } })
    const nested = await kernel.call('outer', {}, { mode: 'plan' })
    expect(JSON.stringify(nested)).toMatch(/VT_POLICY_DENIED|VT_PLUGIN_EFFECT/)
    expect(await vt.read('a.txt')).toBe('x')
  })

  it('is lowered to what the settings permit', async () => {
    const permitted = async (config: object, mode: Mode = 'auto'): Promise<string> => {
      await using vt = await bootKernel({ mode, config: { automation: { full_auto: { enabled: false } }, ...config } })
      const asked: Mode[] = ['plan', 'ask', 'auto', 'full-auto']
      return asked.map((one) => vt.kernel.mode(one)).join(' ')
    }
    expect(await permitted({})).toBe('plan ask auto auto')
    expect(await permitted({ policy: { max_mode: 'ask' } })).toBe('plan ask ask ask')
    expect(await permitted({ automation: { full_auto: { enabled: true } } })).toBe('plan ask auto full-auto')
    expect(await permitted({}, 'full-auto')).toBe('plan ask auto full-auto')
    await using vt = await bootKernel({ mode: 'auto' })
    expect([vt.kernel.mode(), vt.kernel.mode('everything' as Mode)]).toEqual(['auto', 'plan'])
  })
})
