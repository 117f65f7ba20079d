import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { addUsage, noUsage, reducedForGoogle, sizeOf, withTimeouts } from '../../../../build/plugins/agent/model/index.js'
import { fc } from '../../../support/property.js'

type Schema = Record<string, unknown>

describe('a schema for a format that carries a part of them', () => {
  const leaf = fc.constantFrom<Schema>({ type: 'string' }, { type: 'string', enum: ['a'] }, { type: 'integer', enum: [1, 2] }, { enum: ['a', 1] }, { const: null }, { $ref: '#/$defs/a' }, { $ref: '#/$defs/b' }, { $ref: '#/$defs/none' }, { $ref: 'https://x/' }, {})
  const schema = fc.letrec<{ node: Schema }>((tie) => ({
    node: fc.oneof({ depthSize: 'small' }, leaf, tie('node').map((items) => ({ type: 'array', items })), fc.dictionary(fc.constantFrom('enum', '$ref', 'const', 'x'), tie('node'), { maxKeys: 3, noNullPrototype: true }).map((properties) => ({ type: 'object', properties }))),
  })).node
  /** Every schema in it, names of properties left aside. */
  const all = (value: Schema): Schema[] => [
    value,
    ...(value['items'] ? all(value['items'] as Schema) : []),
    ...Object.values((value['properties'] ?? {}) as Record<string, Schema>).flatMap(all),
  ]

  it('has no reference and no list of mixed values, keeps every property, and says whether anything was left out', () => {
    fc.assert(
      fc.property(schema, schema, schema, (root, a, b) => {
        const whole = { ...root, $defs: { a, b } }
        const text = JSON.stringify(whole)
        const { schema, lost } = reducedForGoogle(whole)
        expect(JSON.stringify(whole)).toBe(text)
        for (const one of all(schema as Schema)) {
          expect([typeof one['$ref'], one['$defs']]).toEqual(['undefined', undefined])
          if (Array.isArray(one['enum'])) expect(new Set(one['enum'].map((value) => typeof value)).size).toBe(1)
        }
        const names = (value: Schema) => Object.keys((value['properties'] ?? {}) as object)
        if (root['$ref'] === undefined) expect(names(schema as Schema)).toEqual(names(root))
        expect(reducedForGoogle(schema as Schema)).toEqual({ schema, lost: false })
        if (!/"\$ref"|"enum"|"const"/.test(text)) expect([schema, lost]).toEqual([root, false])
      }),
    )
    expect([{ $ref: '#' }, { enum: ['a', 1] }, { const: null }].map((one) => reducedForGoogle(one).lost)).toEqual([true, true, true])
  })
  it('writes out what is referred to, and stops where that runs in a circle', () => {
    const tree = { type: 'object', properties: { child: { $ref: '#/$defs/tree', description: 'd' } } }
    const { schema, lost } = reducedForGoogle({ $ref: '#/$defs/tree', $defs: { tree } })
    expect([schema, lost]).toEqual([{ type: 'object', properties: { child: { description: 'd' } } }, true])
  })
})

describe('the time of a request', () => {
  const never = () => new AbortController().signal
  const times = (first_ms: number, total_ms: number) => ({ first_ms, total_ms, told_ms: total_ms })

  it('goes on while there are signs of life, and ends with silence, with its whole time or with the caller', async () => {
    const speak = async (times: number, signal: AbortSignal, alive: (stage: 'idle', ms: number) => void) => {
      for (let n = 0; n < times; n++) {
        await sleep(40, undefined, { signal })
        alive('idle', 200)
      }
      return 'said'
    }
    await expect(withTimeouts(never(), times(200, 5000), (signal, alive) => speak(8, signal, alive))).resolves.toBe('said')
    await expect(withTimeouts(never(), times(20, 5000), (signal) => sleep(1000, undefined, { signal }))).rejects.toMatchObject({ stage: 'first_token', message: 'no first token for 20 ms' })
    await expect(withTimeouts(never(), times(1000, 5000), async (signal, alive) => (alive('idle', 20), sleep(1000, undefined, { signal })))).rejects.toMatchObject({ stage: 'idle' })
    await expect(withTimeouts(never(), times(1000, 100), (signal, alive) => speak(50, signal, alive))).rejects.toMatchObject({ stage: 'total', message: 'no complete answer for 100 ms' })
    const reason = new Error('enough')
    await expect(withTimeouts(AbortSignal.abort(reason), times(1000, 5000), () => new Promise(() => {}))).rejects.toBe(reason)
    const own = new Error('of the work')
    await expect(withTimeouts(never(), times(1000, 5000), () => Promise.reject(own))).rejects.toBe(own)
  })
})

it('what was used adds up in any order, and an estimate stays one', () => {
  const count = fc.nat({ max: 99 })
  const usage = fc.record({ input_tokens: count, cached_input_tokens: count, cache_creation_tokens: count, output_tokens: count, reasoning_tokens: count, estimated: fc.constant(true as const) }, { requiredKeys: ['input_tokens', 'cached_input_tokens', 'cache_creation_tokens', 'output_tokens'], noNullPrototype: true })
  fc.assert(
    fc.property(usage, usage, usage, (a, b, c) => {
      expect(addUsage(addUsage(a, b), c)).toEqual(addUsage(a, addUsage(c, b)))
      expect(addUsage(a, noUsage)).toEqual(a)
      expect(addUsage(a, b).estimated).toBe(a.estimated ?? b.estimated)
    }),
  )
  const message = (text: string) => ({ role: 'user' as const, parts: [{ type: 'text' as const, text }] })
  expect(sizeOf([message('a'), message('b c')])).toBe(sizeOf([message('a')]) + sizeOf([message('b c')]))
})
