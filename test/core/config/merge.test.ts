import { describe, expect, it, vi } from 'vitest'
import { readContract } from '../../../build/core/schema/index.js'
import { collectDefaults, merge, type SettingsSource } from '../../../build/core/config/index.js'
import { isAsStrict } from '../../../build/core/config/index.js'
import { fc } from '../../support/property.js'

type Data = Record<string, unknown>
type Schema = Data & { properties?: Record<string, Schema> }
const schema = readContract('config.1.json') as Schema
const source = (layer: SettingsSource['layer'], value: Data, file: string = layer): SettingsSource => ({
  layer,
  file,
  value,
})
const lay = (...sources: SettingsSource[]) => merge(schema, sources)

/** Every leaf of the settings: where it is, its schema and what a workspace may do with it. */
function leaves(
  node: Schema,
  path: string[] = [],
  standing = 'free',
): { path: string[]; node: Schema; standing: string }[] {
  const here = (node['x-workspace'] as string | undefined) ?? standing
  if (!node.properties) return [{ path, node, standing: here }]
  return Object.entries(node.properties).flatMap(([key, property]) => leaves(property, [...path, key], here))
}
const all = leaves(schema).filter(({ path }) => path[0] !== '$schema' && path[0] !== 'version')
const of = (value: unknown, path: readonly string[]) =>
  path.reduce<unknown>((inner, key) => (inner as Data | undefined)?.[key], value)
const at = (path: readonly string[], value: unknown) =>
  path.reduceRight<unknown>((inner, key) => ({ [key]: inner }), value) as Data

/** A value that fits the schema of a leaf. */
function fitting(node: Schema): fc.Arbitrary<unknown> {
  const numbers = { min: Number(node['minimum'] ?? -10), max: Number(node['maximum'] ?? 100_000) }
  if (node['enum']) return fc.constantFrom(...(node['enum'] as unknown[]))
  if (node['type'] === 'integer') return fc.integer(numbers)
  if (node['type'] === 'number') return fc.double({ ...numbers, noNaN: true })
  if (node['type'] === 'boolean') return fc.boolean()
  if (node['type'] === 'array') return fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 4 })
  if (node['type'] === 'object')
    return fc.dictionary(fc.constantFrom('a', 'b', 'c'), fc.constantFrom('x', 'y'), { maxKeys: 3 })
  return fc.constantFrom('a', 'b', 'c')
}
const settings = fc
  .uniqueArray(fc.constantFrom(...all), { maxLength: 8 })
  .chain((leaves) => fc.tuple(...leaves.map(({ path, node }) => fitting(node).map((value) => at(path, value)))))
  .map((parts) => parts.reduce<Data>(join, {}))
function join(a: Data, b: Data): Data {
  const result = { ...a }
  for (const [key, value] of Object.entries(b)) {
    const both = [result[key], value].every((x) => typeof x === 'object' && x !== null && !Array.isArray(x))
    result[key] = both ? join(result[key] as Data, value as Data) : value
  }
  return result
}

describe('schema of the settings', () => {
  it('states for every leaf what a workspace may do with it', () => {
    expect(all.filter(({ standing }) => !['free', 'tighten', 'trusted', 'own'].includes(standing))).toEqual([])
    expect(all.length).toBeGreaterThan(100)
  })
  it('names the stricter direction of every list that a workspace may only tighten', () => {
    const open = all.filter(
      ({ node, standing }) => standing === 'tighten' && node['type'] === 'array' && !node['x-tightens'],
    )
    expect(open.map(({ path }) => path.join('.'))).toEqual([])
  })
  it('lists each default among the allowed values; settings without sources equal the defaults', () => {
    for (const { node } of all)
      if (node['enum'] && node['default'] !== undefined) expect(node['enum']).toContain(node['default'])
    expect(lay().settings).toEqual(collectDefaults(schema))
    expect(lay().settings).toMatchObject({
      manifests: ['builtin'],
      policy: { mode: 'ask', max_mode: 'full-auto' },
      output: { max_text_bytes: 8192 },
    })
  })
})

describe('layers of settings', () => {
  it('merges layers by key; scalars and lists replace', () => {
    const { settings } = lay(
      source('admin', { exec: { max_sessions: 4, shell: 'sh' }, agent: { instruction_files: ['a'] } }),
      source('user', { exec: { shell: 'zsh' }, agent: { instruction_files: ['b'] } }),
    )
    expect(settings).toMatchObject({
      exec: { max_sessions: 4, shell: 'zsh', idle_secs: 1800 },
      agent: { instruction_files: ['b'] },
    })
  })
  it('extends some lists, lower layer first', () => {
    const { settings } = lay(
      source('admin', { policy: { deny: ['a'] } }),
      source('user', { policy: { deny: ['b'] }, manifests: ['./x'] }),
      source('workspace', { policy: { deny: ['c'] } }),
    )
    expect(settings).toMatchObject({ policy: { deny: ['a', 'b', 'c'] }, manifests: ['builtin', './x'] })
  })
  it('merges providers of models by name', () => {
    const { settings } = lay(
      source('admin', {
        custom_providers: [
          { name: 'a', model: '1' },
          { name: 'b', model: '2' },
        ],
      }),
      source('user', {
        custom_providers: [
          { name: 'b', model: '3' },
          { name: 'c', model: '4' },
        ],
      }),
    )
    expect(settings['custom_providers']).toEqual([
      { name: 'a', model: '1', layer: 'admin' },
      { name: 'b', model: '3', layer: 'user' },
      { name: 'c', model: '4', layer: 'user' },
    ])
  })
  it('resets a setting to its default with null', () => {
    const { settings, origins } = lay(
      source('admin', {
        exec: { shell: 'sh', max_sessions: 2 },
        policy: { deny: ['a'] },
        use: { a: 'b' },
        web: { proxy: 'x' },
      }),
      source('user', { exec: null, policy: { deny: null }, use: { a: null }, web: { proxy: null } }),
    )
    expect(settings).toMatchObject({ exec: { shell: 'bash', max_sessions: 32 }, policy: { deny: [] }, use: {} })
    expect(settings['web']).not.toHaveProperty('proxy')
    expect(origins.find(({ path }) => path === 'exec.shell')).toMatchObject({ layer: 'user', value: 'bash' })
    expect(origins.some(({ path }) => path === 'policy.deny.0')).toBe(false)
  })
  it('merges associatively where no list is extended', () => {
    const maps = fc.dictionary(fc.constantFrom('a', 'b', 'c'), fc.oneof(fc.constantFrom('x', 'y'), fc.constant(false)))
    const some = fc.record(
      {
        use: maps,
        exec: fc.record({ env: fc.dictionary(fc.constantFrom('A', 'B'), fc.string()) }),
        agent: fc.record({ instruction_files: fc.array(fc.string()) }),
      },
      { requiredKeys: [] },
    )
    fc.assert(
      fc.property(some, some, some, (a, b, c) => {
        const layers = lay(source('user', a), source('user', b), source('user', c)).settings
        const right = lay(source('user', a), source('user', join(b, c))).settings
        const left = lay(source('user', join(a, b)), source('user', c)).settings
        expect(right).toEqual(layers)
        expect(left).toEqual(layers)
      }),
    )
  })
  it('leaves the sources of a merge unchanged', () => {
    const value = Object.freeze({ policy: Object.freeze({ deny: Object.freeze(['a']) }) }) as unknown as Data
    const { settings } = lay(source('admin', value), source('user', { policy: { deny: ['b'] } }))
    expect([(settings['policy'] as Data)['deny'], value]).toEqual([['a', 'b'], { policy: { deny: ['a'] } }])
  })
  it('leaves all prototypes unchanged when it merges', () => {
    const evil = JSON.parse(
      '{ "__proto__": { "polluted": 1 }, "use": { "__proto__": { "polluted": 1 }, "constructor": { "prototype": { "polluted": 1 } } } }',
    ) as Data
    lay(source('user', evil), source('workspace', evil))
    expect(({} as Data)['polluted']).toBeUndefined()
    expect(Object.keys(Object.prototype)).toEqual([])
  })
})

describe('settings of a workspace', () => {
  it("keeps a workspace from loosening the user's settings, for any values", () => {
    fc.assert(
      fc.property(settings, settings, settings, (user, first, second) => {
        const before = lay(source('user', user)).settings
        const after = lay(source('user', user), source('workspace', first), source('workspace', second)).settings
        for (const { path, node, standing } of all) {
          const [own, now] = [of(before, path), of(after, path)]
          if (standing === 'own' || standing === 'trusted') expect(now, path.join('.')).toEqual(own)
          if (standing === 'tighten' && now !== undefined)
            expect(
              isAsStrict(node, own, now),
              `${path.join('.')}: ${JSON.stringify(own)} → ${JSON.stringify(now)}`,
            ).toBe(true)
          if (standing === 'tighten' && own !== undefined) expect(now).toBeDefined()
        }
      }),
    )
  })
  it('reads 0 from a workspace as no limit only where that cannot lift one; elsewhere 0 is the least', () => {
    // Readers of these settings take 0 literally: nothing, at once, or none.
    const least = [
      'agent.instruction_max_bytes',
      'agent.harness.max_tool_retries',
      'agent.harness.max_revision_rounds',
      'agent.harness.max_budget_usd',
      'agent.harness.budget_warning_threshold',
      'mcp.max_connections',
      'mcp.max_argument_bytes',
      'context.dynamic.retained_user_messages',
      'diagnostics.wait_ms',
      'web.fetch.max_bytes',
      'web.fetch.max_redirects',
      'web.search.max_results',
      'web.search.max_calls_per_session',
      'web.search.min_interval_secs',
      'web.defuddle.max_bytes',
      'web.defuddle.max_calls_per_session',
      'exec.max_sessions',
      'exec.idle_secs',
      'exec.max_output_tokens',
      'subagents.max_depth',
      'subagents.max_total_per_run',
    ]
    const zero = all.filter(({ node, standing }) => standing === 'tighten' && node['minimum'] === 0)
    expect(
      zero
        .filter(({ node }) => node['x-unlimited'] !== 0)
        .map(({ path }) => path.join('.'))
        .sort(),
    ).toEqual([...least].sort())
    for (const { path, node } of zero.filter(({ node }) => node['x-unlimited'] === 0)) {
      const own = (node['default'] as number) || 5
      expect([path, of(lay(source('user', at(path, own)), source('workspace', at(path, 0))).settings, path)]).toEqual([
        path,
        own,
      ])
      expect([
        path,
        of(lay(source('user', at(path, own)), source('workspace', at(path, own - 1))).settings, path),
      ]).toEqual([path, own - 1])
    }
  })
  it.each<[what: string, user: Data, workspace: Data, outcome: 'counts' | 'VT_CONFIG_LOOSENS']>([
    ['a stricter mode', { policy: { mode: 'auto' } }, { policy: { mode: 'plan' } }, 'counts'],
    ['a looser mode', { policy: { mode: 'ask' } }, { policy: { mode: 'auto' } }, 'VT_CONFIG_LOOSENS'],
    ['a smaller limit', {}, { exec: { max_sessions: 1 } }, 'counts'],
    ['a larger limit', {}, { exec: { max_sessions: 64 } }, 'VT_CONFIG_LOOSENS'],
    ['a limit where there is none', {}, { agent: { harness: { max_budget_usd: 5 } } }, 'counts'],
    ['a limit instead of 0, which is none', {}, { agent: { harness: { max_run_wall_clock_secs: 60 } } }, 'counts'],
    [
      '0, which is no limit',
      { agent: { harness: { max_run_wall_clock_secs: 60 } } },
      { agent: { harness: { max_run_wall_clock_secs: 0 } } },
      'VT_CONFIG_LOOSENS',
    ],
    ['a longer pause between searches', {}, { web: { search: { min_interval_secs: 9 } } }, 'counts'],
    ['a shorter pause between searches', {}, { web: { search: { min_interval_secs: 0 } } }, 'VT_CONFIG_LOOSENS'],
    ['a permission switched off', {}, { web: { enabled: false } }, 'counts'],
    ['a permission switched on', { web: { enabled: false } }, { web: { enabled: true } }, 'VT_CONFIG_LOOSENS'],
    ['redaction switched off', {}, { output: { redact: false } }, 'VT_CONFIG_LOOSENS'],
    ['more sandbox', {}, { sandbox: { mode: 'required' } }, 'counts'],
    ['less sandbox', {}, { sandbox: { mode: 'off' } }, 'VT_CONFIG_LOOSENS'],
    ['fewer tools at full auto', {}, { automation: { full_auto: { allowed_tools: ['unified_search'] } } }, 'counts'],
    [
      'other tools at full auto',
      {},
      { automation: { full_auto: { allowed_tools: ['web_search'] } } },
      'VT_CONFIG_LOOSENS',
    ],
    ['an allow-list where there is none', {}, { web: { allow_hosts: ['a'] } }, 'counts'],
    [
      'an allow-list with more',
      { web: { allow_hosts: ['a'] } },
      { web: { allow_hosts: ['a', 'b'] } },
      'VT_CONFIG_LOOSENS',
    ],
    [
      'a deny-list with more',
      { policy: { constraints: { 'a/b': { denied_url_hosts: ['a'] } } } },
      { policy: { constraints: { 'a/b': { denied_url_hosts: ['a', 'b'] } } } },
      'counts',
    ],
    [
      'a deny-list with less',
      { policy: { constraints: { 'a/b': { denied_url_hosts: ['a'] } } } },
      { policy: { constraints: { 'a/b': { denied_url_hosts: [] } } } },
      'VT_CONFIG_LOOSENS',
    ],
    ['a deny-list that layers extend', {}, { plugins: { disable: ['a'] } }, 'counts'],
    ['null', { policy: { mode: 'plan' } }, { policy: { mode: null } }, 'VT_CONFIG_LOOSENS'],
    [
      'a smaller cap of one slot',
      { policy: { constraints: { 'a/b': { max_results_per_call: 9 } } } },
      { policy: { constraints: { 'a/b': { max_results_per_call: 3 } } } },
      'counts',
    ],
    [
      'a larger cap of one slot',
      { policy: { constraints: { 'a/b': { max_results_per_call: 9 } } } },
      { policy: { constraints: { 'a/b': { max_results_per_call: 99 } } } },
      'VT_CONFIG_LOOSENS',
    ],
    ['another search service, which has no order', {}, { web: { search: { provider: 'other' } } }, 'VT_CONFIG_LOOSENS'],
    ['the form of answers, which is free', {}, { output: { response_format: 'detailed' } }, 'counts'],
  ])('decides whether a workspace may set %s', (_, user, workspace, outcome) => {
    const { settings, diagnostics } = lay(source('user', user), source('workspace', workspace))
    expect(diagnostics.map(({ code }) => code)).toEqual(outcome === 'counts' ? [] : [outcome])
    if (outcome === 'counts') expect(settings).toMatchObject(workspace)
    else expect(settings).toEqual(lay(source('user', user)).settings)
  })
  it('keeps a workspace from changing settings that belong to the user', () => {
    const { settings, diagnostics } = lay(
      source('workspace', {
        policy: { allow: ['Bash'] },
        exec: { shell: 'evil' },
        custom_providers: [{ name: 'x' }],
        agent: { model: 'x' },
      }),
    )
    expect(diagnostics.map(({ code }) => code).sort()).toEqual([
      'VT_CONFIG_CONSENT',
      'VT_CONFIG_CONSENT',
      'VT_CONFIG_OWN_ONLY',
      'VT_CONFIG_OWN_ONLY',
    ])
    expect(settings).toEqual(lay().settings)
  })
  it('lets a workspace bind slots and name manifests after consent, and disable a slot without consent', () => {
    const value = {
      use: { 'a/b': 'x', 'c/d': false },
      manifests: ['./tools'],
      mcp: { servers: { s: { command: 'x' } } },
    }
    const asked: string[] = []
    const { settings, diagnostics } = lay({ ...source('workspace', value), isTrusted: (path) => asked.push(path) < 0 })
    expect(asked).toEqual(['use', 'manifests', 'mcp.servers'])
    expect(settings).toMatchObject({ use: { 'c/d': false }, manifests: ['builtin'], mcp: { servers: {} } })
    expect(diagnostics.map(({ code }) => code)).toEqual(['VT_CONFIG_CONSENT', 'VT_CONFIG_CONSENT', 'VT_CONFIG_CONSENT'])
    expect(lay({ ...source('workspace', value), isTrusted: () => true }).settings).toMatchObject({
      use: value.use,
      manifests: ['builtin', './tools'],
      mcp: value.mcp,
    })
  })
  it("keeps the user's bindings against a workspace, with or without consent, but lets it disable the slot", () => {
    const bound = (slot: unknown) =>
      lay(source('user', { use: { 'a/b': 'mine' } }), {
        ...source('workspace', { use: { 'a/b': slot } }),
        isTrusted: () => true,
      })
    expect(bound('builtin')).toMatchObject({
      settings: { use: { 'a/b': 'mine' } },
      diagnostics: [{ code: 'VT_CONFIG_OWN_ONLY' }],
    })
    expect(bound(null).settings).toMatchObject({ use: { 'a/b': 'mine' } })
    expect(bound(false)).toMatchObject({ settings: { use: { 'a/b': false } }, diagnostics: [] })
  })
  it('keeps a workspace from adding to a server of the user, so that no login goes elsewhere', () => {
    const mine = { url: 'https://mine.example', headers: { Authorization: 'Bearer secret' } }
    const agreed = (value: Data): SettingsSource => ({
      ...source('workspace', { mcp: { servers: value } }),
      isTrusted: () => true,
    })
    const servers = (...sources: SettingsSource[]) => lay(...sources).settings['mcp'] as { servers: Data }
    for (const part of [
      { url: 'https://evil.example' },
      { command: 'evil' },
      { env: { A: 'b' } },
      { headers: { X: 'y' } },
      { auth: {} },
      { cwd: 'x' },
      { effects: {} },
    ]) {
      const { settings, diagnostics } = lay(
        source('user', { mcp: { servers: { y: mine } } }),
        agreed({ y: part, z: part }),
      )
      expect((settings['mcp'] as { servers: Data }).servers).toEqual({ y: mine, z: part })
      expect(diagnostics.map(({ code }) => code)).toEqual(['VT_CONFIG_OWN_ONLY'])
    }
    // A layer after the workspace adds no user data to a server of the workspace either.
    expect(
      servers(
        agreed({ y: { url: 'https://evil.example' } }),
        source('call', { mcp: { servers: { y: { headers: { Authorization: 'secret' } } } } }),
      ).servers,
    ).toEqual({ y: { headers: { Authorization: 'secret' } } })
    expect(
      servers(
        agreed({ y: { url: 'https://x.example' } }),
        source('call', { mcp: { servers: { y: { enabled: false } } } }),
      ).servers,
    ).toEqual({ y: { url: 'https://x.example', enabled: false } })
    expect(
      servers(
        source('user', { mcp: { servers: { y: mine } } }),
        agreed({ y: { enabled: false } }),
        source('call', { mcp: { servers: { y: { lazy: false } } } }),
      ).servers,
    ).toEqual({ y: { ...mine, enabled: false, lazy: false } })
  })
  it("compares each workspace file with the user's settings, not with the other workspace file", () => {
    const { settings } = lay(
      source('user', { policy: { mode: 'auto' } }),
      source('workspace', { policy: { mode: 'plan' } }),
      source('workspace', { policy: { mode: 'ask' } }),
    )
    expect(settings).toMatchObject({ policy: { mode: 'ask' } })
  })
  it('lets the call loosen again what the workspace tightened', () => {
    const { settings } = lay(
      source('workspace', { policy: { mode: 'plan' } }),
      source('call', { policy: { mode: 'full-auto' } }),
    )
    expect(settings).toMatchObject({ policy: { mode: 'full-auto' } })
  })
})

describe('origins of settings', () => {
  const find = (merged: ReturnType<typeof merge>, path: string) => merged.origins.find((origin) => origin.path === path)

  it('names the layer that won a setting and the values that it overrode', () => {
    const merged = lay(source('admin', { exec: { shell: 'sh' } }), {
      ...source('user', { exec: { shell: 'zsh' } }),
      line: () => 7,
    })
    expect(find(merged, 'exec.shell')).toEqual({
      path: 'exec.shell',
      layer: 'user',
      file: 'user',
      line: 7,
      value: 'zsh',
      overridden: [
        { layer: 'builtin', file: 'defaults', value: 'bash' },
        { layer: 'admin', file: 'admin', value: 'sh' },
      ],
    })
    expect(find(merged, 'exec.idle_secs')).toEqual({
      path: 'exec.idle_secs',
      layer: 'builtin',
      file: 'defaults',
      value: 1800,
      overridden: [],
    })
  })
  it('names ignored settings with the reason, also where no other layer sets them', () => {
    const merged = lay(source('workspace', { policy: { mode: 'auto' }, agent: { model: 'x' } }))
    expect(find(merged, 'policy.mode')).toMatchObject({
      layer: 'builtin',
      value: 'ask',
      overridden: [{ layer: 'workspace', value: 'auto', reason: expect.stringContaining('may only tighten') }],
    })
    expect(find(merged, 'agent.model')).toMatchObject({
      layer: 'builtin',
      value: undefined,
      overridden: [{ layer: 'workspace', value: 'x', reason: expect.stringContaining('needs your consent') }],
    })
  })
  it('distinguishes the items of an extended list by their layer', () => {
    const merged = lay(source('admin', { policy: { deny: ['a'] } }), source('user', { policy: { deny: ['b', 'a'] } }))
    expect([0, 1, 2].map((index) => find(merged, `policy.deny.${index}`)?.layer)).toEqual(['admin', 'user', 'user'])
  })
  it('computes origins of 5,000 rules with a few reads of each rule', () => {
    const deny = Array.from({ length: 5000 }, (_, index) => `Bash(tool${index} *)`)
    const looks = vi.spyOn(JSON, 'stringify')
    try {
      const merged = lay(
        source('user', { policy: { deny } }),
        source('workspace', { policy: { deny: deny.map((rule) => `${rule} x`) } }),
      )
      expect(looks.mock.calls.length).toBeLessThan(200_000)
      expect(find(merged, 'policy.deny.9999')).toMatchObject({ layer: 'workspace', value: 'Bash(tool4999 *) x' })
    } finally {
      looks.mockRestore()
    }
  })
  it('reports origins that agree with the settings for every leaf that a source sets', () => {
    fc.assert(
      fc.property(settings, settings, settings, (admin, user, call) => {
        const merged = lay(source('admin', admin), source('user', user), source('call', call))
        for (const { path, node } of all) {
          if (node['x-merge'] || node['type'] === 'object') continue
          const winner =
            [
              ['call', call],
              ['user', user],
              ['admin', admin],
            ].find(([, value]) => of(value, path) !== undefined)?.[0] ?? 'builtin'
          const origin = find(merged, path.join('.'))
          if (origin) expect([origin.layer, origin.value], path.join('.')).toEqual([winner, of(merged.settings, path)])
          else expect(of(merged.settings, path)).toBeUndefined()
        }
      }),
    )
  })
})
