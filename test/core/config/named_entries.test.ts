import { describe, expect, it } from 'vitest'
import { merge, type SettingsSource } from '../../../build/core/config/index.js'
import { readContract } from '../../../build/core/schema/index.js'

type Data = Record<string, unknown>
type Schema = Data & { properties?: Record<string, Schema>; additionalProperties?: unknown; items?: Schema }
const schema = readContract('config.1.json') as Schema
const isSchema = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Every map of the settings whose keys somebody chooses, and every list that is merged by name, with what a workspace may do there. */
function named(node: Schema, path: string[] = [], may = 'free'): { path: string; may: string }[] {
  const here = (node['x-workspace'] as string | undefined) ?? may
  const own =
    isSchema(node.additionalProperties) || node['x-merge'] === 'by-name' ? [{ path: path.join('.'), may: here }] : []
  return [
    ...own,
    ...Object.entries(node.properties ?? {}).flatMap(([key, child]) => named(child, [...path, key], here)),
  ]
}
const all = named(schema)

const at = (path: string, value: unknown): Data =>
  path.split('.').reduceRight<unknown>((inner, key) => ({ [key]: inner }), value) as Data
const of = (value: unknown, path: string): unknown =>
  path.split('.').reduce<unknown>((inner, key) => (inner as Data | undefined)?.[key], value)
const agreed = (value: Data): SettingsSource => ({ layer: 'workspace', file: 'theirs', value, isTrusted: () => true })
const both = (path: string, user: unknown, theirs: unknown) =>
  merge(schema, [{ layer: 'user', file: 'mine', value: at(path, user) }, agreed(at(path, theirs))])

/** An entry that the user has, one of a repository under the same name, and what becomes of them once the user agreed. */
const entries: Record<string, [user: unknown, theirs: unknown, becomes: unknown]> = {
  use: [{ 'a/b': 'mine' }, { 'a/b': 'theirs' }, { 'a/b': 'mine' }],
  // Limits of one slot are those of both: they open nothing and send nothing.
  'policy.constraints': [
    { 'a/b': { max_results_per_call: 9 } },
    { 'a/b': { max_results_per_call: 99 } },
    { 'a/b': { max_results_per_call: 9 } },
  ],
  hooks: [
    {
      PreToolUse: [
        {
          matcher: 'x',
          hooks: [{ type: 'http', url: 'https://mine.example', headers: { a: '$KEY' }, allowedEnvVars: ['KEY'] }],
        },
      ],
    },
    { PreToolUse: [{ matcher: 'x', hooks: [{ type: 'http', url: 'https://theirs.example' }] }] },
    {
      PreToolUse: [
        {
          matcher: 'x',
          hooks: [{ type: 'http', url: 'https://mine.example', headers: { a: '$KEY' }, allowedEnvVars: ['KEY'] }],
          layer: 'user',
        },
        { matcher: 'x', hooks: [{ type: 'http', url: 'https://theirs.example' }], layer: 'workspace' },
      ],
    },
  ],
  'mcp.servers': [
    {
      y: {
        url: 'https://mine.example',
        headers: { Authorization: 'Bearer secret' },
        auth: { type: 'bearer', value: { env: 'KEY' } },
      },
    },
    { y: { url: 'https://theirs.example' } },
    {
      y: {
        url: 'https://mine.example',
        headers: { Authorization: 'Bearer secret' },
        auth: { type: 'bearer', value: { env: 'KEY' } },
      },
    },
  ],
  custom_providers: [
    [{ name: 'p', base_url: 'https://mine.example', api_key_env: 'KEY', headers: { a: 'secret' } }],
    [{ name: 'p', base_url: 'https://theirs.example' }],
    [{ name: 'p', base_url: 'https://mine.example', api_key_env: 'KEY', headers: { a: 'secret' }, layer: 'user' }],
  ],
}

describe("entry of a repository with the name of a user's entry", () => {
  it('permits entries of a repository only in the listed maps and lists', () => {
    expect(
      all
        .filter(({ may }) => may !== 'own')
        .map(({ path }) => path)
        .sort(),
    ).toEqual(Object.keys(entries).sort())
    expect(all.filter(({ may }) => may === 'own').length).toBeGreaterThan(5)
  })
  it.each(Object.entries(entries))(
    "inherits no field from the user's entry of that name, with or without consent: %s",
    (path, [user, theirs, becomes]) => {
      expect(of(both(path, user, theirs).settings, path)).toMatchObject(becomes as object)
      const unagreed = merge(schema, [
        { layer: 'user', file: 'mine', value: at(path, user) },
        { ...agreed(at(path, theirs)), isTrusted: () => false },
      ])
      expect(JSON.stringify(unagreed.settings)).not.toContain('theirs.example')
      // A later layer does not inherit from the entry of the repository either.
      const after = merge(schema, [agreed(at(path, theirs)), { layer: 'call', file: 'call', value: at(path, user) }])
      const said = JSON.stringify(of(after.settings, path))
      const mixed = path !== 'hooks' && said.includes('theirs.example') && /secret|KEY/.test(said)
      expect([path, mixed]).toEqual([path, false])
    },
  )
  it.each(all.filter(({ may }) => may === 'own').map(({ path }) => [path]))(
    'ignores and reports an entry in a setting that belongs to the user: %s',
    (path) => {
      const isMap = path !== 'secrets'
      const user = isMap ? { n: { a: 'mine' } } : { n: { env: 'MINE' } }
      const { settings, diagnostics } = both(path, user, { n: { a: 'theirs', b: 'theirs' }, m: { a: 'theirs' } })
      expect(of(settings, path)).toMatchObject(of(both(path, user, {}).settings, path) as object)
      expect(JSON.stringify(settings)).not.toContain('theirs')
      expect(diagnostics.map(({ code }) => code)).toContain('VT_CONFIG_OWN_ONLY')
    },
  )
})
