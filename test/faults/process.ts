import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Result } from 'vtcode'

export type Call = [tool: string, input: object]

export const bin = join(dirname(createRequire(import.meta.url).resolve('vtcode/package.json')), 'dist/core/bin.cjs')
// In memory where there is some: the disk of this machine is not under test.
const base = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()

/** A workspace for a process that will be hurt. */
export function scene(files: Record<string, string> = {}, place = base) {
  const [root, home] = ['fault', 'home'].map((name) => realpathSync(mkdtempSync(join(place, `vtcode-${name}-`)))) as [
    string,
    string,
  ]
  const put = (path: string, text: string) => {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  for (const [path, text] of Object.entries(files)) put(path, text)
  return {
    root,
    home,
    put,
    /** Reads a file through the path where the workspace is mounted. */
    text: (path: string, from = root): string | undefined => {
      try {
        return readFileSync(join(from, path), 'utf8')
      } catch {
        return undefined
      }
    },
    /** Temporary entries anywhere, and unfinished journals. */
    leftovers: (from = root): string[] =>
      readdirSync(from, { recursive: true, encoding: 'utf8' }).filter(
        (path) => path.includes('.vtcode-tmp-') || /^\.vtcode\/journal\/\d/.test(path),
      ),
    remove: () => [root, home].forEach((folder) => rmSync(folder, { recursive: true, force: true })),
  }
}
export type Scene = ReturnType<typeof scene>

/** An MCP server as an editor starts it, with everything loaded that a change needs. */
export class Server {
  private readonly answers = new Map<number, (answer: unknown) => void>()
  private calls = 0
  private constructor(
    readonly child: ChildProcess,
    readonly ended: Promise<unknown>,
  ) {
    createInterface({ input: child.stdout! }).on('line', (line) => this.hear(line))
    child.stdin!.on('error', () => {})
    void ended.then(() => this.answers.forEach((answer) => answer(undefined)))
  }

  /** `wrap` is the program that starts the server, `workspace` where it sees its files. */
  static async start(
    stage: Scene,
    { wrap = [], workspace = stage.root }: { wrap?: string[]; workspace?: string } = {},
  ): Promise<Server> {
    for (const name of ['a', 'b']) stage.put(`warm/${name}`, 'warm\n')
    const command = [...wrap, process.execPath, bin, '--workspace', workspace, 'mcp', '--structured']
    // One thread of the pool, so that the steps of a change have an order.
    const env = { PATH: process.env['PATH']!, HOME: stage.home, UV_THREADPOOL_SIZE: '1' }
    const child = spawn(command[0]!, command.slice(1), { stdio: ['pipe', 'pipe', 'inherit'], env })
    const server = new Server(child, once(child, 'exit'))
    await server.ask('initialize', {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'test', version: '1' },
    })
    server.say({ method: 'notifications/initialized' })
    const input =
      '*** Begin Patch\n*** Update File: warm/a\n-warm\n+hot\n*** Update File: warm/b\n-warm\n+hot\n*** End Patch'
    const warm = [
      await server.call(['unified_file', { action: 'edit', path: 'warm/a', old_str: 'warm', new_str: 'hot' }]),
      await server.call(['apply_patch', { input: input.replace('-warm\n+hot', '-hot\n+warm') }]),
    ]
    if (!warm.every((result) => result?.ok)) throw new Error(`the server is not ready: ${JSON.stringify(warm)}`)
    return server
  }

  /** Returns the result of a call, `undefined` if the process ends first. */
  async call([name, input]: Call): Promise<Result | undefined> {
    const answer = (await this.ask('tools/call', { name, arguments: input })) as
      | { isError?: boolean; structuredContent: object }
      | undefined
    return (
      answer &&
      ((answer.isError
        ? { ok: false, ...answer.structuredContent }
        : { ok: true, output: answer.structuredContent }) as Result)
    )
  }
  /** Closes the input and waits for the process to end. */
  async end(): Promise<void> {
    this.child.stdin!.end()
    await this.ended
  }
  async kill(signal: NodeJS.Signals): Promise<void> {
    this.child.kill(signal)
    await this.ended
  }

  private ask(method: string, params: object): Promise<unknown> {
    const id = ++this.calls
    this.say({ id, method, params })
    const gone = this.child.exitCode !== null || this.child.signalCode !== null
    return gone ? Promise.resolve(undefined) : new Promise((resolve) => this.answers.set(id, resolve))
  }
  private say(message: object): void {
    this.child.stdin!.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  }
  private hear(line: string): void {
    const { id, result } = JSON.parse(line) as { id?: number; result?: unknown }
    if (id !== undefined) this.answers.get(id)?.(result)
  }
}

/** Threads of a server that can be struck: the one that runs JavaScript, and the pool, with one for blocking work. */
export type Thread = 'main' | 'pool'
export const threads = ({ child }: Server, thread?: Thread): number[] => {
  const all = readdirSync(`/proc/${child.pid}/task`).map(Number)
  return thread === undefined ? all : all.filter((id) => (id === child.pid) === (thread === 'main'))
}

/** Attaches strace to threads of a server; what it resolves to detaches it. */
export async function trace(_server: Server, ids: number[], args: string[]): Promise<() => Promise<void>> {
  const child = spawn('strace', [...ids.flatMap((id) => ['-p', String(id)]), ...args], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let log = ''
  await new Promise<void>((resolve, reject) => {
    child.stderr.on('data', (chunk) => {
      log += chunk
      if (log.match(/attached/g)?.length === ids.length) resolve()
    })
    child.once('exit', () => reject(new Error(`strace ended: ${log}`)))
  })
  const ended = once(child, 'exit')
  return async () => {
    child.kill('SIGINT')
    // A tracer whose process has just died may wait for it for ever.
    const late = setTimeout(() => child.kill('SIGKILL'), 1000)
    await ended
    clearTimeout(late)
  }
}
