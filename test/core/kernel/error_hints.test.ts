import { describe, expect, it } from 'vitest'
import { bootKernel } from 'vtcode/test'
import { hold } from '../../support/inside.js'

// Every tool of a vocabulary is called wrongly in every field; the checks of a call then judge the next calls of its errors.
const wrong = [{ wrong: [] }, 'no such value', -5, '../../out']

/** `a='b', c=[1, 'd']`, as the vocabulary of another agent writes an input. */
const asInput = (words: string): unknown =>
  JSON.parse(`{${words.replace(/(\w+)=(?=['[\d])/g, '"$1":').replaceAll("'", '"')}}`)

describe.each(['unified', 'classic', 'omp', 'thndrs', 'each'])('errors in the %s dialect', (dialect) => {
  it('gives a hint with every error, and its example and next call pass the checks', async () => {
    const { kernel } = hold(
      await bootKernel({ files: { 'a.txt': 'one\n', 'src/a.ts': 'export const a = 1\n' }, dialects: [dialect] }),
    )
    const faults: string[] = []
    let told = 0
    const passes = async (from: string, tool: string, input: unknown) => {
      told += 1
      const { verdict, reason } = await kernel.explain(tool, input)
      if (verdict === 'refused') faults.push(`${from} → ${tool} ${JSON.stringify(input)}: ${reason}`)
    }
    const provoke = async (tool: string, input: object) => {
      const result = await kernel.call(tool, input)
      if (result.ok) return
      const { code, hint, next } = result.error
      const from = `${code} of ${tool} ${JSON.stringify(input)}`
      if (hint === '') faults.push(`${from}: no hint`)
      if (next) await passes(from, next.tool, next.input)
      const [, name, example] = /Example: (\w+) (\{.*\})/.exec(hint) ?? []
      if (name !== undefined) await passes(from, name, JSON.parse(example!))
      const [, called, words] = /Example: (\w+)\((.*)\)$/.exec(hint) ?? []
      if (called !== undefined) await passes(from, called, asInput(words!))
    }
    for (const { name, input } of kernel.tools()) {
      const { properties = {} } = input as { properties?: Record<string, { enum?: string[] }> }
      const { action, ...fields } = properties
      for (const one of action?.enum ?? [undefined]) {
        const base = one === undefined ? {} : { action: one }
        await provoke(name, base)
        await provoke(name, { ...base, nonsense: 1 })
        for (const field of Object.keys(fields))
          for (const value of wrong) await provoke(name, { ...base, [field]: value })
      }
      if (action) await provoke(name, { action: 'gerp' })
      await provoke(`${name}x`, {})
    }
    expect(faults).toEqual([])
    expect(told).toBeGreaterThan(10)
  })
})
