import { readFileSync } from 'node:fs'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { describe, expect, it } from 'vitest'
import { tempWorkspace } from 'vtcode/test'
import { bin, surroundings } from '../../support/program.js'

const eras = [
  ['2025-11-25', {}],
  ['2026-07-28', { versionNegotiation: { mode: { pin: '2026-07-28' } } }],
] as [string, ConstructorParameters<typeof Client>[1]][]

describe.each(eras)('reading over MCP in revision %s', (_, options) => {
  it.each([[[]], [['--lean']]])(
    'lists a read-only tool for reading next to the one that may destroy, with flags %j',
    async (flags) => {
      await using made = await tempWorkspace({ 'a.txt': 'hello\n' })
      const client = new Client({ name: 'test', version: '1' }, options)
      await client.connect(
        new StdioClientTransport({
          command: process.execPath,
          args: [bin, 'mcp', ...flags],
          cwd: made.root,
          env: surroundings(made),
          stderr: 'ignore',
        }),
      )
      try {
        const tools = new Map((await client.listTools()).tools.map((tool) => [tool.name, tool]))
        expect(tools.get('unified_file_read')).toMatchObject({
          annotations: { readOnlyHint: true, openWorldHint: false },
          inputSchema: { required: ['path'], properties: { path: {}, pages: {} } },
        })
        expect(tools.get('unified_file')).toMatchObject({ annotations: { readOnlyHint: false, destructiveHint: true } })
        expect(tools.get('unified_search')).toMatchObject({ annotations: { readOnlyHint: true } })
        expect([...tools.keys()].filter((name) => /^unified_.*_/.test(name))).toEqual(['unified_file_read'])
        const text = async (name: string, args: Record<string, unknown>) =>
          ((await client.callTool({ name, arguments: args })).content as { text: string }[])
            .map(({ text }) => text)
            .join('\n')
        expect(await text('unified_file_read', { path: 'a.txt' })).toBe('hello\n')
        expect(await text('unified_file', { action: 'read', path: 'a.txt' })).toMatch(/^(hello|Same result)/)
        // Examples and next calls speak the name that is listed, whichever was called.
        expect(await text('unified_file', { action: 'read' })).toContain('Example: unified_file_read {"path":')
        expect(await text('unified_file_read', { path: 'a.txt', offset_lines: 9 })).toContain(
          'Next: unified_file_read {"path":"a.txt"',
        )
        expect(await text('unified_file', { action: 'edit', path: 'a.txt' })).toContain(
          'Example: unified_file {"action":"edit"',
        )
      } finally {
        await client.close()
      }
    },
  )
})

it('names only read-only tools in the reading rules of the page on other programs', async () => {
  await using made = await tempWorkspace({})
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [bin, 'mcp'],
      cwd: made.root,
      env: surroundings(made),
      stderr: 'ignore',
    }),
  )
  try {
    const readers = (await client.listTools()).tools
      .filter(({ annotations }) => annotations?.readOnlyHint)
      .map(({ name }) => name)
    const page = readFileSync(new URL('../../../docs/compatibility.md', import.meta.url), 'utf8')
    const named = new Set([...page.matchAll(/mcp__vtcode__(\w+)/g)].map(([, name]) => name!))
    expect([...named].sort()).toEqual(['unified_file_read', 'unified_search'])
    expect(readers).toEqual(expect.arrayContaining([...named]))
  } finally {
    await client.close()
  }
})
