import { describe, expect, it } from 'vitest'
import { bootKernel } from 'vtcode/test'

const kib = (tools: readonly object[]) => Buffer.byteLength(JSON.stringify(tools)) / 1024
const nameOf = ({ name }: { name: string }) => name

describe('kernel.tools', () => {
  it('gives each property one type across all actions of a tool', async () => {
    await using booted = await bootKernel()
    const types = new Map<string, unknown>()
    for (const { slot, tool, input } of booted.kernel.list()) {
      for (const [property, { type }] of Object.entries(input['properties'] as Record<string, { type?: unknown }>)) {
        const name = `${tool} ${property}`
        const said = JSON.stringify([type ?? null].flat().sort())
        if (types.has(name)) expect(said, `${slot} ${property}`).toBe(types.get(name))
        types.set(name, said)
      }
    }
  })

  const isListed = (input: Readonly<Record<string, unknown>>, property: string): boolean =>
    (input['properties'] as Record<string, Record<string, unknown>>)[property]?.['x-listed'] !== false &&
    Object.hasOwn(input['properties'] as object, property)

  it('lists all tools in 11.5 KiB, with purpose and needs of each action and the actions of each property', async () => {
    await using booted = await bootKernel()
    const all = booted.kernel.tools()
    expect(all.map(nameOf).sort()).toEqual([
      'apply_patch',
      'defuddle_fetch',
      'request_user_input',
      'unified_exec',
      'unified_file',
      'unified_search',
      'web_search',
    ])
    expect(kib(all.map(({ name, description, input }) => ({ name, description, inputSchema: input })))).toBeLessThan(
      11.5,
    )
    const file = all.find(({ name }) => name === 'unified_file')!
    expect(file.description).toMatch(/^copy\(path, destination\): .+\ndelete\(path\): .+\nedit\(path\): /)
    expect(file.description).not.toContain('nearest candidates')
    for (const { name, description: own, input, actions } of all.filter(({ actions }) => actions.length > 0)) {
      const takes = (property: string) =>
        booted.kernel
          .list()
          .filter(({ tool, action, input }) => tool === name && actions.includes(action!) && isListed(input, property))
          .map(({ action }) => action!)
      const { action: _, ...properties } = input['properties'] as Record<string, { description?: string }>
      for (const [property, { description = '' }] of Object.entries(properties)) {
        const unsaid = takes(property).filter(
          (action) =>
            !new RegExp(`\\b${action}\\b`).test(description) &&
            // An action without a line is called by models that search for it.
            new RegExp(`^${action}\\b`, 'm').test(own) &&
            !(property === 'mode' && action === 'agent'),
        )
        if (takes(property).length < actions.length)
          expect([name, property, unsaid.length < takes(property).length ? unsaid : 'all']).toEqual([
            name,
            property,
            [],
          ])
      }
    }
  })

  it('mentions skills only if there are some besides the bundled ones', async () => {
    await using booted = await bootKernel()
    await using other = await bootKernel({
      files: { '.vtcode/skills/brew/SKILL.md': '---\nname: brew\ndescription: Brews tea.\n---\nBoil.' },
    })
    const skills = (lean: boolean) =>
      other.kernel
        .tools({ lean })
        .map(nameOf)
        .filter((name) => name.includes('skill'))
    for (const lean of [true, false]) expect(JSON.stringify(booted.kernel.tools({ lean }))).not.toContain('load_skill"')
    expect(skills(false).sort()).toEqual(['list_skills', 'load_skill', 'load_skill_resource'])
    expect(skills(true)).toEqual(['load_skill'])
    expect(other.kernel.tools({ lean: true }).find(({ name }) => name === 'load_skill')!.description).toContain(
      '- brew: Brews tea.',
    )
    expect(await booted.call('unified_search', { action: 'skill', name: 'debugging' })).toMatchObject({ ok: true })
  })

  it('leaves limits, annotations and deprecated fields out of the list, and in the answer about one action', async () => {
    await using booted = await bootKernel()
    const search = booted.kernel.tools().find(({ name }) => name === 'unified_search')!
    expect(JSON.stringify(search.input)).not.toMatch(/"(?:x-[a-z]+|maxLength|minimum|default|format)"/)
    expect(search.input['properties']).not.toHaveProperty('query')
    expect(search.input['properties']).toMatchObject({ pattern: { type: 'string' } })
    const found = await booted.call('unified_search', {
      action: 'tools',
      keyword: 'unified_file/edit',
      detail_level: 'full',
      max_results: 1,
    })
    expect(found).toMatchObject({
      output: {
        tools: [
          {
            action: 'edit',
            description: expect.stringContaining('nearest candidates'),
            input: { properties: { edits: { maxItems: 64 } } },
          },
        ],
      },
    })
  })

  it("lists a plugin's tool with its author's description and every keyword that all APIs accept", async () => {
    const input =
      '{ $schema: "https://json-schema.org/draft/2020-12/schema", type: object, properties: { format: { type: string, minLength: 2, format: date, default: x, x-aliases: [f] }, where: { type: string, format: workspace-path } } }'
    await using files = await bootKernel({
      files: {
        'p/one.yaml': `name: one\ndescription: |-\n  First.\n\n  Second.\neffects: []\ninput: ${input}\nmodule: ./one.js\n`,
        'p/one.js': 'export default () => ({ ok: true, output: {} })',
      },
    })
    await using booted = await bootKernel({ manifests: [`${files.root}/p/one.yaml`] })
    const one = booted.kernel.tools().find(({ name }) => name === 'one')!
    expect(one.description).toBe('First.\n\nSecond.')
    expect((one.input['properties'] as Record<string, object>)['format']).toEqual({
      type: 'string',
      minLength: 2,
      default: 'x',
    })
    expect((one.input['properties'] as Record<string, object>)['where']).toEqual({ type: 'string' })
  })
})

describe('kernel.tools with narrowed rights', () => {
  const reading = ['unified_search', 'unified_file/read']

  it('lists no action outside the rights in any schema, at less than half the size', async () => {
    await using booted = await bootKernel()
    const { kernel } = booted
    const left = kernel.tools({ audience: 'agent', only: reading })
    expect(left.map(nameOf)).toEqual(['unified_file', 'unified_search'])
    expect(left[0]).toMatchObject({
      actions: ['read'],
      effects: ['read'],
      input: { properties: { action: { enum: ['read'] } } },
    })
    expect(left[0]!.description).toMatch(/^read\(path\): [^\n]+$/)
    expect(JSON.stringify(left)).not.toMatch(/unified_exec|apply_patch|old_str|"edit"|"write"/)
    expect(kib(left) / kib(kernel.tools({ audience: 'agent' }))).toBeLessThanOrEqual(0.45)
    expect(
      kib(kernel.tools({ audience: 'agent', only: reading, lean: true })) /
        kib(kernel.tools({ audience: 'agent', lean: true })),
    ).toBeLessThanOrEqual(0.6)
    // Narrowed lists leave the full list unchanged.
    expect(kernel.tools()).toEqual(kernel.tools({}))
    expect(kernel.tools().length).toBeGreaterThan(2)
  })

  it('names no tool outside the rights in any description', async () => {
    await using booted = await bootKernel()
    const about = (only: string[], how: object = {}) =>
      booted.kernel
        .tools({ only, ...how })
        .map(({ description }) => description)
        .join('\n')
    expect(about(['web_search', 'unified_search/web'])).toContain('Fetch a page with unified_search web.')
    expect(about(['web_search', 'defuddle_fetch'])).toBe(
      'Fetches a page through defuddle.md. The service learns the address.\nSearches the web. A session has few searches.',
    )
    for (const tool of booted.kernel.list()) expect(tool.description).not.toContain('{')
    expect(about(['unified_exec'], { lean: true })).not.toMatch(/unified_search|unified_file/)
  })

  it('selects tools by the names of rules, and lists an alias if a part of its target remains', async () => {
    await using booted = await bootKernel({ dialects: ['unified', 'classic'] })
    const names = (...only: string[]) => booted.kernel.tools({ only }).map(nameOf)
    expect(names('Bash')).toEqual(expect.arrayContaining(['unified_exec']))
    expect(names('Bash')).not.toContain('unified_file')
    expect(names('unified_file/read')).toEqual(expect.arrayContaining(['unified_file', 'read_file']))
    expect(names('unified_file/read')).not.toContain('edit_file')
    expect(names('read_file')).toEqual(['read_file'])
    expect(names('Except(exec, write)').filter((name) => /exec|shell|run_|edit|patch|create/.test(name))).toEqual([
      'unified_exec',
    ])
    expect(names()).toEqual([])
    await using each = await bootKernel({ dialects: ['each'] })
    expect(
      each.kernel
        .tools({ only: reading })
        .map(nameOf)
        .filter((name) => name.startsWith('unified_file')),
    ).toEqual(['unified_file_read'])
  })
})

describe('dialect `each`', () => {
  it('lists each action as a tool with its own schema and effects, and uses these names in follow-ups', async () => {
    await using booted = await bootKernel({ files: { 'a.txt': 'x\n'.repeat(300) }, dialects: ['each'] })
    const { kernel } = booted
    const names = kernel.tools().map(nameOf)
    expect(names).toEqual(
      expect.arrayContaining(['unified_file_read', 'unified_file_write', 'unified_search_grep', 'apply_patch']),
    )
    expect(names).not.toContain('unified_file')
    const read = kernel.tools().find(({ name }) => name === 'unified_file_read')!
    expect(read).toMatchObject({
      effects: ['read'],
      input: { required: ['path'], properties: { offset_lines: { type: 'integer' } } },
    })
    expect(await booted.call('unified_search_grep', { pattern: 'x' })).toMatchObject({
      ok: true,
      output: { next: { tool: 'unified_search_grep', input: { pattern: 'x', skip: 100 } } },
    })
    expect(await booted.call('unified_file_read', { pth: 'a.txt' })).toMatchObject({
      ok: false,
      error: { hint: expect.stringContaining('Example: unified_file_read {"path"') },
    })
  })

  it('refuses another action through the tool of one action', async () => {
    await using booted = await bootKernel({ files: { 'a.txt': 'hello' }, dialects: ['each'] })
    expect(await booted.call('unified_file_read', { action: 'read', path: 'a.txt' })).toMatchObject({ ok: true })
    expect(await booted.call('unified_file_read', { action: 'delete', path: 'a.txt' })).toMatchObject({
      ok: false,
      error: { code: 'VT_INPUT_UNKNOWN' },
    })
    expect(await booted.read('a.txt')).toBe('hello')
  })

  it('keeps a tool undivided if one of its actions would take the name of another tool', async () => {
    await using files = await bootKernel({
      files: {
        'p/a.yaml': 'name: first\naction: thing/one\ndescription: Does one.\neffects: []\nmodule: ./t.js\n',
        'p/b.yaml': 'name: thing_one\ndescription: Does else.\neffects: []\nmodule: ./t.js\n',
        'p/t.js': 'export default () => ({ ok: true, output: {} })',
      },
    })
    await using booted = await bootKernel({
      manifests: [`${files.root}/p/a.yaml`, `${files.root}/p/b.yaml`],
      dialects: ['each'],
    })
    expect(
      booted.kernel
        .tools()
        .map(nameOf)
        .filter((name) => name.startsWith('thing')),
    ).toEqual(['thing', 'thing_one'])
  })
})

describe('lean list', () => {
  const size = (value: unknown) => Buffer.byteLength(JSON.stringify(value))

  it('lists in 3.5 KB all actions, and ends with the names of the other tools', async () => {
    await using booted = await bootKernel()
    const lean = booted.kernel.tools({ lean: true })
    expect(lean.map(nameOf)).toEqual(['unified_exec', 'unified_file', 'unified_search', 'call_tool'])
    expect(size(lean.map(({ name, description, input }) => ({ name, description, input })))).toBeLessThan(3_500)
    for (const tool of lean.slice(0, -1)) {
      const whole = booted.kernel.tools().find(({ name }) => name === tool.name)!
      expect(tool).toMatchObject({
        actions: whole.actions,
        effects: whole.effects,
        input: { additionalProperties: true, properties: { action: { enum: whole.actions } } },
      })
    }
    expect(lean.at(-1)!.description).toMatch(
      /\napply_patch: [^\n]+\ndefuddle_fetch: [^\n]+\nrequest_user_input: [^\n]+\nweb_search: [^\n]+$/,
    )
    expect(JSON.stringify(lean)).not.toContain('response_format')
  })

  it('finds and calls what the lean list leaves out, directly or through call_tool', async () => {
    await using booted = await bootKernel({ files: { 'a.txt': 'one\n' } })
    const lean = booted.kernel.tools({ lean: true })
    expect(lean.find(({ name }) => name === 'unified_file')!.input['properties']).not.toHaveProperty('recursive')
    const { text } = (await booted.call('unified_search', { action: 'tools', keyword: 'unified_file/copy' })) as {
      text: string
    }
    expect(text).toContain('\n  destination (string, required): ')
    expect(text).toContain('\n  recursive (boolean)')
    expect(await booted.call('unified_file', { action: 'copy', path: 'a.txt', destination: 'b.txt' })).toMatchObject({
      ok: true,
    })
    expect(
      await booted.call('call_tool', { tool: 'unified_file/copy', input: { path: 'a.txt', destination: 'c.txt' } }),
    ).toMatchObject({ ok: true })
    expect(await booted.read('c.txt')).toBe('one\n')
  })

  it('lists few plugin tools in full and many by name, and stays constant until a tool is loaded', async () => {
    const tool = (i: number) => ({
      [`p/t${i}.yaml`]: `name: paint_${i}\ndescription: Paints fence ${i}. Then waits.\neffects: []\ninput: { properties: { coats: { type: integer, minimum: 1, description: ${'How often. '.repeat(20)} } } }\nmodule: ./t.js\n`,
    })
    const files = (count: number) => ({
      'p/t.js': 'export default () => ({ ok: true, output: {} })',
      ...(Object.assign({}, ...Array.from({ length: count }, (_, i) => tool(i))) as Record<string, string>),
    })
    const lists = async (count: number) => {
      await using from = await bootKernel({ files: files(count) })
      await using booted = await bootKernel({ manifests: ['builtin', `${from.root}/p`] })
      return [booted.kernel.tools({ lean: true }), booted.kernel.tools({ lean: true })]
    }
    const [few, again] = await lists(2)
    expect(JSON.stringify(again)).toBe(JSON.stringify(few))
    expect(few!.find(({ name }) => name === 'paint_1')).toMatchObject({
      description: 'Paints fence 1. Then waits.',
      input: { properties: { coats: { minimum: 1 } } },
    })
    const [many] = await lists(60)
    expect(many!.map(nameOf)).toEqual(['unified_exec', 'unified_file', 'unified_search', 'call_tool'])
    expect(many!.at(-1)!.description).toContain('\npaint_1: Paints fence 1.\n')
    expect(many!.at(-1)!.description).toMatch(/\n24 more tools$/)
  })
})
