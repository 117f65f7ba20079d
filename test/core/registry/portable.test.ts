import { describe, expect, it } from 'vitest'
import { bootKernel } from 'vtcode/test'
import { fc } from '../../support/property.js'

type Schema = Record<string, unknown>
interface Tool {
  name: string
  description: string
  input: Schema
}

/** Reasons for which a service refuses a whole request, from its documents and from reports of users. */
const rules: Record<string, (tool: Tool) => string[]> = {
  // https://platform.openai.com/docs/guides/function-calling: the top is an object without alternatives, an array has items.
  openai: ({ name, input }) => [
    ...(/^[a-zA-Z0-9_-]{1,64}$/.test(name) ? [] : ['name']),
    ...top(input),
    ...every(input, (schema) =>
      schema['type'] === 'array' && typeof schema['items'] !== 'object' ? 'array without items' : undefined,
    ),
  ],
  // https://docs.anthropic.com/en/docs/agents-and-tools/tool-use: JSON Schema 2020-12, no alternatives at the top, names of properties of a pattern.
  anthropic: ({ name, input }) => [
    ...(/^[a-zA-Z0-9_-]{1,128}$/.test(name) ? [] : ['name']),
    ...top(input),
    ...every(input, (schema) =>
      Object.keys((schema['properties'] ?? {}) as Schema).find((key) => !/^[a-zA-Z0-9_.-]{1,64}$/.test(key)),
    ),
    ...every(input, (schema) => ('$ref' in schema ? 'reference' : undefined)),
  ],
  // https://ai.google.dev/api/caching#Schema: a subset of OpenAPI 3.0; each schema has a type or typed alternatives, choices are texts, what is required is there.
  google: ({ name, input }) => [
    ...(/^[a-zA-Z_][a-zA-Z0-9_.-]{0,63}$/.test(name) ? [] : ['name']),
    ...every(input, (schema) => {
      const {
        type,
        anyOf,
        enum: choices,
        required = [],
        properties = {},
      } = schema as { type?: unknown; anyOf?: unknown[]; enum?: unknown[]; required?: string[]; properties?: Schema }
      const strange = Object.keys(schema).find((key) => !known.has(key))
      if (strange) return `keyword ${strange}`
      if (typeof type !== 'string' && !(Array.isArray(anyOf) && anyOf.length > 0)) return 'no type'
      if (type !== undefined && anyOf !== undefined) return 'type beside alternatives'
      if (
        choices &&
        (type !== 'string' || choices.length === 0 || choices.some((one) => typeof one !== 'string' || one === ''))
      )
        return 'choices'
      if (type === 'array' && typeof schema['items'] !== 'object') return 'array without items'
      return required.find((one) => !Object.hasOwn(properties, one))
    }),
  ],
}
const known = new Set([
  'type',
  'format',
  'description',
  'enum',
  'items',
  'properties',
  'required',
  'anyOf',
  'minItems',
  'maxItems',
  'minimum',
  'maximum',
  'minLength',
  'maxLength',
  'pattern',
  'default',
  'additionalProperties',
])

const top = (input: Schema): string[] => [
  ...(input['type'] === 'object' && typeof input['properties'] === 'object' ? [] : ['top is no object']),
  ...['anyOf', 'oneOf', 'allOf', 'not', 'enum', '$ref', 'if'].filter((key) => key in input),
]

function every(schema: unknown, fault: (schema: Schema) => string | undefined): string[] {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema))
    return [`no schema: ${JSON.stringify(schema)}`]
  const {
    properties = {},
    items,
    anyOf = [],
    additionalProperties: others,
  } = schema as { properties?: Schema; items?: unknown; anyOf?: unknown[]; additionalProperties?: unknown }
  const below = [
    ...Object.values(properties),
    ...(items === undefined ? [] : [items]),
    ...anyOf,
    ...(typeof others === 'object' ? [others] : []),
  ]
  return [fault(schema as Schema), ...below.flatMap((one) => every(one, fault))].filter((one) => one !== undefined)
}

const faults = (tools: readonly Tool[]): string[] =>
  tools.flatMap((tool) =>
    Object.entries(rules).flatMap(([service, check]) =>
      check(tool).map((fault) => `${service}: ${tool.name}: ${fault}`),
    ),
  )

describe('tool lists for models', () => {
  it.each([[['unified']], [['each']], [['classic']], [['omp']], [['thndrs']]])(
    'lists tools in the %s dialect that OpenAI, Anthropic and Google accept',
    async (dialects) => {
      await using booted = await bootKernel({ dialects })
      const { kernel } = booted
      for (const tools of [kernel.tools(), kernel.tools({ lean: true })]) {
        expect(tools.length).toBeGreaterThan(0)
        expect(faults(tools)).toEqual([])
      }
    },
  )

  const tools = (input: unknown) => ({
    'pick.json': JSON.stringify({ name: 'pick', run: ['true'], description: 'Picks.', effects: [], input }),
  })
  const listed = async (input: unknown): Promise<Tool> => {
    await using files = await bootKernel({ files: tools(input) })
    await using booted = await bootKernel({ manifests: ['builtin', `${files.root}/pick.json`] })
    const all = [...booted.kernel.tools(), ...booted.kernel.tools({ lean: true })].filter(({ name }) => name === 'pick')
    expect(faults(all)).toEqual([])
    return all[0]!
  }

  it("translates a plugin's schema into typed, simple keywords", async () => {
    const { input } = await listed({
      type: 'object',
      required: ['word', 'gone'],
      properties: {
        word: { enum: ['a', 'b'] },
        mixed: { enum: ['a', true], description: 'Mixed.' },
        fixed: { const: 'x' },
        number: { enum: [1, 2] },
        many: { type: ['string', 'array', 'null'], items: { type: 'integer' } },
        perhaps: { oneOf: [{ type: 'string' }, { type: 'object', properties: { at: { type: 'string' } } }] },
        bounded: { type: 'integer', anyOf: [{ const: 0 }, { minimum: 250 }] },
        any: {},
        list: { type: 'array' },
        two: { $ref: '#/$defs/tree', description: 'A tree.' },
        both: { allOf: [{ $ref: '#/$defs/word' }], description: 'Both.' },
        when: { type: 'string', format: 'date-time' },
        day: { type: 'string', format: 'date', minLength: 3 },
        'not a name!': { type: 'string' },
        map: { type: 'object', additionalProperties: { $ref: '#/$defs/word' } },
      },
      $defs: {
        word: { type: 'string', minLength: 1 },
        tree: { type: 'object', properties: { child: { $ref: '#/$defs/tree' } } },
      },
    })
    const any = [{ type: 'string' }, { type: 'number' }, { type: 'boolean' }, { type: 'object' }]
    expect(input).toEqual({
      type: 'object',
      required: ['word'],
      additionalProperties: false,
      properties: {
        word: { type: 'string', enum: ['a', 'b'] },
        mixed: { type: 'string', enum: ['a'], description: 'Mixed. Also true.' },
        fixed: { type: 'string', enum: ['x'] },
        number: { type: 'number', description: 'One of 1, 2.' },
        many: { anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'integer' } }] },
        perhaps: { anyOf: [{ type: 'string' }, { type: 'object', properties: { at: { type: 'string' } } }] },
        bounded: { type: 'integer' },
        any: { anyOf: any },
        list: { type: 'array', items: { anyOf: any } },
        two: { type: 'object', properties: { child: { type: 'object' } }, description: 'A tree.' },
        both: { type: 'string', minLength: 1, description: 'Both.' },
        when: { type: 'string', format: 'date-time' },
        day: { type: 'string', minLength: 3 },
        not_a_name: { type: 'string', description: '`not a name!`' },
        map: { type: 'object', additionalProperties: { type: 'string', minLength: 1 } },
      },
    })
  })

  it('lifts the properties of alternatives to the top level', async () => {
    const { input } = await listed({
      type: 'object',
      oneOf: [
        { properties: { a: { type: 'string' } }, required: ['a'] },
        { properties: { b: { enum: ['x'] } }, required: ['b'] },
      ],
    })
    expect(input['properties']).toEqual({ a: { type: 'string' }, b: { type: 'string', enum: ['x'] } })
  })

  it('limits the size of a list for doubling and deep schemas', async () => {
    const $defs = Object.fromEntries(
      Array.from({ length: 30 }, (_, i) => [
        `d${i}`,
        { type: 'object', properties: { a: { $ref: `#/$defs/d${i + 1}` }, b: { $ref: `#/$defs/d${i + 1}` } } },
      ]),
    )
    const { input } = await listed({
      type: 'object',
      properties: { bomb: { $ref: '#/$defs/d0' } },
      $defs: { ...$defs, d30: { type: 'string' } },
    })
    expect(JSON.stringify(input).length).toBeLessThan(1_000_000)
  })

  it('follows the rules of all providers for any schema of a tool', async () => {
    const leaf = fc.constantFrom<unknown>(
      { type: 'string' },
      { enum: ['a', 1, null] },
      { const: false },
      { $ref: '#/$defs/a' },
      { $ref: '#/$defs/none' },
      {},
      { type: ['null', 'integer'] },
      { anyOf: [{}, { required: ['x'] }] },
      { format: 'uri', type: 'string' },
    )
    const schema = fc.letrec<{ node: unknown }>((tie) => ({
      node: fc.oneof(
        { depthSize: 'small' },
        leaf,
        tie('node').map((items) => ({ type: 'array', items })),
        fc
          .dictionary(fc.constantFrom('enum', 'type', 'a', 'items'), tie('node'), { maxKeys: 3, noNullPrototype: true })
          .map((properties) => ({ type: 'object', properties, required: ['a'] })),
        fc.array(tie('node'), { maxLength: 3 }).map((all) => ({ oneOf: all })),
        fc.array(tie('node'), { maxLength: 2 }).map((all) => ({ allOf: all })),
      ),
    })).node
    await fc.assert(
      fc.asyncProperty(fc.array(schema, { minLength: 8, maxLength: 8 }), async (all) => {
        await listed({
          type: 'object',
          properties: Object.fromEntries(all.map((one, at) => [`p${at}`, one])),
          $defs: { a: all[0] },
        })
      }),
      { numRuns: 10 },
    )
  })
})
