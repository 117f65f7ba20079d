import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import type { Config } from 'vtcode'
import { bootKernel, tempWorkspace, type TempWorkspace } from 'vtcode/test'
import { call, home, startPeer, vtcode as agent } from '../../../support/peer.js'
import { bin, surroundings, vtcode } from '../../../support/program.js'

const fixture = fileURLToPath(new URL('../../../fixtures/mcp/schemas.mjs', import.meta.url))
const config = {
  automation: { full_auto: { enabled: true, allowed_tools: ['read', 'write', 'exec', 'net'] } },
  mcp: { servers: { s: { command: process.execPath, args: [fixture] } } },
} as Config

/** Rows of a tool, the input of the caller and the input at the server (default: unchanged). */
const reaches: [string, object, object?][] = [
  ['unassign', { issue: 7, assignee: null }],
  ['unassign', { issue: 7, assignee: 'ada' }],
  [
    'nullable',
    { any_of: null, referred: null, choice: null, untyped: null, open_api: null, never: null },
    { any_of: null, referred: null, choice: null, untyped: null, open_api: null },
  ],
  ['anything', { a: 1, input: { deep: [null] }, 'x.0': '', response_formats: null }],
  ['anything', { params: { a: 1 } }],
  ['set_env', { PATH: '/bin', path: '/sbin', EMPTY: '' }],
  ['mixed', { name: 'n', Name: 'N', na_me: 3 }],
  ['headers', { name: 'n', 'X-A': 'a' }],
  ['either', { id: 1 }],
  ['either', { name: 'n', more: true }],
  ['evaluated', { a: 'x', b: 'y' }],
  ['closed', { Name: 'n' }, { name: 'n' }],
  ['nothing', {}],
  ['default_null', {}],
  ['default_null', { page: 2 }],
  ['draft_04', { n: 1, m: 9 }],
  ['draft_03', { n: 3, list: ['a', 1] }],
  ['words', { empty: '', text: 'x', typed: 1, same: ['a', 'a'] }],
  ['pattern', { code: 'ab' }],
  [
    'odata',
    { filter: 'x', id: 'y', filter_name: 'n', StartTime: 't', a_b: 'z', plain: 'p', level: '2' },
    { $filter: 'x', '@id': 'y', 'filter[name]': 'n', 'StartTime>': 't', 'a b': 'z', plain: 'p', level: 2 },
  ],
  ['odata', { $filter: 'x', 'filter[name]': 'n', level: 3 }],
  ['alike', { ids: 'x', ids_6e89b5f4: ['y'] }, { ids: 'x', 'ids[]': ['y'] }],
  [
    'deep',
    { items: [{ type: 'a', child: { type: 'b' } }], map: { one: { type: 'c' }, type: { '@type': 'd' } } },
    {
      items: [{ '@type': 'a', 'child[]': { '@type': 'b' } }],
      map: { one: { '@type': 'c' }, type: { '@type': 'd' } },
    },
  ],
]
const refused: [string, object, string][] = [
  ['unassign', { issue: 7 }, 'VT_INPUT_MISSING'],
  ['set_env', { A: [1] }, 'VT_INPUT_INVALID'],
  ['headers', { other: 'n' }, 'VT_INPUT_UNKNOWN'],
  ['either', {}, 'VT_INPUT_MISSING'],
  ['evaluated', { c: 'x' }, 'VT_INPUT_UNKNOWN'],
  ['closed', { nme: 'n' }, 'VT_INPUT_UNKNOWN'],
  ['nothing', { a: 1 }, 'VT_INPUT_UNKNOWN'],
  ['draft_04', { n: 0 }, 'VT_INPUT_INVALID'],
  ['odata', { filter: 'x', level: 4 }, 'VT_INPUT_INVALID'],
  ['odata', { id: 'x' }, 'VT_INPUT_MISSING'],
]

describe('mcp client: foreign input schema', () => {
  it('passes exactly what a foreign schema allows to the server, from the library', async () => {
    await using vt = await bootKernel({ config })
    for (const [tool, input, arrives = input] of reaches) {
      const result = await vt.call(`mcp__s__${tool}`, input)
      expect([tool, result.ok ? JSON.parse(result.text!) : result.error]).toEqual([tool, arrives])
    }
    for (const [tool, input, code] of refused)
      expect([tool, await vt.call(`mcp__s__${tool}`, input)]).toMatchObject([tool, { ok: false, error: { code } }])
    expect(vt.kernel.diagnostics().filter(({ message }) => message.includes('mcp__s__'))).toEqual([])
  })

  it('lists every property of a foreign schema under a name that each wire accepts, with its own name', async () => {
    await using vt = await bootKernel({ config })
    const listNames = (name: string) => {
      const { input } = vt.kernel.tools().find((tool) => tool.name === `mcp__s__${name}`)!
      return input as { properties: Record<string, { description?: string; type: string }>; required?: string[] }
    }
    await vt.call('mcp__s__nothing', {})
    const odata = listNames('odata')
    expect(Object.keys(odata.properties)).toEqual(['filter', 'id', 'filter_name', 'StartTime', 'a_b', 'plain', 'level'])
    expect(odata.required).toEqual(['filter'])
    expect(odata.properties['filter_name']).toEqual({ type: 'string', description: '`filter[name]`' })
    expect(odata.properties['level']).toEqual({ type: 'integer', description: 'One of 1, 2, 3.' })
    const alike = Object.keys(listNames('alike').properties)
    expect(alike).toHaveLength(5)
    expect(alike.filter((name) => !/^[a-zA-Z0-9_.-]{1,64}$/.test(name))).toEqual([])
  })

  it('passes an input whose name is a property of every object to the server', async () => {
    await using vt = await bootKernel({ config })
    const result = await vt.call('mcp__s__anything', '{"__proto__":{"polluted":1},"constructor":2}')
    expect(result).toMatchObject({ ok: true, text: '{"__proto__":{"polluted":1},"constructor":2}' })
    expect(({} as { polluted?: number }).polluted).toBeUndefined()
  })

  it('passes what a foreign schema allows to the server, from the command line', async () => {
    await using place = await withServer()
    const said = async (...words: string[]): Promise<unknown> => {
      const { stdout, stderr } = await vtcode(place, ['--mode', 'full-auto', 'call', ...words])
      expect(stderr).toBe('')
      return JSON.parse(JSON.parse(stdout).text)
    }
    expect(await said('mcp__s__unassign', '--input', '{"issue":7,"assignee":null}')).toEqual({
      issue: 7,
      assignee: null,
    })
    expect(await said('mcp__s__set_env', '--PATH', '/bin', '--path', '/sbin')).toEqual({ PATH: '/bin', path: '/sbin' })
    expect(await said('mcp__s__either', '--id', '1')).toEqual({ id: 1 })
  })

  it('passes what a foreign schema allows to the server, over MCP', async () => {
    await using place = await withServer()
    const client = new Client({ name: 'test', version: '1' })
    await client.connect(
      new StdioClientTransport({
        command: process.execPath,
        args: [bin, '--mode', 'full-auto', 'mcp'],
        cwd: place.root,
        env: surroundings(place),
        stderr: 'ignore',
      }),
    )
    const { tools } = await client.listTools()
    expect(tools.find(({ name }) => name === 'mcp__s__either')?.inputSchema.properties).toMatchObject({
      id: { type: 'integer' },
      name: { type: 'string' },
    })
    for (const [tool, input, arrives = input] of reaches) {
      const { content } = await client.callTool({
        name: `mcp__s__${tool}`,
        arguments: input as Record<string, unknown>,
      })
      expect([tool, JSON.parse((content as { text: string }[])[0]!.text)]).toEqual([tool, arrives])
    }
    await client.close()
  })

  it('passes what a foreign schema allows to the server, from the agent', async () => {
    const calls = reaches.map(([tool, input], at) => call(`mcp__s__${tool}`, input, `c${at}`))
    await using peer = await startPeer([{ toolCalls: calls }, { content: 'Done.' }])
    await using place = await home(peer, {}, { settings: config })
    const { code, err } = await agent(place, ['--mode', 'full-auto', 'exec', 'call them'])
    expect([code, err]).toEqual([0, expect.stringContaining('success')])
    const answers = peer.bodies[1].messages
      .filter(({ role }: { role: string }) => role === 'tool')
      .map(({ content }: { content: string }) => JSON.parse(content))
    expect(answers).toEqual(reaches.map(([, input, arrives = input]) => arrives))
  })
})

async function withServer(): Promise<TempWorkspace> {
  const place = await tempWorkspace()
  await place.write('../home/.vtcode/vtcode.config.yaml', JSON.stringify(config))
  return place
}
