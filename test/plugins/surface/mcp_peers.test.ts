import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { describe, expect, it } from 'vitest'
import { tempWorkspace } from 'vtcode/test'
import { serveMcp } from '../../support/mcp_http.js'
import { bin, surroundings } from '../../support/program.js'

/** Most clients in the field are made with the first version of the SDK. */
describe('a client of the first MCP SDK', () => {
  it('lists, calls, answers an approval and cancels over pipes', async () => {
    await using made = await tempWorkspace({ 'a.txt': 'hello\n' })
    const client = new Client({ name: 'v1', version: '1' }, { capabilities: { elicitation: {} } })
    client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'accept', content: { approve: true } }))
    await client.connect(
      new StdioClientTransport({
        command: process.execPath,
        args: [bin, '-c', 'policy.ask=["Read(a.txt)"]', 'mcp'],
        cwd: made.root,
        env: surroundings(made),
      }),
    )
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain('unified_file')
    expect(
      (await client.callTool({ name: 'unified_file', arguments: { action: 'read', path: 'a.txt' } })).content,
    ).toEqual([{ type: 'text', text: 'hello\n' }])
    expect(await client.callTool({ name: 'unified_file', arguments: { action: 'read', path: '../x' } })).toMatchObject({
      isError: true,
    })
    await expect(client.callTool({ name: 'constructor', arguments: {} })).rejects.toMatchObject({ code: -32602 })
    const stop = new AbortController()
    const waiting = client.callTool(
      { name: 'unified_exec', arguments: { action: 'run', command: 'sleep 600' } },
      undefined,
      { signal: stop.signal },
    )
    setTimeout(() => stop.abort(), 500)
    await expect(waiting).rejects.toThrow()
    expect((await client.listResources()).resources.length).toBeGreaterThan(0)
    expect((await client.listPrompts()).prompts).toBeInstanceOf(Array)
    await client.close()
  })

  it('lists and calls over HTTP, in a session of its own', async () => {
    await using made = await tempWorkspace({ 'a.txt': 'hello\n' })
    const { child, url, authorization } = await serveMcp(made)
    const transport = new StreamableHTTPClientTransport(url, { requestInit: { headers: { authorization } } })
    const client = new Client({ name: 'v1', version: '1' })
    await client.connect(transport as Parameters<Client['connect']>[0])
    expect(
      (await client.callTool({ name: 'unified_file', arguments: { action: 'read', path: 'a.txt' } })).content,
    ).toEqual([{ type: 'text', text: 'hello\n' }])
    expect(transport.sessionId).toMatch(/^[0-9a-f-]{36}$/)
    await transport.terminateSession()
    await client.close()
    child.kill()
  })
})
