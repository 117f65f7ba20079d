import { spawn, type ChildProcess } from 'node:child_process'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { tempWorkspace, type TempWorkspace } from 'vtcode/test'
import { expect, it } from 'vitest'
import { eventually, nap, processesWith } from './exec.js'

const bin = join(dirname(createRequire(import.meta.url).resolve('vtcode/package.json')), 'dist/core/bin.js')

/** A server that may run commands, with three of them started: on pipes, in a terminal, and one that a call waits for. */
async function started(workspace: TempWorkspace, long: string): Promise<ChildProcess> {
  await workspace.write('../home/.vtcode/vtcode.config.yaml', 'policy: { allow: [exec] }\nsandbox: { mode: off }\n')
  const env = { PATH: process.env.PATH!, HOME: workspace.home }
  const server = spawn(process.execPath, [bin, 'mcp'], { cwd: workspace.root, env, stdio: ['pipe', 'pipe', 'ignore'] })
  server.stdout!.resume()
  let id = 0
  const send = (method: string, params: object, more: object = { id: ++id }): unknown =>
    server.stdin!.write(`${JSON.stringify({ jsonrpc: '2.0', method, params, ...more })}\n`)
  send('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } })
  send('notifications/initialized', {}, {})
  const run = (input: object): unknown => send('tools/call', { name: 'unified_exec', arguments: { action: 'run', ...input } })
  run({ command: `${long} & ${long}`, background: true })
  run({ command: long, tty: true, yield_time_ms: 250 })
  run({ command: `trap "" TERM; ${long}; sleep 60` })
  expect(await eventually(() => processesWith(long.replace(' ', '\0')).length === 4, 10_000)).toBe(true)
  return server
}

for (const [how, end] of [
  ['its connection is dropped', (server: ChildProcess) => server.stdin!.end()],
  ['it is told to end', (server: ChildProcess) => server.kill('SIGTERM')],
  ['it is interrupted', (server: ChildProcess) => server.kill('SIGINT')],
] as const) {
  it(`a server leaves no command behind when ${how}`, async () => {
    await using workspace = await tempWorkspace()
    const long = nap()
    const server = await started(workspace, long)
    const gone = new Promise((resolve) => server.once('exit', resolve))
    const began = Date.now()
    end(server)
    expect(await eventually(() => processesWith(long.replace(' ', '\0')).length === 0, 2000)).toBe(true)
    expect(Date.now() - began).toBeLessThan(2000)
    await gone
  }, 30_000)
}
