import { describe, expect, it } from 'vitest'
import { bootKernel, tempWorkspace } from 'vtcode/test'

const manifest = (name: string, module: string) =>
  `name: ${name}\ndescription: A test.\neffects: []\nmodule: ${module}\n`

describe('loading of a module', () => {
  it('loads TypeScript where the manifest names the built JavaScript', async () => {
    await using plugins = await tempWorkspace({
      'typed.yaml': manifest('typed', './typed.js'),
      'typed.ts': `import { ok, VtError, type Handler } from 'vtcode'
        import { double } from './double.ts'
        enum Size { Small = 2 }
        const handler: Handler<{}, { size: number; same: boolean }> = () => ok({ size: double(Size.Small), same: new VtError({ code: 'X', message: 'x', hint: '', retryable: false }) instanceof Error })
        export default handler`,
      'double.ts': 'export const double = (n: number): number => n * 2',
    })
    await using booted = await bootKernel({ manifests: [plugins.root] })
    expect(await booted.call('typed')).toMatchObject({ ok: true, output: { size: 4, same: true } })
  })

  it('resolves `vtcode` in a module to the running program, so that its errors are recognised', async () => {
    await using plugins = await tempWorkspace({
      'throws.yaml': manifest('throws', './throws.mjs'),
      'throws.mjs': `import { problem } from 'vtcode'\nexport default () => { throw problem('VT_PATH_NOT_FOUND', { path: 'a.txt' }) }`,
    })
    await using booted = await bootKernel({ manifests: [plugins.root] })
    expect(await booted.call('throws')).toMatchObject({
      ok: false,
      error: { code: 'VT_PATH_NOT_FOUND', message: expect.stringContaining('a.txt') },
    })
  })

  it('imports a module once, on the first call', async () => {
    await using plugins = await tempWorkspace({
      'eager.yaml': manifest('eager', './eager.js'),
      'eager.js': `globalThis.imported = (globalThis.imported ?? 0) + 1\nexport default () => ({ ok: true, output: {} })`,
    })
    const imported = () => (globalThis as Record<string, unknown>)['imported']
    await using booted = await bootKernel({ manifests: [plugins.root] })
    expect(booted.kernel.list().map(({ slot }) => slot)).toContain('eager')
    expect(imported()).toBeUndefined()
    await Promise.all([booted.call('eager'), booted.call('eager')])
    expect(imported()).toBe(1)
  })

  it('calls a tool by its slot `tool/action` alone', async () => {
    await using booted = await bootKernel({ manifests: ['test/fixtures/plugins'] })
    expect(await booted.call('talk/whisper', { text: 'x' })).toMatchObject({ ok: true })
  })
})

describe('result of a foreign module', () => {
  const answers: [string, string, string][] = [
    ['is nothing at all', `() => null`, 'VT_CALL_BAD_RESULT'],
    ['is no result', `() => 'hello'`, 'VT_CALL_BAD_RESULT'],
    ['has no output', `() => ({ ok: true })`, 'VT_CALL_BAD_RESULT'],
    ['holds a function', `() => ({ ok: true, output: { f() {} } })`, 'VT_CALL_BAD_RESULT'],
    [
      'is circular',
      `() => { const output = {}; output.self = output; return { ok: true, output } }`,
      'VT_CALL_BAD_RESULT',
    ],
    [
      'has a getter that throws',
      `() => ({ ok: true, output: { get x() { throw new Error('boo') } } })`,
      'VT_CALL_BAD_RESULT',
    ],
    ['holds a promise', `() => ({ ok: true, output: { later: new Promise(() => {}) } })`, 'VT_CALL_BAD_RESULT'],
    ['is over 32 MiB', `() => ({ ok: true, output: { x: 'x'.repeat(40 * 1024 * 1024) } })`, 'VT_CALL_BAD_RESULT'],
    ['has an error without a code', `() => ({ ok: false, error: {} })`, 'VT_CALL_BAD_RESULT'],
    ['has an undeclared code', `() => ({ ok: false, error: { code: 'OTHER_CODE', message: 'x' } })`, 'VT_CALL_FAILED'],
    [
      'has a code of its manifest',
      `() => ({ ok: false, error: { code: 'ANSWER_LATE', message: 'x' } })`,
      'ANSWER_LATE',
    ],
  ]
  it.each(answers)('maps a result that %s to %s', async (_, body, code) => {
    await using plugins = await tempWorkspace({
      'answer.yaml': `${manifest('answer', './answer.js')}errors: { ANSWER_LATE: { hint: Come earlier., retryable: true } }\n`,
      'answer.js': `export default ${body}`,
    })
    await using booted = await bootKernel({ manifests: [plugins.root] })
    const result = await booted.call('answer')
    expect(result).toMatchObject({ ok: false, error: { code } })
    if (code === 'ANSWER_LATE') expect(result).toMatchObject({ error: { hint: 'Come earlier.', retryable: true } })
  })
})
