import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, it } from 'vitest'
import { tempWorkspace, type TempWorkspace } from 'vtcode/test'
import { bin, surroundings } from '../../support/program.js'

const ASKS = 'dev.vtcode/structured'
const eras = [
  ['2025-11-25', {}],
  ['2026-07-28', { versionNegotiation: { mode: { pin: '2026-07-28' } } }],
] as [string, ConstructorParameters<typeof Client>[1]][]

async function connect(
  made: TempWorkspace,
  {
    flags = [],
    words = [],
    options = {},
  }: { flags?: string[]; words?: string[]; options?: ConstructorParameters<typeof Client>[1] } = {},
) {
  const client = new Client({ name: 'test', version: '1' }, options)
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [bin, ...words, 'mcp', ...flags],
      cwd: made.root,
      env: surroundings(made),
      stderr: 'ignore',
    }),
  )
  const call = (name: string, input: Record<string, unknown>, meta?: Record<string, unknown>) =>
    client.callTool({ name, arguments: input, ...(meta && { _meta: meta }) })
  return {
    client,
    call,
    text: async (...of: Parameters<typeof call>) =>
      ((await call(...of)).content as { text: string }[]).map(({ text }) => text).join('\n'),
    [Symbol.asyncDispose]: () => client.close(),
  }
}
const bytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value))
const hits = (lines: number): string =>
  Array.from({ length: lines }, (_, i) => `line ${i} is wanted here, and it goes on for a while\n`).join('')
const grep = { action: 'grep', pattern: 'wanted', max_results: 5_000 }

describe.each(eras)('an answer in revision %s', (_, options) => {
  it('holds text alone, and a bounded value where the request asks for it', async () => {
    await using made = await tempWorkspace({ 'a.txt': hits(5_000) })
    await using it = await connect(made, { options })
    expect((await it.client.listTools()).tools.filter(({ outputSchema }) => outputSchema)).toEqual([])
    const plain = await it.call('unified_search', grep)
    expect(plain).not.toHaveProperty('structuredContent')
    expect(bytes(plain)).toBeLessThan(9_000)
    expect(await it.call('unified_search', grep, { [ASKS]: false })).not.toHaveProperty('structuredContent')

    const { structuredContent, content } = await it.call('unified_search', grep, { [ASKS]: true })
    expect(content).toEqual([{ type: 'text', text: expect.stringContaining('the whole text is in .vtcode/spool/') }])
    expect(structuredContent).toMatchObject({
      total_matches: 5_000,
      truncated: true,
      matches: expect.arrayContaining([expect.objectContaining({ file: 'a.txt', line_number: 1 })]),
    })
    expect(bytes(structuredContent)).toBeLessThanOrEqual(8_192)
    const few = await it.call('unified_search', { ...grep, max_results: 100 }, { [ASKS]: true })
    expect((few.structuredContent as { matches: unknown[] }).matches).toHaveLength(100)
    const failed = await it.call('unified_file', { action: 'read', path: '../x' }, { [ASKS]: true })
    expect(failed).toMatchObject({ isError: true, structuredContent: { error: { code: 'VT_PATH_OUTSIDE' } } })
  })

  it('refuses a request that asks for the value in another way, and ignores a foreign _meta', async () => {
    await using made = await tempWorkspace({ 'a.txt': 'hello\n' })
    await using it = await connect(made, { options })
    for (const wrong of ['yes', 1, {}, [true], null])
      await expect(it.call('unified_file', { action: 'read', path: 'a.txt' }, { [ASKS]: wrong })).rejects.toMatchObject(
        { code: -32602, message: expect.stringContaining('true or false') },
      )
    expect(
      await it.text('unified_file', { action: 'read', path: 'a.txt' }, { 'com.example/thing': [1], structured: 'x' }),
    ).toBe('hello\n')
  })
})

describe('vtcode mcp --structured', () => {
  it('gives every tool a schema, and every answer a value that matches it', async () => {
    await using made = await tempWorkspace({ 'a.txt': hits(300), 'b.ts': 'export const a = 1\n' })
    await using it = await connect(made, { flags: ['--structured'] })
    const { tools } = await it.client.listTools()
    const schemas = new Map(tools.map(({ name, outputSchema }) => [name, outputSchema]))
    expect(tools.filter(({ outputSchema }) => !outputSchema).map(({ name }) => name)).toEqual([])
    const calls: [string, Record<string, unknown>][] = [
      ['unified_file', { action: 'read', path: 'a.txt' }],
      ['unified_file', { action: 'read', path: 'b.ts', response_format: 'detailed' }],
      ['unified_search', { action: 'list' }],
      ['unified_search', grep],
      ['unified_search', { action: 'outline', path: 'b.ts' }],
      ['unified_file', { action: 'write', path: 'c.txt', content: 'x' }],
      ['unified_exec', { action: 'list' }],
    ]
    for (const [name, input] of calls) {
      const { structuredContent, isError } = await it.call(name, input)
      expect(isError, JSON.stringify(input)).toBeFalsy()
      const validate = new Ajv2020({ strict: false }).compile(schemas.get(name) as object)
      expect(validate(structuredContent) ? [] : validate.errors, JSON.stringify(input)).toEqual([])
    }
  })
})

describe('a failed MCP call', () => {
  it('states the code, the error, the hint and the next call', async () => {
    await using made = await tempWorkspace({ 'src/main.ts': 'export {}\n' })
    await using it = await connect(made)
    const lines = (await it.text('unified_file', { action: 'read', path: 'src' })).split('\n')
    expect(lines[0]).toBe("VT_PATH_IS_DIRECTORY: 'src' is a directory; a file is needed.")
    expect(lines.at(-1)).toBe('Next: unified_search {"action":"list","path":"src"}')
  })

  it('uses the vocabulary that was called, also in the next call', async () => {
    await using made = await tempWorkspace({ 'src/main.ts': 'export {}\n', 'a.txt': hits(900) })
    await using classic = await connect(made, { words: ['--dialect', 'classic'] })
    const said = await classic.text('read_file', { path: 'src' })
    expect(said).toContain('Next: list_files {"path":"src"')
    expect(said).not.toContain('unified_')
    await using each = await connect(made, { words: ['--dialect', 'each'] })
    expect(await each.text('unified_file_read', { path: 'src' })).toMatch(/Next: unified_search_list \{"path":"src"\}$/)
  })
})

describe('a paged MCP answer', () => {
  it('ends with the next call, in short form where the page names its next field', async () => {
    const file = (i: number) => `export function f${i}() {}\n`
    await using made = await tempWorkspace({
      'a.txt': hits(900),
      ...Object.fromEntries(Array.from({ length: 400 }, (_, i) => [`src/f${i}.ts`, file(i)])),
    })
    await using it = await connect(made)
    expect(await it.text('unified_file', { action: 'read', path: 'a.txt', page_size_lines: 2 })).toMatch(
      /\[lines 1-2 of 900; next offset_lines=3\]$/,
    )
    expect(await it.text('unified_search', { action: 'grep', pattern: 'wanted', max_results: 2 })).toMatch(
      /continue with skip=2$/,
    )
  })
})

describe('MCP progress', () => {
  it('counts reports without a figure, and shows no figure that was not given', async () => {
    await using made = await tempWorkspace()
    await made.write(
      '../home/steps/steps.yaml',
      'name: steps\ndescription: Reports.\neffects: [read]\ninput: { properties: { given: { type: array } } }\nmodule: ./steps.js\n',
    )
    await made.write(
      '../home/steps/steps.js',
      'export default async ({ input }, context) => { for (const done of input.given) { context.progress({ ...(done !== null && { done }), text: "a step" }); await context.workspace.read("none").catch(() => {}); await new Promise((r) => setTimeout(r, 250)) } return { ok: true, output: {} } }',
    )
    await made.write('../home/.vtcode/vtcode.config.yaml', `manifests: [builtin, '${made.home}/steps']\n`)
    await using it = await connect(made)
    const figures = async (given: (number | null)[]) => {
      const seen: number[] = []
      await it.client.callTool(
        { name: 'steps', arguments: { given } },
        { onprogress: ({ progress }) => void seen.push(progress) },
      )
      return seen
    }
    expect(await figures([null, null, null])).toEqual([1, 2, 3])
    expect(await figures([10, 10, null, 20])).toEqual([10, 10.01, 10.02, 20])
  })
})
