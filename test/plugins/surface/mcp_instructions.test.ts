import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { describe, expect, it } from 'vitest'
import { tempWorkspace } from 'vtcode/test'
import { bin, surroundings } from '../../support/program.js'

/** Returns the instructions of a server and the tools that it lists. */
async function told(
  flags: string[],
): Promise<{ text: string; listed: { name: string; description?: string | undefined }[] }> {
  await using made = await tempWorkspace()
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [bin, ...flags],
      cwd: made.root,
      env: surroundings(made),
    }),
  )
  const { tools } = await client.listTools()
  const text = client.getInstructions() ?? ''
  await client.close()
  return { text, listed: tools }
}

describe('instructions of the MCP server', () => {
  it.each([
    ['mcp'],
    ['mcp', '--lean'],
    ['mcp', '--structured'],
    ['--dialect', 'each', 'mcp'],
    ['--dialect', 'classic', 'mcp'],
    ['--dialect', 'omp', 'mcp'],
    ['--dialect', 'thndrs', 'mcp'],
  ])('names only listed tools and actions, in at most 600 bytes: %s %s %s', async (...flags) => {
    const { text, listed } = await told(flags.filter(Boolean))
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(600)
    expect(text).not.toMatch(/[{}]|\. [a-z]/)
    const named = [...text.matchAll(/\b([a-z]+_[a-z_]+)(?: (outline|read|grep|list|structural|edit)\b)?/g)]
    expect(named.length).toBeGreaterThanOrEqual(flags.includes('omp') ? 0 : 4)
    for (const [, name, action] of named) {
      const tool = listed.find((one) => one.name === name)
      expect([name, tool?.name]).toEqual([name, name])
      if (action)
        expect([name, tool!.description]).toEqual([name, expect.stringMatching(new RegExp(`^${action}\\b`, 'm'))])
    }
  })

  it('recommends outline before read and grep before list', async () => {
    for (const flags of [['mcp'], ['mcp', '--lean'], ['--dialect', 'each', 'mcp']]) {
      const { text } = await told(flags)
      const places = ['outline', 'file.read', 'grep', 'search.list'].map((word) => text.search(new RegExp(word)))
      expect(places).toEqual(places.toSorted((a, b) => a - b))
      expect(places[0]).toBeGreaterThan(0)
      expect(text).toMatch(/Before you read .*outline.*\. .*grep first/)
    }
  })

  it('mentions no tool that the user excluded', async () => {
    const { text } = await told(['--allowed-tools', 'unified_file', 'mcp'])
    expect(text).toContain('unified_file_read')
    expect(text).not.toContain('unified_search')
  })
})
