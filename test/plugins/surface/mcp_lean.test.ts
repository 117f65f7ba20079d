import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { describe, expect, it } from 'vitest'
import { tempWorkspace } from 'vtcode/test'
import { bin, surroundings } from '../../support/program.js'

const many = 300
const plugin = (i: number): Record<string, string> => ({
  [`../home/many/tool_${i}.yaml`]: `name: tool_${i}\ndescription: Paints fence number ${i} in ${i === 77 ? 'turquoise' : 'grey'}.\neffects: [read]\ninput: { required: [coats], properties: { coats: { type: integer } } }\nmodule: ./paint.js\n`,
})

it('lists all tools of vtcode mcp in at most 12 KiB, with their annotations', async () => {
  await using made = await tempWorkspace()
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [bin, 'mcp'],
      cwd: made.root,
      env: surroundings(made),
    }),
  )
  const { tools } = await client.listTools()
  expect(Buffer.byteLength(JSON.stringify(tools))).toBeLessThanOrEqual(12 * 1024)
  await client.close()
})

describe.each([['2025-11-25'], ['2026-07-28']])('vtcode mcp --lean, revision %s', (era) => {
  it('lists what most calls need, finds the other tools by words, and calls them', async () => {
    await using made = await tempWorkspace()
    for (const [path, text] of Array.from({ length: many }, (_, i) => Object.entries(plugin(i))).flat())
      await made.write(path, text)
    await made.write(
      '../home/many/paint.js',
      'export default ({ input }) => ({ ok: true, output: { coats: input.coats } })',
    )
    await made.write('../home/.vtcode/vtcode.config.yaml', `manifests: [builtin, '${made.home}/many']\n`)
    const client = new Client(
      { name: 'test', version: '1' },
      { versionNegotiation: { mode: era === '2025-11-25' ? 'legacy' : { pin: era } } },
    )
    await client.connect(
      new StdioClientTransport({
        command: process.execPath,
        args: [bin, 'mcp', '--lean'],
        cwd: made.root,
        env: surroundings(made),
      }),
    )
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(['unified_search', 'call_tool']))
    expect(tools.filter(({ name }) => name.startsWith('tool_'))).toEqual([])
    expect(tools.find(({ name }) => name === 'call_tool')!.description).toMatch(/more tools$/)

    const found = await client.callTool({
      name: 'unified_search',
      arguments: { action: 'tools', keyword: 'turquoise', detail_level: 'full' },
    })
    expect(JSON.stringify(found.content)).toContain('tool_77')
    const call = (args: object) => client.callTool({ name: 'call_tool', arguments: { ...args } })
    expect((await call({ tool: 'tool_77', input: { coats: 2 } })).content).toEqual([
      { type: 'text', text: '{"coats":2}' },
    ])
    expect(await call({ tool: 'tool_77', input: {} })).toMatchObject({
      isError: true,
      content: [{ text: expect.stringMatching(/^VT_INPUT_MISSING: /) }],
    })
    expect(await call({ tool: 'tool_x' })).toMatchObject({
      isError: true,
      content: [{ text: expect.stringMatching(/^VT_TOOL_UNKNOWN: /) }],
    })
    expect(await call({})).toMatchObject({ isError: true })
    await client.close()
  })
})
