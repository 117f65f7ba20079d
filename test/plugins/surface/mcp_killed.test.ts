import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { tempWorkspace, type TempWorkspace } from 'vtcode/test'
import { eventually, nap, processesWith } from '../../support/exec.js'
import { bin, surroundings } from '../../support/program.js'

const spins = `import { writeFileSync } from 'node:fs'
import { spawn } from 'node:child_process'
export default ({ input }, context) => {
  spawn('sleep', [input.seconds], { stdio: 'inherit' })
  writeFileSync(context.plugin.data + '/spins', String(process.pid))
  for (;;);
}`
/** An MCP server that offers one tool and then ignores calls, the end of its input, and signals. */
const hangs = `process.on('SIGTERM', () => {})
process.on('SIGHUP', () => {})
setInterval(() => {}, 1000)
const tools = [{ name: 'any', description: 'Hangs.', inputSchema: { type: 'object' } }]
process.stdin.on('data', (chunk) => {
  for (const line of String(chunk).split('\\n').filter(Boolean)) {
    const { id, method, params } = JSON.parse(line)
    const result = method === 'initialize' ? { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'hangs', version: '1' } } : method === 'tools/list' ? { tools } : undefined
    if (result) console.log(JSON.stringify({ jsonrpc: '2.0', id, result }))
  }
})`
const manifest =
  'name: spins\ndescription: Never ends.\neffects: [read, exec]\ninput: { properties: { seconds: { type: string } } }\nmodule: ./spins.js\n'

describe.each(['off', 'auto'])('a killed MCP server (sandbox: %s)', (sandbox) => {
  let made: TempWorkspace
  const [server, command, job, child] = [nap(), nap(), nap(), nap()]
  beforeAll(async () => {
    made = await tempWorkspace()
    await made.write('../home/p/spins.yaml', manifest)
    await made.write('../home/p/spins.js', spins)
    await made.write('../home/p/hangs.mjs', hangs)
    const hanging = { command: process.execPath, args: [`${made.home}/p/hangs.mjs`, server] }
    const settings = {
      policy: { allow: ['spins', 'unified_exec/run', 'mcp__hangs__any'] },
      manifests: ['builtin', `${made.home}/p`],
      plugins: { isolate: 'auto' },
      sandbox: { mode: sandbox, plugins: sandbox },
      mcp: { servers: { hangs: hanging } },
    }
    await made.write('../home/.vtcode/vtcode.config.json', JSON.stringify(settings))
  })
  afterAll(() => made[Symbol.asyncDispose]())

  it('leaves no plugin loop, background command or hanging MCP server after two seconds', async () => {
    const argv = ['--mode', 'auto', 'mcp']
    const host = spawn(process.execPath, [bin, ...argv], {
      cwd: made.root,
      env: surroundings(made),
      stdio: ['pipe', 'ignore', 'inherit'],
    })
    const send = (message: object) => host.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
    const call = (id: number, name: string, input: object) =>
      send({ id, method: 'tools/call', params: { name, arguments: input } })
    send({
      id: 0,
      method: 'initialize',
      params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
    })
    send({ method: 'notifications/initialized' })
    call(1, 'unified_exec', {
      action: 'run',
      command: ['bash', '-c', `set -m; (trap '' TERM; ${job}; ${job}) & ${command}; ${command}`],
      background: true,
    })
    call(2, 'spins', { seconds: child.split(' ')[1] })
    call(3, 'mcp__hangs__any', {})
    const all = [server, ...[command, job, child].map((each) => each.replace(' ', '\0'))]
    const running = () => all.filter((each) => processesWith(each).length > 0)
    onTestFinished(() => void host.kill('SIGKILL'))
    expect(await eventually(() => running().length === all.length), running().join(' ')).toBe(true)
    expect(processesWith('adapter/isolated/child.js').length).toBeGreaterThan(0)
    host.kill('SIGKILL')
    await once(host, 'exit')
    expect(await eventually(() => running().length === 0), running().join(' ')).toBe(true)
  })
})
