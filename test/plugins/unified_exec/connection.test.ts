import { spawn, type ChildProcess } from 'node:child_process'
import { createInterface } from 'node:readline'
import { tempWorkspace, type TempWorkspace } from 'vtcode/test'
import { expect, it } from 'vitest'
import { bin } from '../../support/program.js'
import { bootExec, eventually, nap, output, processesWith, readOn } from '../../support/exec.js'

const left = (long: string): number => processesWith(long.replace(' ', '\0')).length
/** Far more than the usual second, so that a busy machine causes no failure. */
const patience = 60_000

interface Server {
  process: ChildProcess
  send(method: string, params: object, more?: object): void
  /** Ids of the calls that were answered. */
  answered: Map<number, any>
}

/** A server that may run commands. */
async function served(workspace: TempWorkspace): Promise<Server> {
  await workspace.write('../home/.vtcode/vtcode.config.yaml', 'policy: { allow: [exec] }\nsandbox: { mode: off }\n')
  const env = { PATH: process.env.PATH!, HOME: workspace.home }
  const server = spawn(process.execPath, [bin, 'mcp'], { cwd: workspace.root, env, stdio: ['pipe', 'pipe', 'ignore'] })
  const answered = new Map<number, any>()
  createInterface({ input: server.stdout! }).on('line', (line) => {
    const message = JSON.parse(line)
    if (message.id !== undefined && !message.method) answered.set(message.id, message)
  })
  let id = 0
  const send = (method: string, params: object, more: object = { id: ++id }): void =>
    void server.stdin!.write(`${JSON.stringify({ jsonrpc: '2.0', method, params, ...more })}\n`)
  send('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } })
  send('notifications/initialized', {}, {})
  return { process: server, send, answered }
}

const run = ({ send }: Server, input: object): void =>
  send('tools/call', { name: 'unified_exec', arguments: { action: 'run', ...input } })

for (const [how, end] of [
  ['its connection is dropped', (server: ChildProcess) => server.stdin!.end()],
  ['it is asked to end', (server: ChildProcess) => server.kill('SIGTERM')],
  ['it is interrupted', (server: ChildProcess) => server.kill('SIGINT')],
] as const) {
  it(`leaves no command of the MCP server running when ${how}`, async () => {
    await using workspace = await tempWorkspace()
    const long = nap()
    const server = await served(workspace)
    run(server, { command: `${long} & ${long}`, background: true })
    run(server, { command: long, tty: true, yield_time_ms: 250 })
    run(server, { command: `trap "" TERM; ${long}; sleep 60` })
    expect(await eventually(() => left(long) === 4, patience)).toBe(true)
    const gone = new Promise((resolve) => server.process.once('exit', resolve))
    end(server.process)
    expect(await eventually(() => left(long) === 0, patience)).toBe(true)
    await gone
  })
}

it('ends a call that the client cancels with everything it started and keeps the connection', async () => {
  await using workspace = await tempWorkspace()
  const long = nap()
  const server = await served(workspace)
  run(server, { command: `trap "" TERM; ${long} & ${long}` })
  expect(await eventually(() => left(long) === 2, patience)).toBe(true)
  server.send('notifications/cancelled', { requestId: 2, reason: 'enough' }, {})
  expect(await eventually(() => left(long) === 0, patience)).toBe(true)
  run(server, { command: 'echo still here' })
  expect(await eventually(() => server.answered.has(3), patience)).toBe(true)
  expect(server.answered.get(3).result.content[0].text).toContain('still here\n')
  const gone = new Promise((resolve) => server.process.once('exit', resolve))
  server.process.stdin!.end()
  await gone
})

it('restores the terminal and ends every command when the program is interrupted', async () => {
  await using workspace = await tempWorkspace()
  await using booted = await bootExec({ config: { exec: { env: { HOME: workspace.home } } } })
  const long = nap()
  await workspace.write('../home/.vtcode/vtcode.config.yaml', 'policy: { allow: [exec] }\nsandbox: { mode: off }\n')
  const on = (action: string, input: object) =>
    output(booted, { action, session_id: 's', yield_time_ms: 300, ...input })
  await on('run', { command: ['bash', '--norc', '-i'], tty: true })
  const settings = async (): Promise<string> => {
    await readOn(booted, await on('write', { input: `stty -a > ${workspace.home}/stty; echo wri''tten\n` }), 'written')
    return (await workspace.read('../home/stty'))!
  }
  const before = await settings()
  for (const input of [{ command: long }, { command: long, tty: true, yield_time_ms: 30_000 }]) {
    await on('write', {
      input: `cd ${workspace.root}; ${process.execPath} ${bin} call unified_exec --input '${JSON.stringify({ action: 'run', ...input })}'\n`,
    })
    expect(await eventually(() => left(long) === 1, patience)).toBe(true)
    await on('write', { keys: ['ctrl-c'] })
    expect(await eventually(() => left(long) === 0, patience)).toBe(true)
    expect(await settings()).toBe(before)
  }
})
