import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { tempWorkspace, type TempWorkspace } from 'vtcode/test'
import { hostileTree, pathCases, type HostileTree } from '../../support/paths.js'
import { bin, surroundings, vtcode } from '../../support/program.js'

// No surface may be a way around the walk: the same table through each of them.
describe('the hostile paths', () => {
  let tree: HostileTree
  let home: TempWorkspace
  beforeAll(async () => {
    tree = hostileTree()
    home = await tempWorkspace()
  })
  afterAll(async () => {
    tree.remove()
    await home[Symbol.asyncDispose]()
  })
  const holds = ({ code }: { code?: string }, answer: { error?: { code: string }; content?: string }) =>
    code === undefined ? answer.content === 'inside\n' : answer.error?.code === code

  it('are refused over MCP', async () => {
    const client = new Client({ name: 'test', version: '1' })
    const args = [bin, 'mcp', '--workspace', tree.root]
    await client.connect(new StdioClientTransport({ command: process.execPath, args, env: surroundings(home) }))
    const wrong = []
    for (const row of pathCases(tree)) {
      const { structuredContent } = await client.callTool({ name: 'unified_file', arguments: { action: 'read', path: row.path } })
      if (!holds(row, structuredContent as object)) wrong.push({ ...row, answer: structuredContent })
    }
    await client.close()
    expect(wrong).toEqual([])
  })

  it('are refused at the command line', async () => {
    const wrong: unknown[] = []
    // A NUL cannot stand in an argument of a process.
    const rows = pathCases(tree).filter(({ path }) => !path.includes('\0'))
    const work = async () => {
      for (let row = rows.pop(); row; row = rows.pop()) {
        const { stdout } = await vtcode(home, ['call', '--workspace', tree.root, 'unified_file', 'read', `--path=${row.path}`])
        const answer = JSON.parse(stdout)
        if (!holds(row, answer.ok ? answer.output : answer)) wrong.push({ ...row, answer })
      }
    }
    await Promise.all([work(), work(), work()])
    expect(wrong).toEqual([])
  }, 120_000)
})
