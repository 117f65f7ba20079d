import { describe, expect, it } from 'vitest'
import { bootKernel } from 'vtcode/test'

const kib = (tools: readonly object[]) => Buffer.byteLength(JSON.stringify(tools)) / 1024
const nameOf = ({ name }: { name: string }) => name

describe('the list of tools', () => {
  it('is of actions that mean one type by one property of their tool', async () => {
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

  it('takes at most 12 KiB for the three unified tools, and says of each action what it is for and what it needs', async () => {
    await using booted = await bootKernel()
    const unified = booted.kernel.tools().filter(({ name }) => name.startsWith('unified_'))
    expect(unified).toHaveLength(3)
    expect(kib(unified)).toBeLessThan(12)
    const file = unified.find(({ name }) => name === 'unified_file')!
    expect(file.description).toMatch(/^copy\(path, destination\): .+\ndelete\(path\): .+\nedit\(path\): /)
    expect(file.description).not.toContain('nearest candidates')
    for (const { description, actions } of unified) expect(description.split('\n')).toHaveLength(actions.length)
  })

  it('leaves limits, our own annotations and what is out of use to the check, and answers about one action in full', async () => {
    await using booted = await bootKernel()
    const search = booted.kernel.tools().find(({ name }) => name === 'unified_search')!
    expect(JSON.stringify(search.input)).not.toMatch(/"(?:x-[a-z]+|maxLength|minimum|default|format)"/)
    expect(search.input['properties']).not.toHaveProperty('query')
    expect(search.input['properties']).toMatchObject({ pattern: { type: 'string' } })
    const found = await booted.call('unified_search', { action: 'tools', keyword: 'unified_file/edit', detail_level: 'full', max_results: 1 })
    expect(found).toMatchObject({ output: { tools: [{ action: 'edit', description: expect.stringContaining('nearest candidates'), input: { properties: { edits: { maxItems: 64 } } } }] } })
  })

  it('shows a tool without actions as its author wrote it, but for annotations that are ours', async () => {
    const input = '{ $schema: "https://json-schema.org/draft/2020-12/schema", type: object, properties: { format: { type: string, minLength: 2, format: date, default: x, x-aliases: [f] }, where: { type: string, format: workspace-path } } }'
    await using files = await bootKernel({ files: { 'p/one.yaml': `name: one\ndescription: |-\n  First.\n\n  Second.\neffects: []\ninput: ${input}\nmodule: ./one.js\n`, 'p/one.js': 'export default () => ({ ok: true, output: {} })' } })
    await using booted = await bootKernel({ manifests: [`${files.root}/p/one.yaml`] })
    const one = booted.kernel.tools().find(({ name }) => name === 'one')!
    expect(one.description).toBe('First.\n\nSecond.')
    expect(one.input).toMatchObject({ $schema: expect.any(String), properties: { format: { type: 'string', minLength: 2, format: 'date', default: 'x' } } })
    expect((one.input['properties'] as Record<string, object>)['format']).not.toHaveProperty('x-aliases')
    expect((one.input['properties'] as Record<string, object>)['where']).toEqual({ type: 'string' })
  })
})

describe('the list for somebody with fewer rights', () => {
  const reading = ['unified_search', 'unified_file/read']

  it('has no other action in any schema, and costs less than half', async () => {
    await using booted = await bootKernel()
    const { kernel } = booted
    const left = kernel.tools({ audience: 'agent', only: reading })
    expect(left.map(nameOf)).toEqual(['unified_file', 'unified_search'])
    expect(left[0]).toMatchObject({ actions: ['read'], effects: ['read'], input: { properties: { action: { enum: ['read'] } } } })
    expect(left[0]!.description).toMatch(/^read\(path\): [^\n]+$/)
    expect(JSON.stringify(left)).not.toMatch(/unified_exec|apply_patch|old_str|"edit"|"write"/)
    expect(kib(left) / kib(kernel.tools({ audience: 'agent' }))).toBeLessThanOrEqual(0.45)
    // Nothing stays behind.
    expect(kernel.tools()).toEqual(kernel.tools({}))
    expect(kernel.tools().length).toBeGreaterThan(2)
  })

  it('goes by the same names as rules, and shows an alias where something it stands for is left', async () => {
    await using booted = await bootKernel({ dialects: ['unified', 'classic'] })
    const names = (...only: string[]) => booted.kernel.tools({ only }).map(nameOf)
    expect(names('Bash')).toEqual(expect.arrayContaining(['unified_exec']))
    expect(names('Bash')).not.toContain('unified_file')
    expect(names('unified_file/read')).toEqual(expect.arrayContaining(['unified_file', 'read_file']))
    expect(names('unified_file/read')).not.toContain('edit_file')
    expect(names('read_file')).toEqual(['read_file'])
    expect(names('Except(exec, write)').filter((name) => /exec|shell|run_|edit|patch|create/.test(name))).toEqual(['unified_exec'])
    expect(names()).toEqual([])
    await using each = await bootKernel({ dialects: ['each'] })
    expect(each.kernel.tools({ only: reading }).map(nameOf).filter((name) => name.startsWith('unified_file'))).toEqual(['unified_file_read'])
  })
})

describe('the vocabulary `each`', () => {
  it('makes a tool of each action, with its own schema and effects, and shows follow-ups and examples by these names', async () => {
    await using booted = await bootKernel({ files: { 'a.txt': 'x\n'.repeat(300) }, dialects: ['each'] })
    const { kernel } = booted
    const names = kernel.tools().map(nameOf)
    expect(names).toEqual(expect.arrayContaining(['unified_file_read', 'unified_file_write', 'unified_search_grep', 'apply_patch']))
    expect(names).not.toContain('unified_file')
    const read = kernel.tools().find(({ name }) => name === 'unified_file_read')!
    expect(read).toMatchObject({ effects: ['read'], input: { required: ['path'], properties: { offset_lines: { minimum: 1 } } } })
    expect(await booted.call('unified_search_grep', { pattern: 'x' })).toMatchObject({ ok: true, output: { next: { tool: 'unified_search_grep', input: { pattern: 'x', skip: 100 } } } })
    expect(await booted.call('unified_file_read', { pth: 'a.txt' })).toMatchObject({ ok: false, error: { hint: expect.stringContaining('Example: unified_file_read {"path"') } })
  })

  it('never leads from the name of one action to another', async () => {
    await using booted = await bootKernel({ files: { 'a.txt': 'hello' }, dialects: ['each'] })
    expect(await booted.call('unified_file_read', { action: 'read', path: 'a.txt' })).toMatchObject({ ok: true })
    expect(await booted.call('unified_file_read', { action: 'delete', path: 'a.txt' })).toMatchObject({ ok: false, error: { code: 'VT_INPUT_UNKNOWN' } })
    expect(await booted.read('a.txt')).toBe('hello')
  })

  it('keeps a tool whole whose actions would take the name of another tool', async () => {
    await using files = await bootKernel({
      files: {
        'p/a.yaml': 'name: first\naction: thing/one\ndescription: Does one.\neffects: []\nmodule: ./t.js\n',
        'p/b.yaml': 'name: thing_one\ndescription: Does else.\neffects: []\nmodule: ./t.js\n',
        'p/t.js': 'export default () => ({ ok: true, output: {} })',
      },
    })
    await using booted = await bootKernel({ manifests: [`${files.root}/p/a.yaml`, `${files.root}/p/b.yaml`], dialects: ['each'] })
    expect(booted.kernel.tools().map(nameOf).filter((name) => name.startsWith('thing'))).toEqual(['thing', 'thing_one'])
  })
})
