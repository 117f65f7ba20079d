import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createKernel, type Config } from 'vtcode'
import { bootKernel, matches, tempWorkspace, type Files } from 'vtcode/test'

const tool = (name: string, more = ''): string =>
  `name: ${name}\ndescription: Is ${name}.\neffects: []\n${more}module: ./${name}.js\n`
const says = (by: string): string => `export default () => ({ ok: true, output: { by: '${by}' } })\n`
/** Plugins of one manifest each, by name. */
const plugins = (all: Record<string, [manifest: string, module: string]>): Files =>
  Object.fromEntries(
    Object.entries(all).flatMap(([name, [manifest, module]]) => [
      [`${name}/vtcode.yaml`, manifest],
      [`${name}/main.js`, module],
    ]),
  )
const one = (name: string, more = ''): string => tool(name, more).replace(`./${name}.js`, './main.js')

/** A kernel on these plugins, in this order. */
async function among(
  files: Files,
  config: Config = {},
  names = [...new Set(Object.keys(files).map((path) => path.split('/')[0]!))],
) {
  const place = await tempWorkspace(files)
  const booted = await bootKernel({
    manifests: names.map((name) => join(place.root, name)),
    config,
    files: { 'a.txt': 'a\n' },
  })
  return {
    ...booted,
    [Symbol.asyncDispose]: async () => (await booted[Symbol.asyncDispose](), await place[Symbol.asyncDispose]()),
  }
}

describe('collisions', () => {
  const override = (name: string) => `name: ${name}\naction: unified_file/read\nstage: override\nmodule: ./main.js\n`
  const fallback = override('late').replace('override', 'fallback')
  const pairs: [
    what: string,
    files: Files,
    call: [string, object?],
    by: string,
    states: Record<string, string>,
    code: string,
  ][] = [
    [
      'tools of one name',
      plugins({ a: [one('hello'), says('a')], b: [one('hello'), says('b')] }),
      ['hello'],
      'a',
      { 'a:hello': 'active', 'b:hello': 'shadowed' },
      'VT_SLOT_COLLISION',
    ],
    [
      'the same, by the name of the second’s plugin',
      plugins({ a: [one('hello'), says('a')], b: [one('hello'), says('b')] }),
      ['b__hello'],
      'b',
      { 'b:hello': 'shadowed' },
      'VT_SLOT_COLLISION',
    ],
    [
      'a tool and a built-in',
      plugins({ a: [one('apply_patch'), says('a')] }),
      ['a__apply_patch'],
      'a',
      { 'builtin:apply_patch': 'active', 'a:apply_patch': 'shadowed' },
      'VT_SLOT_COLLISION',
    ],
    [
      'a tool and a name of another dialect',
      plugins({ a: [one('read_file'), says('a')] }),
      ['a__read_file'],
      'a',
      { 'builtin:read_file': 'active', 'a:read_file': 'shadowed' },
      'VT_SLOT_COLLISION',
    ],
    [
      'a tool and what a built-in was called once',
      plugins({ a: [one('bash'), says('a')] }),
      ['bash'],
      'a',
      { 'a:bash': 'active' },
      'VT_SLOT_COLLISION',
    ],
    [
      'a former name and a tool',
      plugins({ a: [one('mine', 'aliases: [unified_file]\n'), says('a')] }),
      ['unified_file', { action: 'read', path: 'a.txt' }],
      '',
      { 'a:mine': 'active' },
      'VT_SLOT_COLLISION',
    ],
    [
      'a former name and another',
      plugins({ a: [one('mine', 'aliases: [bash]\n'), says('a')] }),
      ['mine'],
      'a',
      { 'a:mine': 'active' },
      'VT_SLOT_COLLISION',
    ],
    [
      'names that look alike',
      plugins({ a: [one('hel_lo'), says('a')], b: [one('hello'), says('b')] }),
      ['hel_lo'],
      'a',
      { 'a:hel_lo': 'active', 'b:hello': 'invalid' },
      'VT_SLOT_TWIN',
    ],
    [
      'a name that looks like a built-in',
      plugins({ a: [one('unifiedfile'), says('a')] }),
      ['unified_file', { action: 'read', path: 'a.txt' }],
      '',
      { 'a:unifiedfile': 'invalid' },
      'VT_SLOT_TWIN',
    ],
    [
      'overrides',
      plugins({ a: [override('mine'), says('a')], b: [override('mine'), says('b')] }),
      ['unified_file', { action: 'read', path: 'a.txt' }],
      'a',
      { 'a:mine': 'active', 'b:mine': 'active' },
      'VT_SLOT_COLLISION',
    ],
    [
      'an override and a fallback',
      plugins({ a: [override('mine'), 'export default () => undefined\n'], b: [fallback, says('b')] }),
      ['unified_file', { action: 'read', path: 'a.txt' }],
      '',
      { 'a:mine': 'active', 'b:late': 'active' },
      'VT_SLOT_OVERRIDDEN',
    ],
    [
      'verbs',
      {
        'a/vtcode.yaml': 'name: mine\nkind: surface\nverb: call\nmodule: ./main.js\n',
        'a/main.js': 'export default () => 1\n',
      },
      ['unified_file', { action: 'read', path: 'a.txt' }],
      '',
      { 'a:mine': 'shadowed' },
      'VT_SLOT_COLLISION',
    ],
    [
      'properties of one tool',
      plugins({
        a: [
          one('deep').replace(
            'name: deep',
            'name: deep\naction: unified_file/deep\ninput: { properties: { path: { type: integer } } }',
          ),
          says('a'),
        ],
      }),
      ['unified_file', { action: 'deep', path: 1 }],
      'a',
      { 'a:deep': 'active' },
      'VT_SLOT_PROPERTY_CONFLICT',
    ],
  ]
  it.each(pairs)(
    'loads both plugins and reports the collision: %s',
    async (_, files, [name, input], by, states, code) => {
      await using booted = await among(files)
      const result = await booted.call(name, (input ?? {}) as never)
      expect(result.ok && (result.output['by'] ?? ''), JSON.stringify(result)).toBe(by)
      const found = booted.kernel.inspection.contributions()
      for (const [id, state] of Object.entries(states))
        matches(
          found.find((info) => info.id === id),
          { state },
        )
      expect(booted.kernel.diagnostics().map((diagnostic) => diagnostic.code)).toContain(code)
    },
  )

  it('serves a name that two plugins claim by the one that `use` chooses, as the report advises', async () => {
    const both = plugins({ a: [one('hello'), says('a')], b: [one('hello'), says('b')] })
    await using before = await among(both)
    const { hint } = before.kernel.diagnostics().find(({ code }) => code === 'VT_SLOT_COLLISION')!
    const [, slot, id] = /`use: \{ "(.+)": "(.+)" \}`/.exec(hint!)!
    await using booted = await among(both, { use: { [slot!]: id! } })
    expect([
      await booted.call('hello'),
      await booted.call('a__hello'),
      booted.kernel.diagnostics().filter(({ code }) => code === 'VT_SLOT_COLLISION'),
    ]).toMatchObject([{ output: { by: 'b' } }, { output: { by: 'a' } }, []])
  })

  it('keeps the contract of a built-in tool whatever `use` names', async () => {
    await using booted = await among(plugins({ a: [one('apply_patch'), says('a')] }), {
      use: { apply_patch: 'a:apply_patch' },
    })
    expect(booted.kernel.inspection.contributions().find(({ id }) => id === 'a:apply_patch')).toMatchObject({
      state: 'shadowed',
    })
    expect(await booted.call('apply_patch')).toMatchObject({ ok: false, error: { code: 'VT_SLOT_UNBOUND' } })
  })

  it('refuses an alias of an alias and one of an unknown slot, and names the right one', async () => {
    const alias = (name: string, to: string): [string, string] => [`name: ${name}\nalias: { to: ${to} }\n`, '']
    await using booted = await among(
      plugins({
        a: alias('mine', 'read_file'),
        b: alias('next', 'mine'),
        c: alias('typo', 'unified_file/raed'),
        d: alias('good', 'unified_file/read'),
      }),
    )
    const states = Object.fromEntries(
      booted.kernel.inspection.contributions().map(({ id, state, reason }) => [id, [state, reason]]),
    )
    expect(states).toMatchObject({
      'a:mine': ['invalid', 'a:mine leads to read_file, which is an alias itself. Name unified_file/read in `to`.'],
      'b:next': ['invalid', 'b:next leads to mine, which is an alias itself. Name read_file in `to`.'],
      'c:typo': [
        'inactive',
        'c:typo is an alias of unified_file/raed, which no plugin declares; nearest: unified_file/read.',
      ],
      'd:good': ['active', undefined],
    })
    expect(booted.kernel.list().map(({ slot }) => slot)).not.toContain('mine')
  })

  it.each(['grер', 'Read File', 'read.file', '../x', '__proto__', 'a'.repeat(65), 'tool ', 'ＲＥＡＤ', 'a/b/c'])(
    'refuses a confusable or malformed name by file: %s',
    async (name) => {
      await using booted = await among(
        plugins({ a: [one('x').replace('name: x', `name: ${JSON.stringify(name)}`), says('a')] }),
      )
      expect(
        booted.kernel.inspection
          .contributions()
          .filter(({ id }) => id.startsWith('a:'))
          .map(({ state }) => state),
      ).toEqual(['invalid'])
      expect(booted.kernel.diagnostics().find(({ code }) => code === 'VT_MANIFEST_INVALID')?.files[0]).toMatch(
        /a\/vtcode\.yaml:1:1$/,
      )
      expect((await booted.call(name)).ok).toBe(false)
    },
  )
})

describe('schema of a plugin', () => {
  const given = (input: string) => plugins({ a: [one('strict', `input: ${input}\n`), says('a')] })
  it.each([
    ['leads to another document', '{ properties: { p: { $ref: "http://127.0.0.1:9/x.json" } } }', 'VT_SCHEMA_INVALID'],
    ['leads to a file', '{ properties: { p: { $ref: "file:///etc/passwd" } } }', 'VT_SCHEMA_INVALID'],
    [
      'leads to itself',
      '{ $defs: { a: { $ref: "#/$defs/a" } }, properties: { p: { $ref: "#/$defs/a" } } }',
      'VT_SCHEMA_INVALID',
    ],
    ['looks around in a pattern', '{ properties: { p: { type: string, pattern: "(?=a)b" } } }', 'VT_SCHEMA_PATTERN'],
    ['refers back in a pattern', '{ properties: { p: { type: string, pattern: "(a)\\\\1" } } }', 'VT_SCHEMA_PATTERN'],
    ['is no schema', '{ properties: { p: { type: nonsense } } }', 'VT_SCHEMA_INVALID'],
    ['is far too large', `{ description: "${'x'.repeat(10_000_000)}" }`, 'VT_MANIFEST_LIMIT'],
    ['is deeper than anybody needs', `${'{ properties: { p: '.repeat(18)}{}${' } }'.repeat(18)}`, 'VT_MANIFEST_LIMIT'],
  ])('refuses a schema that %s without network access, and loads the other plugins', async (_, input, code) => {
    await using booted = await among({ ...given(input), ...plugins({ b: [one('fine'), says('b')] }) })
    const called = await booted.call('strict', { p: 'b' })
    const codes = [
      ...booted.kernel.diagnostics().map((diagnostic) => diagnostic.code),
      called.ok ? '' : called.error.code,
    ]
    expect(called.ok).toBe(false)
    expect(codes).toContain(code)
    matches(await booted.call('fine'), { ok: true, output: { by: 'b' } })
  })

  it('matches a pattern that backtracks elsewhere in linear time', async () => {
    await using booted = await among(given('{ properties: { p: { type: string, pattern: "^a*a*$" } } }'))
    matches(await booted.call('strict', { p: 'a'.repeat(50_000) }), { ok: true })
    // A guard against hanging: what takes exponential time does not end in the life of the machine.
    matches(await booted.call('strict', { p: `${'a'.repeat(50_000)}!` }), {
      ok: false,
      error: { code: 'VT_INPUT_INVALID' },
    })
  })
})

describe('`use`', () => {
  const job = {
    'tools/job.yaml': tool('job'),
    'tools/job.js': says('primary'),
    'tools/mine.yaml': 'name: mine\naction: job\nstage: override\nmodule: ./mine.js\n',
    'tools/mine.js': says('mine'),
    'tools/other.yaml': 'name: other\naction: job\nstage: override\nmodule: ./other.js\n',
    'tools/other.js': says('other'),
  }
  /** Returns the handler that answers under these settings of each layer. */
  async function served(said: { user?: object; workspace?: object; trusted?: boolean; call?: object }) {
    await using space = await tempWorkspace(
      said.workspace ? { 'vtcode.config.yaml': JSON.stringify(said.workspace) } : {},
    )
    for (const [path, text] of Object.entries(job)) await space.write(`../home/${path}`, text)
    const settings = join(space.home, '.vtcode/vtcode.config.yaml')
    mkdirSync(dirname(settings), { recursive: true })
    writeFileSync(
      settings,
      JSON.stringify({ manifests: ['builtin', `${space.home}/tools`], plugins: { isolate: 'inline' }, ...said.user }),
    )
    const options = {
      workspace: space.root,
      home: space.home,
      env: { PATH: process.env['PATH'] },
      ...(said.call && { config: said.call as Config }),
    }
    if (said.trusted) {
      const { openTrust, listConsentItems } = await import('vtcode')
      const places = { workspace: space.root, home: join(space.home, '.vtcode'), env: {} }
      const trust = openTrust(places)
      trust.add(await listConsentItems({ ...places, user: space.home, trust }))
    }
    const kernel = await createKernel(options)
    const result = await kernel.call('job')
    const states = Object.fromEntries(
      kernel.inspection
        .contributions()
        .flatMap(({ id, state }) => (/^user:(job|mine|other)$/.test(id) ? [[id.slice(5), state]] : [])),
    )
    const codes = kernel.diagnostics().map(({ code }) => code)
    await kernel.close()
    return { by: result.ok ? result.output['by'] : result.error.code, states, codes }
  }
  const bound = (to: unknown) => ({ use: { job: to } })

  it("binds a slot by the user's `use` and puts the rest on standby", async () => {
    expect(await served({ user: bound('other') })).toMatchObject({
      by: 'other',
      states: { other: 'active', mine: 'standby', job: 'standby' },
    })
    expect(await served({ user: bound(['job']) })).toMatchObject({ by: 'primary' })
    expect(await served({ user: bound(false) })).toMatchObject({ by: 'VT_TOOL_UNKNOWN' })
  })
  it("applies a workspace's `use` after consent, and disables a slot without consent", async () => {
    const untrusted = await served({ workspace: bound('other') })
    expect([untrusted.by, untrusted.codes.includes('VT_CONFIG_CONSENT')]).toEqual(['mine', true])
    expect(await served({ workspace: bound('other'), trusted: true })).toMatchObject({ by: 'other' })
    expect(await served({ workspace: bound(false) })).toMatchObject({ by: 'VT_TOOL_UNKNOWN' })
  })
  it("keeps the user's `use` against a workspace's, with or without consent", async () => {
    const lifted = await served({ user: bound('other'), workspace: bound('mine'), trusted: true })
    expect([lifted.by, lifted.codes.includes('VT_CONFIG_OWN_ONLY')]).toEqual(['other', true])
    expect(await served({ user: bound(false), workspace: bound('mine'), trusted: true })).toMatchObject({
      by: 'VT_TOOL_UNKNOWN',
    })
    expect(await served({ user: bound('other'), workspace: bound(false) })).toMatchObject({ by: 'VT_TOOL_UNKNOWN' })
  })
  it("prefers the call's `use` over user and workspace", async () => {
    expect(await served({ user: bound('other'), workspace: bound(false), call: bound('job') })).toMatchObject({
      by: 'primary',
    })
    expect(await served({ user: bound(false), call: bound(['mine', 'job']) })).toMatchObject({ by: 'mine' })
  })
  it('leaves a slot unbound when `use` names what cannot run, and reports which and why', async () => {
    expect(await served({ user: bound('nobody') })).toMatchObject({
      by: 'VT_SLOT_UNBOUND',
      codes: expect.arrayContaining(['VT_SLOT_UNBOUND']),
    })
    expect(await served({ user: bound(['nobody', 'job']) })).toMatchObject({ by: 'VT_SLOT_UNBOUND' })
  })
})
