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

/** Follows `next` of each value to its end. Returns the names of all items, and what the first value left out. */
async function followValues(
  { call }: Awaited<ReturnType<typeof connect>>,
  tool: string,
  input: Record<string, unknown>,
  items: (value: any) => string[],
) {
  const all: string[] = []
  let [next, left_out] = [{ tool, input } as { tool: string; input: Record<string, unknown> } | undefined, '']
  for (let step = 0; next && step < 300; step++) {
    const { structuredContent, isError } = await call(next.tool, next.input)
    if (isError) throw new Error(JSON.stringify(structuredContent))
    const value = structuredContent as Record<string, unknown>
    all.push(...items(value))
    if (step === 0) left_out = String(value['left_out'])
    next = value['next'] as typeof next
  }
  return { all, left_out }
}

describe('a value that is longer than its text', () => {
  it('states what is left out, and reaches each item exactly once by its next calls', async () => {
    const numbered = (count: number, rest: string): string =>
      Array.from({ length: count }, (_, at) => `line ${at + 1} ${rest}\n`).join('')
    await using made = await tempWorkspace({
      'hits.txt': numbered(500, 'is wanted here, and it goes on for a while'),
      'calls.ts': Array.from({ length: 400 }, (_, at) => `call(${at})\n`).join(''),
      'large.txt': numbered(26_000, 'of a file that is longer than one value can be'),
      ...Object.fromEntries(Array.from({ length: 1_500 }, (_, at) => [`many/file_with_a_long_name_${at}.txt`, ''])),
    })
    await using it = await connect(made, { flags: ['--structured'] })
    const lines = (value: any): string[] => String(value.content).match(/^line \d+/gm) ?? []
    const numbers = (value: any): string[] => value.matches.map((match: any) => String(match.line_number))
    const paths = (value: any): string[] => value.items.map((item: any) => item.path)
    const many = { action: 'list', path: 'many', mode: 'recursive' }
    const search = 'unified_search'
    const rows: [string, Record<string, unknown>, (value: any) => string[], RegExp, number][] = [
      [
        search,
        { ...many, max_results: 5_000 },
        paths,
        /^Left out: \d+ of 1500 items\. The whole text is in \.vtcode/,
        1_500,
      ],
      [search, { ...many, max_results: 1_000 }, paths, /^Left out: \d+ of 1000 items\./, 1_500],
      [search, { ...grep, path: 'hits.txt' }, numbers, /^Left out: \d+ of 500 matches\./, 500],
      [search, { ...grep, path: 'hits.txt', max_results: 150 }, numbers, /^Left out: \d+ of 150 matches\./, 500],
      [
        search,
        { action: 'structural', pattern: 'call($A)', lang: 'ts', max_results: 300 },
        numbers,
        /^Left out: \d+ of 300 matches/,
        400,
      ],
      [
        'unified_file',
        { action: 'read', path: 'large.txt' },
        lines,
        /^Left out: \d+ of \d+ characters of content\./,
        26_000,
      ],
    ]
    for (const [tool, input, items, expected, count] of rows) {
      const { all, left_out } = await followValues(it, tool, input, items)
      expect(left_out, JSON.stringify(input)).toMatch(expected)
      expect([all.length, new Set(all).size], JSON.stringify(input)).toEqual([count, count])
    }
  })

  it('keeps the end of the output of a command, where its error is', async () => {
    await using made = await tempWorkspace()
    await made.write('../home/.vtcode/vtcode.config.yaml', 'policy: { allow: [exec] }\nsandbox: { mode: off }\n')
    await using it = await connect(made, { flags: ['--structured'] })
    const run = { action: 'run', command: 'seq 1 30000; echo THE ERROR; exit 3' }
    const { structuredContent } = await it.call('unified_exec', run)
    const { stdout, left_out, truncated, exit_code } = structuredContent as Record<string, unknown>
    expect({ truncated, exit_code }).toEqual({ truncated: true, exit_code: 3 })
    expect(stdout).toMatch(/^1\n2\n[^]*characters left out\)[^]*\n30000\nTHE ERROR\n$/)
    expect(left_out).toMatch(/^Left out: \d+ of \d+ characters of stdout\. The whole text is in \.vtcode\/spool\//)
  })
})

describe('a failed MCP call', () => {
  it('shows the details that its hint names and those that a reader needs', async () => {
    await using made = await tempWorkspace({
      'sgconfig.yml': 'ruleDirs: [rules]\n',
      'rules/a.yml': 'id: no-a\nlanguage: TypeScript\nmessage: No.\nrule: { pattern: a }\n',
      'a.txt': 'one\n',
    })
    await made.write(
      '../home/failing/failing.yaml',
      'name: failing\ndescription: Fails.\neffects: [read]\nmodule: ./failing.js\n' +
        'errors: { X_FAILED: { hint: Read details.trace and try again. } }\n',
    )
    await made.write(
      '../home/failing/failing.js',
      "export default () => ({ ok: false, error: { code: 'X_FAILED', message: 'It failed.', details: { trace: 'at line 7', other: 1 } } })\n",
    )
    await made.write('../home/.vtcode/vtcode.config.yaml', `manifests: [builtin, '${made.home}/failing']\n`)
    await using it = await connect(made)
    expect(await it.text('failing', {})).toBe(
      'X_FAILED: It failed.\nRead details.trace and try again.\ntrace: at line 7',
    )
    const scan = { action: 'structural', workflow: 'scan', filter: 'nothing' }
    expect(await it.text('unified_search', scan)).toContain('\nrules: no-a')
    const edits = [
      { old_str: 'one', new_str: 'ONE' },
      { old_str: 'none', new_str: 'x' },
    ]
    expect(await it.text('unified_file', { action: 'edit', path: 'a.txt', edits })).toContain('\nindex: 1')
  })

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
