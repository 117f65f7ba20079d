import { spawn, execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { lacks } from './exec.js'

/** Whether tests with a server cannot run here. In CI the program has to be there. */
export const lacksRedis = lacks('redis-server')
export const skippedRedis = lacksRedis ? ' (SKIPPED: needs redis-server)' : ''

export interface RedisServer extends AsyncDisposable {
  readonly url: string
  readonly port: number
  readonly pid: number
  /** Kills the server with SIGKILL and starts it again on its data. */
  restart(): Promise<void>
  /** Runs redis-cli and returns its output. */
  ask(...args: string[]): string
}

export async function findFreePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}

/** Starts a server on a free port of this machine, with data of its own. */
export async function startRedis(...flags: string[]): Promise<RedisServer> {
  const dir = mkdtempSync(join(tmpdir(), 'redis-'))
  const port = await findFreePort()
  const base = ['--port', `${port}`, '--bind', '127.0.0.1', '--dir', dir, '--save', '', '--appendonly', 'yes']
  const durable = ['--appendfsync', 'always', '--maxmemory-policy', 'noeviction']
  const start = async () => {
    const child = spawn('redis-server', [...base, ...durable, ...flags], { stdio: 'ignore' })
    await answers(port)
    return child
  }
  const stop = (child: Awaited<ReturnType<typeof start>>) =>
    new Promise<void>((resolve) => {
      if (child.exitCode !== null || child.signalCode !== null) return resolve()
      child.once('exit', () => resolve())
      child.kill('SIGKILL')
    })
  let child = await start()
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    get pid() {
      return child.pid!
    },
    async restart() {
      await stop(child)
      child = await start()
    },
    ask: (...args) => execFileSync('redis-cli', ['-p', `${port}`, ...args], { encoding: 'utf8' }),
    async [Symbol.asyncDispose]() {
      await stop(child)
      if (existsSync(dir)) rmSync(dir, { recursive: true })
    },
  }
}

/** Waits until a server takes connections and has loaded its data. */
async function answers(port: number): Promise<void> {
  for (;;) {
    const line = await new Promise<string>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => socket.write('PING\r\n'))
      socket.once('data', (data) => (socket.destroy(), resolve(data.toString())))
      socket.once('error', () => resolve(''))
    })
    if (/^(?:\+PONG|-NOAUTH)/.test(line)) return
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}
