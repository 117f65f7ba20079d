import { describe, expect, it } from 'vitest'
import { compile, checkContract, keysByKind, handlerKeys } from '../../../build/core/schema/index.js'

describe('compile', () => {
  it('lists at most eight issues of a value, and none for a valid one', async () => {
    const check = await compile({
      type: 'object',
      properties: Object.fromEntries(Array.from({ length: 12 }, (_, n) => [`n${n}`, { type: 'integer', minimum: 1 }])),
      required: ['n0'],
      additionalProperties: false,
    })
    expect(check({ n0: 1 })).toEqual([])
    expect([
      check({}).length,
      check({ n0: 0, n1: 'x' }).length,
      check({ n0: 1, other: 1 }).length,
      check([]).length,
    ]).toEqual([1, 2, 1, 1])
    expect(check(Object.fromEntries(Array.from({ length: 12 }, (_, n) => [`n${n}`, 0]))).length).toBe(8)
  })
  it('matches patterns in linear time and refuses unsupported ones', async () => {
    const check = await compile({ type: 'string', pattern: '^a*a*$' })
    const started = performance.now()
    expect([check('aaa').length, check(`${'a'.repeat(20_000)}b`).length]).toEqual([0, 1])
    expect(performance.now() - started).toBeLessThan(10_000)
    await expect(compile({ type: 'string', pattern: '(?=a)' })).rejects.toMatchObject({ name: 'VT_SCHEMA_PATTERN' })
    await expect(compile({ type: 'nothing' }, 'mine')).rejects.toMatchObject({
      name: 'VT_SCHEMA_INVALID',
      message: expect.stringContaining('mine'),
    })
  })
})

describe('built-in schemas', () => {
  it('finds the mistakes of a document and names the key', () => {
    expect(checkContract('config.1.json', { policy: { mode: 'plan' } })).toEqual([])
    const faults = [{ policy: { modee: 'plan' } }, { polcy: {} }, { policy: { mode: 'bold' } }].map((value) =>
      checkContract('config.1.json', value),
    )
    expect(faults.map(({ length }) => length > 0)).toEqual([true, true, true])
    expect(JSON.stringify(faults[0])).toContain('modee')
  })
  it('lists the keys of each kind of manifest, its ways to run included', () => {
    const keys = keysByKind()
    expect(Object.keys(keys)).toEqual(expect.arrayContaining(['action', 'policy', 'compactor', 'adapter']))
    expect(handlerKeys('action')).toEqual(expect.arrayContaining(['module', 'alias']))
    for (const [kind, known] of Object.entries(keys))
      for (const way of handlerKeys(kind as 'action')) expect([kind, known.includes(way)]).toEqual([kind, true])
  })
})
