import { describe, expect, it } from 'vitest'
import type { Config } from 'vtcode'
import { bootKernel, tempWorkspace } from 'vtcode/test'
import { fileURLToPath } from 'node:url'
import { compile, findSchemaProblem } from '../../../build/core/schema/index.js'
import { fc, runs } from '../../support/property.js'

const fixture = fileURLToPath(new URL('../../fixtures/mcp/server.mjs', import.meta.url))

/** A chain of definitions, each of which leads to the next twice. */
const chain = (length: number, link: (next: { $ref: string }) => object) => {
  const defs = Object.fromEntries(Array.from({ length }, (_, n) => [`a${n}`, link({ $ref: `#/$defs/a${n + 1}` })]))
  return {
    type: 'object',
    properties: { x: { $ref: '#/$defs/a0' } },
    $defs: { ...defs, [`a${length}`]: { type: 'string' } },
  }
}
const hostile: [string, object][] = [
  ['anyOf', chain(20, (next) => ({ anyOf: [next, next] }))],
  ['oneOf and allOf', chain(20, (next) => ({ oneOf: [next, { allOf: [next] }] }))],
  ['not and if', chain(20, (next) => ({ not: next, if: next }))],
  ['dependencies', chain(20, (next) => ({ dependencies: { a: next, b: next } }))],
  ['dependentSchemas', chain(20, (next) => ({ dependentSchemas: { a: next, b: next } }))],
  [
    'itself',
    { type: 'object', properties: { x: { $ref: '#/$defs/a' } }, $defs: { a: { anyOf: [{ $ref: '#/$defs/a' }] } } },
  ],
  ['its root', { type: 'object', allOf: [{ $ref: '#' }] }],
  [
    'many uses of a large part',
    {
      type: 'object',
      properties: Object.fromEntries(Array.from({ length: 150 }, (_, n) => [`p${n}`, { $ref: '#/$defs/large' }])),
      $defs: { large: { anyOf: Array.from({ length: 900 }, () => ({ type: 'string' })) } },
    },
  ],
  [
    'nesting',
    JSON.parse('{"type":"object","properties":{"x":' + '{"not":'.repeat(500) + '{}' + '}'.repeat(500) + '}}'),
  ],
  ['a dynamic reference', { type: 'object', properties: { x: { $dynamicRef: '#a' } } }],
  ['a reference to elsewhere', { type: 'object', properties: { x: { $ref: 'https://example.org/schema' } } }],
]
const tree = {
  type: 'object',
  properties: { node: { $ref: '#/$defs/node' } },
  $defs: {
    node: {
      type: 'object',
      properties: { name: { type: 'string' }, children: { type: 'array', items: { $ref: '#/$defs/node' } } },
      additionalProperties: false,
    },
  },
}

describe('cost of a foreign schema', () => {
  it.each(hostile)(
    'refuses a schema that multiplies by %s when it is read and when it is compiled',
    async (_, schema) => {
      expect(findSchemaProblem(schema as never)).toMatch(/multiplies|without end|levels deep|refers to|\$dynamicRef/)
      await expect(compile(schema as never, 's')).rejects.toMatchObject({ code: 'VT_SCHEMA_INVALID' })
    },
  )
  it('checks values against a schema that recurses through their parts', async () => {
    const check = await compile(tree as never, 'tree')
    const deep = (levels: number): object => ({ name: 'n', children: levels > 0 ? [deep(levels - 1), deep(0)] : [] })
    expect(check({ node: deep(40) })).toEqual([])
    expect(check({ node: { name: 'n', children: [{ name: 1 }] } })).toHaveLength(1)
    const wide = { name: 'n', children: Array.from({ length: 50_000 }, () => ({ name: 'leaf', children: [] })) }
    expect(check({ node: wide })).toEqual([])
  })
  it('ends a check whose cost grows with the depth of the value at the depth limit', async () => {
    const branch = (kind: string) => ({
      type: 'object',
      properties: { kind: { const: kind }, child: { $ref: '#/$defs/node' } },
    })
    const check = await compile(
      {
        type: 'object',
        properties: { node: { $ref: '#/$defs/node' } },
        $defs: { node: { oneOf: ['a', 'b', 'c', 'd'].map(branch) } },
      } as never,
      'union',
    )
    const deep = (levels: number): object => (levels > 0 ? { kind: 'a', child: deep(levels - 1) } : { kind: 'b' })
    expect(check({ node: deep(3) })).toEqual([])
    expect(() => check({ node: deep(40) })).toThrow(expect.objectContaining({ code: 'VT_INPUT_TOO_LARGE' }))
    const unique = await compile(
      { type: 'object', properties: { list: { type: 'array', uniqueItems: true } } } as never,
      'unique',
    )
    expect(unique({ list: [{ a: 1 }, { a: 2 }] })).toEqual([])
    expect(() => unique({ list: Array.from({ length: 200_000 }, (_, a) => ({ a })) })).toThrow(
      expect.objectContaining({ code: 'VT_INPUT_TOO_LARGE' }),
    )
  })
  it('judges, compiles and uses a schema of any shape in bounded time', async () => {
    const names = ['a', 'b', 'c', 'd', 'e']
    const part: fc.Arbitrary<object> = fc.letrec((tie) => ({
      part: fc.oneof(
        { maxDepth: 4 },
        fc.constantFrom(...names).map((name) => ({ $ref: `#/$defs/${name}` })),
        fc.constantFrom({ type: 'string' }, { type: 'integer' }, {}),
        fc.record({ anyOf: fc.array(tie('part'), { minLength: 1, maxLength: 4 }) }),
        fc.record({ allOf: fc.array(tie('part'), { minLength: 1, maxLength: 4 }) }),
        fc.record({ properties: fc.dictionary(fc.constantFrom(...names), tie('part')) }),
        fc.record({ items: tie('part') }),
        fc.record({ not: tie('part') }),
      ),
    })).part as fc.Arbitrary<object>
    const value = fc.jsonValue({ maxDepth: 6 })
    await fc.assert(
      fc.asyncProperty(
        fc.tuple(part, part, part, part, part),
        fc.array(value, { maxLength: 3 }),
        async (defs, values) => {
          const schema = {
            type: 'object',
            properties: { a: { $ref: '#/$defs/a' } },
            $defs: Object.fromEntries(names.map((name, at) => [name, defs[at]])),
          }
          if (findSchemaProblem(schema as never) !== undefined) return
          const check = await compile(schema as never, 's')
          for (const one of values) {
            try {
              expect(Array.isArray(check({ a: one }))).toBe(true)
            } catch (error) {
              expect(error).toMatchObject({ code: 'VT_INPUT_TOO_LARGE' })
            }
          }
        },
      ),
      { numRuns: runs(200) },
    )
  })
})

it('leaves out a tool with such a schema, names it, and keeps its siblings working', async () => {
  const tool = (name: string, inputSchema: object) => ({ name, description: `The tool ${name}.`, inputSchema })
  await using place = await tempWorkspace({
    'tools.json': JSON.stringify([...hostile.map(([, schema], n) => tool(`bad_${n}`, schema)), tool('echo', tree)]),
  })
  const bad = JSON.stringify({
    name: 'mine',
    description: 'Mine.',
    effects: ['read'],
    run: ['true'],
    input: hostile[0]![1],
  })
  await using planted = await tempWorkspace({ 'mine.yaml': bad })
  const config = {
    automation: { full_auto: { enabled: true, allowed_tools: ['read', 'write', 'exec', 'net', 'mcp__*'] } },
    mcp: { servers: { s: { command: process.execPath, args: [fixture, place.root] } } },
  } as Config
  await using vt = await bootKernel({ config, manifests: [`${planted.root}/mine.yaml`] })
  expect(
    vt.kernel
      .list()
      .map(({ slot }) => slot)
      .filter((slot) => slot.startsWith('mcp__') || slot === 'mine'),
  ).toEqual(['mcp__s__echo'])
  expect(vt.kernel.diagnostics().filter(({ code }) => code === 'VT_SCHEMA_INVALID')).toHaveLength(hostile.length + 1)
  expect(await vt.call('mcp__s__echo', { node: { name: 'n', children: [{ name: 'm' }] } })).toMatchObject({ ok: true })
})
