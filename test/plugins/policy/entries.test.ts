import { spawn } from 'node:child_process'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createKernel, type JsonObject, type Kernel } from 'vtcode'
import { createAgent } from 'vtcode/agent'
import { tempWorkspace, type TempWorkspace } from 'vtcode/test'
import { call, settingsFor, startPeer } from '../../support/peer.js'
import { items } from '../../support/inside.js'
import { bin, surroundings, vtcode } from '../../support/program.js'

// Every entry point makes the same calls and must meet the same policies. The workspace has a rule of each kind,
// a limit, a user hook, and a plugin that calls other tools and has other names for them.
const settings = (plugins: string): string => `manifests: [builtin, ${plugins}]
policy:
  deny: ['unified_file/delete', 'Edit(/kept/**)']
  constraints: { unified_file/read: { max_bytes_per_read: 4 } }
hooks: { PreToolUse: [{ matcher: unified_file/copy, hooks: [{ command: 'echo not copied >&2; exit 2' }] }] }
`
const pluginFiles = {
  'relay.yaml':
    'action: demo/relay\neffects: [read]\ndescription: Calls another tool.\nmodule: ./relay.js\ninput: { properties: { tool: { type: string }, with: { type: object } } }\n',
  'relay.js':
    'export default async ({ input }, { call }) => { const result = await call(input.tool, input.with); return { ok: true, output: { result } } }\n',
  'remove.yaml': 'name: remove\ndescription: Another name.\nalias: { to: unified_file/delete }\n',
  'duplicate.yaml': 'name: duplicate\ndescription: Another name.\nalias: { to: unified_file/copy }\n',
}
const calls: [tool: string, input: JsonObject, code: string][] = [
  ['unified_file', { action: 'delete', path: 'c.txt' }, 'VT_POLICY_DENIED'],
  ['unified_file', { action: 'write', path: 'kept/x', content: 'x' }, 'VT_POLICY_DENIED'],
  ['apply_patch', { input: '*** Begin Patch\n*** Add File: kept/y\n+x\n*** End Patch' }, 'VT_POLICY_DENIED'],
  ['unified_file', { action: 'write', path: '.git/hooks/pre-commit', content: 'x' }, 'VT_POLICY_DENIED'],
  ['unified_file', { action: 'copy', path: 'c.txt', destination: 'b.txt' }, 'VT_POLICY_DENIED'],
  ['unified_exec', { action: 'run', command: 'touch made' }, 'VT_POLICY_NEEDS_APPROVAL'],
  ['unified_file', { action: 'read', path: '../out' }, 'VT_PATH_OUTSIDE'],
  ['remove', { path: 'a.txt' }, 'VT_POLICY_DENIED'],
  ['duplicate', { path: 'a.txt', destination: 'b.txt' }, 'VT_POLICY_DENIED'],
]
type Say = (tool: string, input: JsonObject) => Promise<{ code: string; content?: unknown }>
interface Answer {
  ok?: boolean
  output?: JsonObject
  error?: { code: string }
  content?: unknown
}
const told = ({ error, output, content }: Answer) => ({
  code: error?.code ?? 'ok',
  content: output?.['content'] ?? content,
})

let workspace: TempWorkspace
let plugins: TempWorkspace
let kernel: Kernel
const open: (() => Promise<unknown> | unknown)[] = []
beforeAll(async () => {
  plugins = await tempWorkspace(pluginFiles)
  workspace = await tempWorkspace({ 'a.txt': 'one two three\n', 'c.txt': '' })
  await workspace.write('../home/.vtcode/vtcode.config.yaml', settings(plugins.root))
  kernel = await createKernel({
    workspace: workspace.root,
    home: workspace.home,
    env: surroundings(workspace),
    mode: 'auto',
  })
})
afterAll(async () => {
  await kernel.close()
  await Promise.all(open.map((close) => close()))
  await workspace[Symbol.asyncDispose]()
  await plugins[Symbol.asyncDispose]()
})

async function overMcp(client: Client, close: () => unknown): Promise<Say> {
  open.push(close)
  return async (name, input) => told((await client.callTool({ name, arguments: input })).structuredContent as Answer)
}
const ways: Record<string, () => Promise<Say>> = {
  'the library': async () => async (tool, input) =>
    told((await kernel.call(tool, input, { session: 'library' })) as Answer),
  'a call inside a call': async () => async (tool, input) => {
    const result = await kernel.call('demo', { action: 'relay', tool, with: input }, { session: 'nested' })
    return told((result as unknown as { output: { result: Answer } }).output.result)
  },
  'the command line': async () => async (tool, input) =>
    told(
      JSON.parse(
        (await vtcode(workspace, ['--mode', 'auto', 'call', tool, '--input', JSON.stringify(input)])).stdout,
      ) as Answer,
    ),
  'a program that calls tools': async () => async (tool, input) => {
    const code = `import json, vtcode\ntool, given = json.loads(${JSON.stringify(JSON.stringify([tool, input]))})
try: result = {"output": vtcode.call(tool, given)}\nexcept vtcode.CallError as error: result = {"error": {"code": error.code}}`
    // The approval covers only the program; its calls are asked about like any other.
    const approve = ({ call }: { call: { slot: string } }): boolean => call.slot === 'unified_exec/code'
    const { output } = (await kernel.call(
      'unified_exec',
      { action: 'code', language: 'python3', code },
      { session: 'code', approve },
    )) as unknown as { output: { result: Answer } }
    return told(output.result)
  },
  'a batch of the agent': async () => {
    const batch = [...calls, ['unified_file', { action: 'read', path: 'a.txt' }] as const]
    const peer = await startPeer([{ toolCalls: batch.map(([tool, input]) => call(tool, input)) }, { content: 'Done.' }])
    const other = await createKernel({
      workspace: workspace.root,
      home: workspace.home,
      env: surroundings(workspace),
      mode: 'auto',
      config: settingsFor(peer) as never,
    })
    open.push(
      () => other.close(),
      () => peer[Symbol.asyncDispose](),
    )
    const events: unknown[] = []
    const agent = await createAgent(other, {
      env: { PEER_API_KEY: 'key-of-the-peer-0123' },
      onEvent: (event) => void events.push(event),
    })
    await agent.run('go')
    await agent.close()
    const outputs = items(events, 'tool_output')
    return async (tool, input) => {
      const index = batch.findIndex(([name, said]) => name === tool && JSON.stringify(said) === JSON.stringify(input))
      const { error_code, output } = outputs.find(({ call_id }) => call_id.endsWith(`-${index}`))
      return { code: error_code ?? 'ok', content: String(output).split('\n')[0] }
    }
  },
  'MCP over stdio': async () => {
    const client = new Client({ name: 'test', version: '1' })
    await client.connect(
      new StdioClientTransport({
        command: process.execPath,
        args: [bin, '--workspace', workspace.root, 'mcp', '--structured'],
        env: surroundings(workspace),
      }),
    )
    return overMcp(client, () => client.close())
  },
  'MCP over HTTP': async () => {
    const child = spawn(process.execPath, [bin, 'mcp', '--http', '0', '--no-token', '--structured'], {
      cwd: workspace.root,
      env: surroundings(workspace),
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    let said = ''
    await new Promise<void>((resolve) =>
      child.stderr.on('data', (chunk) => ((said += String(chunk)), /\/mcp"/.test(said) && resolve())),
    )
    const client = new Client({ name: 'test', version: '1' })
    await client.connect(new StreamableHTTPClientTransport(new URL(/http:\/\/[^\s"]+\/mcp/.exec(said)![0])))
    return overMcp(client, () => new Promise((resolve) => (child.on('close', resolve), child.kill('SIGKILL'))))
  },
}

describe('policies for every entry point', () => {
  it.each(Object.keys(ways))('applies the same policies to calls from %s', async (way) => {
    const say = await ways[way]!()
    const answers = []
    for (const [tool, input] of calls) answers.push([tool, input, (await say(tool, input)).code])
    // Programs start no programs by calling tools.
    const expected = calls.map(([tool, input, code]) => [
      tool,
      input,
      way === 'a program that calls tools' && tool === 'unified_exec' ? 'VT_CALL_DEPTH' : code,
    ])
    expect(answers).toEqual(expected)
    // The default read limit applies without a requested number.
    expect(await say('unified_file', { action: 'read', path: 'a.txt' })).toEqual({ code: 'ok', content: 'one ' })
    expect(await workspace.read('a.txt')).toBe('one two three\n')
    for (const path of ['kept/x', 'kept/y', '.git/hooks/pre-commit', 'b.txt', 'made'])
      expect([path, await workspace.read(path)]).toEqual([path, undefined])
  })

  it('judges the input that a hook changed like any call', async () => {
    const swap = `printf %s '{"hookSpecificOutput":{"updatedInput":{"path":"kept/x","content":"x"}}}'`
    const other = await createKernel({
      workspace: workspace.root,
      home: workspace.home,
      env: surroundings(workspace),
      mode: 'auto',
      config: { hooks: { PreToolUse: [{ matcher: 'unified_file/write', hooks: [{ command: swap }] }] } },
    })
    const result = await other.call('unified_file', { action: 'write', path: 'free', content: 'x' })
    await other.close()
    expect(told(result as Answer).code).toBe('VT_POLICY_DENIED')
    expect(await workspace.read('kept/x')).toBeUndefined()
    expect(await workspace.read('free')).toBeUndefined()
  })
})

describe('1,000 concurrent calls', () => {
  it('settles all calls and judges each by its kind', async () => {
    const kinds: [string, JsonObject, string][] = [
      ['unified_file', { action: 'read', path: 'a.txt' }, 'ok'],
      ['unified_search', { action: 'tools', keyword: 'read' }, 'ok'],
      ['unified_file', { action: 'delete', path: 'a.txt' }, 'VT_POLICY_DENIED'],
      ['unified_exec', { action: 'run', command: 'touch made' }, 'VT_POLICY_NEEDS_APPROVAL'],
      ['unified_exec', { action: 'list' }, 'ok'],
      ['web_search', { query: 'x' }, 'VT_POLICY_NEEDS_APPROVAL'],
      ['unified_file', { action: 'write', path: 'kept/x', content: '' }, 'VT_POLICY_DENIED'],
      ['nothing', {}, 'VT_TOOL_UNKNOWN'],
    ]
    const made = await Promise.all(
      Array.from({ length: 1000 }, async (_, index) => {
        const [tool, input, code] = kinds[index % kinds.length]!
        const answer = told((await kernel.call(tool, input, { session: `s${index % 16}` })) as Answer)
        // The second of the same refused calls of a session says that it is the second.
        return (answer.code === 'ok') === (code === 'ok') ? undefined : [tool, input, answer.code]
      }),
    )
    expect(made.filter(Boolean)).toEqual([])
    expect(await workspace.read('made')).toBeUndefined()
  })
})
