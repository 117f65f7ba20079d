import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { describe, expect, it } from 'vitest'
import { bootKernel, tempWorkspace, type Boot } from 'vtcode/test'
import { createConversation, ok } from '../../../build/core/shapes/index.js'
import { eventsOf, home, call as toolCall, startPeer, vtcode as agent } from '../../support/peer.js'
import { bin, surroundings, vtcode } from '../../support/program.js'

const files = {
  'spawn.yaml':
    'name: spawn\naction: crew/spawn\ndescription: Begins a helper.\neffects: [read]\naudience: agent\nmodule: ./crew.js\ninput: { properties: { text: { type: string } } }\n',
  'close.yaml':
    'name: close\naction: crew/close\ndescription: Ends a helper.\neffects: [read]\naudience: agent\nmodule: ./crew.js\ninput: {}\n',
  'former.yaml': 'name: spawn_helper\ndescription: Begins a helper.\nalias: { to: crew/spawn, pass: [text] }\n',
  'crew.js':
    'export default async ({ input }, { conversation }) => ({ ok: true, output: { services: Object.keys(conversation), answer: (await conversation.tracker.add(input)).output } })\n',
  'plain.yaml':
    'name: plain\ndescription: Calls.\neffects: [read]\nmodule: ./plain.js\ninput: { properties: { tool: { type: string } } }\n',
  'plain.js':
    'export default async ({ input }, { call, conversation }) => ({ ok: true, output: { conversation: typeof conversation, result: await call(input.tool, {}) } })\n',
  'runner.yaml': 'name: runner\ndescription: Runs a script.\neffects: [read]\nmodule: ./runner.js\ninput: {}\n',
  'runner.js':
    "export default async (_, { call }) => ({ ok: true, output: { result: await call('unified_exec/code', { code: \"return agent('Report what the folder holds.').catch((error) => error.code)\" }) } })\n",
}
async function boot(how: Boot = {}) {
  const place = await tempWorkspace(files)
  const one = await bootKernel({ manifests: [place.root], config: { sandbox: { mode: 'off' } } as never, ...how })
  return {
    ...one,
    [Symbol.asyncDispose]: async () => void (await one[Symbol.asyncDispose](), await place[Symbol.asyncDispose]()),
  }
}
const services = ['tracker', 'plan', 'schedule', 'delegation', 'report']
const ofAgent = {
  audiences: ['agent'],
  conversation: () => createConversation(async (service, action, heard) => ok({ service, action, heard })),
}
const none = {
  ok: false,
  error: {
    code: 'VT_AGENT_NONE',
    message: expect.stringMatching(/^Only an agent can call (crew|crew\/spawn), within its conversation\.$/),
    hint: expect.stringContaining('vtcode exec'),
  },
}

describe('tool with an audience', () => {
  it('gives agents to a script of the agent, and none to a script that a plugin starts', async () => {
    await using one = await boot()
    const own = "return agent('Report what the folder holds.').catch((error) => error.code)"
    const direct = await one.kernel.call('unified_exec', { action: 'code', code: own }, ofAgent)
    expect(JSON.stringify(direct)).not.toContain('VT_AGENT_NONE')
    const nested = await one.kernel.call('runner', {}, ofAgent)
    expect(JSON.stringify(nested)).toContain('VT_AGENT_NONE')
  })

  it('lists a tool of an audience for that audience alone', async () => {
    await using one = await boot()
    const { kernel } = one
    expect(kernel.tools({ audience: 'agent' }).find(({ name }) => name === 'crew')).toMatchObject({
      actions: ['close', 'spawn'],
    })
    expect(kernel.tools({ audience: 'agent', only: ['crew/close'] })).toMatchObject([
      { name: 'crew', actions: ['close'] },
    ])
    expect(
      [
        JSON.stringify(kernel.tools()),
        JSON.stringify(kernel.list()),
        JSON.stringify(kernel.tools({ audience: 'other' })),
      ].some((text) => text.includes('"crew')),
    ).toBe(false)
    expect(kernel.describe('crew')).toBeUndefined()
    expect(
      JSON.stringify(await one.call('unified_search', { action: 'tools', keyword: '*', max_results: 100 })),
    ).not.toContain('crew')
    expect(JSON.stringify(await one.call('crw', {}))).not.toContain('crew')
  })

  it('lets a caller of the audience call its tool with the services of the conversation', async () => {
    await using one = await boot()
    expect(await one.kernel.call('crew', { action: 'spawn', text: 'x' }, ofAgent)).toMatchObject({
      ok: true,
      output: { services, answer: { heard: { text: 'x' } } },
    })
    expect(await one.kernel.call('spawn_helper', { text: 'y' }, ofAgent)).toMatchObject({
      ok: true,
      output: { answer: { heard: { text: 'y' } } },
    })
    expect(await one.kernel.resolve('crew', { action: 'spawn' })).toMatchObject({
      slot: { slot: 'crew/spawn', audience: 'agent' },
      effects: ['read'],
    })
    // A tool without an audience gets no services.
    expect(await one.kernel.call('plain', { tool: 'plain' }, ofAgent)).toMatchObject({
      ok: true,
      output: { conversation: 'undefined' },
    })
    // A plugin of another author fails with its own error if the caller provides no services.
    expect(await one.kernel.call('crew', { action: 'spawn', text: 'x' }, { audiences: ['agent'] })).toMatchObject({
      ok: false,
      error: { code: 'VT_PLUGIN_FAILED' },
    })
  })

  it('hides a tool of an audience from all other callers, under any name, input or other tool', async () => {
    await using one = await boot()
    for (const [tool, input] of [
      ['crew', { action: 'spawn' }],
      ['crew', {}],
      ['crew', { action: 'nothing' }],
      ['crew_spawn', {}],
      ['crew/spawn', { strange: 1 }],
      ['spawn_helper', { text: 'x' }],
    ] as const) {
      expect(await one.kernel.call(tool, input), tool).toMatchObject(none)
      expect(await one.kernel.call(tool, input, { ...ofAgent, audiences: ['other'] }), tool).toMatchObject(none)
      expect(await one.kernel.explain(tool, input)).toMatchObject({
        verdict: 'refused',
        reason: expect.stringContaining('within its conversation'),
      })
    }
    // A tool that calls during an agent's call does not belong to the audience.
    expect(await one.kernel.call('plain', { tool: 'crew_spawn' }, ofAgent)).toMatchObject({
      ok: true,
      output: { result: none },
    })
    const code = "export const result = await vtcode.call('crew_spawn', {}).catch(({ code }) => code)"
    expect(
      await one.kernel.call('unified_exec', { action: 'code', language: 'javascript', code }, ofAgent),
    ).toMatchObject({ ok: true, output: { result: 'VT_AGENT_NONE' } })
  })

  it('rejects a manifest with an unknown audience', async () => {
    await using place = await tempWorkspace({
      ...files,
      'spawn.yaml': files['spawn.yaml'].replace('audience: agent', 'audience: everybody'),
    })
    await using one = await bootKernel({ manifests: [place.root] })
    expect(one.kernel.diagnostics().filter(({ code }) => code === 'VT_MANIFEST_INVALID')).toMatchObject([
      { message: expect.stringContaining('audience') },
    ])
  })

  it('hides a tool of the agent audience from MCP clients and the command line', async () => {
    await using made = await tempWorkspace()
    for (const [name, text] of Object.entries(files)) await made.write(`../home/crew/${name}`, text)
    await made.write('../home/.vtcode/vtcode.config.yaml', `manifests: [builtin, '${made.home}/crew']\n`)
    for (const flags of [[], ['--lean']]) {
      const client = new Client({ name: 'test', version: '1' })
      await client.connect(
        new StdioClientTransport({
          command: process.execPath,
          args: [bin, 'mcp', ...flags],
          cwd: made.root,
          env: surroundings(made),
        }),
      )
      try {
        expect(JSON.stringify(await client.listTools())).not.toContain('crew')
        const called = async (name: string, input: object) =>
          JSON.stringify(await client.callTool({ name, arguments: { ...input } }))
        expect(await called('crew', { action: 'spawn' })).toMatch(/VT_AGENT_NONE.*within its conversation/)
        expect(await called('spawn_helper', {})).toContain('VT_AGENT_NONE')
        expect(await called('unified_search', { action: 'tools', keyword: 'helper' })).not.toContain('crew')
        expect(await called('call_tool', { tool: 'crew_spawn', input: {} })).toContain('VT_AGENT_NONE')
      } finally {
        await client.close()
      }
    }
    expect((await vtcode(made, ['tools'])).stdout).not.toContain('crew')
    expect(await vtcode(made, ['tools', 'crew'])).toMatchObject({ code: 2 })
    expect(await vtcode(made, ['call', 'crew', 'spawn'])).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('VT_AGENT_NONE'),
    })
  })

  it('offers a tool of the agent audience to an agent, which can disallow it', async () => {
    await using peer = await startPeer([
      { toolCalls: [toolCall('crew', { action: 'spawn' })] },
      { content: 'ok' },
      { toolCalls: [toolCall('crew', { action: 'spawn' })] },
      { content: 'ok' },
    ])
    await using place = await home(peer, {})
    for (const [name, text] of Object.entries(files)) await place.write(`../home/crew/${name}`, text)
    const crew = ['--config', `manifests=["builtin","${place.home}/crew"]`, '--config', 'plugins.isolate=inline']
    const codes = async (...flags: string[]) =>
      eventsOf((await agent(place, ['exec', '--json', ...crew, ...flags, 'go'])).out).flatMap(({ type, item }) =>
        type === 'item.completed' && item.type === 'tool_output' ? [item.error_code ?? item.output] : [],
      )
    expect(await codes()).toEqual(['VT_INPUT_INVALID'])
    expect(await codes('--disallowed-tools', 'crew/spawn')).toEqual(['VT_POLICY_DENIED'])
    const actions = (body: any) =>
      body.tools.find((tool: any) => tool.function.name === 'crew').function.parameters.properties.action.enum
    expect([actions(peer.bodies[0]), actions(peer.bodies[2])]).toEqual([['close', 'spawn'], ['close']])
  })
})
