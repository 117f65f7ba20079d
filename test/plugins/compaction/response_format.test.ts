import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bootKernel, matches, tempWorkspace, type TempWorkspace } from 'vtcode/test'

let plugins: TempWorkspace
beforeAll(async () => {
  plugins = await tempWorkspace({
    'show.yaml': `action: demo/show
effects: [read]
description: Shows everything.
detailed: [top, items/*/inner, items/*/deep/gone, map/*/x, absent/*/y]
module: ./show.js
`,
    'show.js': `export default () => ({
  ok: true,
  output: { top: 1, kept: 2, items: [{ inner: 1, a: 1, deep: { gone: 1, stays: 2 } }, { a: 2 }, 'text', null], map: { one: { x: 1, y: 2 }, two: 3 } },
  text: 'short',
})\n`,
    'fail.yaml':
      'action: demo/fail\neffects: [read]\ndescription: Fails.\nmodule: ./fail.js\nerrors: { DEMO_FAIL: { message: It fails., hint: Do not call it. } }\n',
    'fail.js':
      "export default () => ({ ok: false, error: { code: 'DEMO_FAIL', message: 'It fails.', details: { top: 1 } } })\n",
  })
})
afterAll(() => plugins[Symbol.asyncDispose]())

const whole = {
  top: 1,
  kept: 2,
  items: [{ inner: 1, a: 1, deep: { gone: 1, stays: 2 } }, { a: 2 }, 'text', null],
  map: { one: { x: 1, y: 2 }, two: 3 },
}
const short = { kept: 2, items: [{ a: 1, deep: { stays: 2 } }, { a: 2 }, 'text', null], map: { one: { y: 2 }, two: 3 } }

describe('response_format', () => {
  it('drops detailed members at any depth by default and keeps the text', async () => {
    await using booted = await bootKernel({ manifests: [plugins.root] })
    expect(await booted.call('demo', { action: 'show' })).toEqual({ ok: true, output: short, text: 'short' })
    expect(await booted.call('demo', { action: 'show', response_format: 'concise' })).toEqual({
      ok: true,
      output: short,
      text: 'short',
    })
  })

  it('returns every member and no text in the detailed form', async () => {
    await using booted = await bootKernel({ manifests: [plugins.root] })
    expect(await booted.call('demo', { action: 'show', response_format: 'detailed' })).toEqual({
      ok: true,
      output: whole,
    })
  })

  it('follows the settings where the caller gives no format', async () => {
    await using booted = await bootKernel({
      manifests: [plugins.root],
      config: { output: { response_format: 'detailed' } },
    })
    expect(await booted.call('demo', { action: 'show' })).toEqual({ ok: true, output: whole })
    expect(await booted.call('demo', { action: 'show', response_format: 'concise' })).toEqual({
      ok: true,
      output: short,
      text: 'short',
    })
  })

  it('accepts response_format on every slot and only its two values', async () => {
    await using booted = await bootKernel({ manifests: [plugins.root] })
    for (const { slot, input } of booted.kernel.list())
      matches([slot, input], [slot, { properties: { response_format: { enum: ['concise', 'detailed'] } } }])
    matches(await booted.call('demo', { action: 'show', response_format: 'brief' }), {
      ok: false,
      error: { code: 'VT_INPUT_INVALID' },
    })
  })

  it('lists the field for the actions whose text leaves fields out', async () => {
    await using booted = await bootKernel({ manifests: [plugins.root] })
    const listed = booted.kernel.tools().flatMap(({ name, input }) => {
      const { response_format } = input['properties'] as Record<string, { description?: string }>
      return response_format ? [`${name}: ${response_format.description}`] : []
    })
    expect(listed).toEqual(['unified_search: grep, list, structural, web'])
  })

  it('states what a long value leaves out and continues after what it shows', async () => {
    const calls = Array.from({ length: 200 }, (_, at) => `call(${at})\n`).join('')
    await using booted = await bootKernel({ files: { 'a.ts': calls } })
    const input = {
      action: 'structural',
      pattern: 'call($A)',
      lang: 'ts',
      max_results: 150,
      response_format: 'detailed',
    }
    const result = await booted.call('unified_search', input)
    const shown = JSON.parse((result.ok && result.text) || '')
    expect(shown).toMatchObject({
      left_out: `Left out: ${150 - shown.matches.length} of 150 matches.`,
      truncated: true,
    })
    expect(shown.next.input).toEqual({ ...input, skip: shown.matches.length })
    expect(result).toMatchObject({ output: { next: { input: { skip: 150 } } } })
  })

  it('leaves failures unchanged', async () => {
    await using booted = await bootKernel({ manifests: [plugins.root] })
    matches(await booted.call('demo', { action: 'fail' }), {
      ok: false,
      error: { code: 'DEMO_FAIL', details: { top: 1 } },
    })
  })
})
