import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface, type Interface } from 'node:readline'
import type { Result } from 'vtcode'

export type Call = [tool: string, input: object]

/** A workspace for a process that will be hurt. */
export function scene(files: Record<string, string>, root = realpathSync(mkdtempSync(join(tmpdir(), 'vtcode-fault-')))) {
  const home = mkdtempSync(join(tmpdir(), 'vtcode-home-'))
  for (const [path, text] of Object.entries({ 'warm/a': 'warm\n', 'warm/b': 'warm\n', ...files })) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  return {
    root,
    home,
    text: (path: string): string | undefined => {
      try {
        return readFileSync(join(root, path), 'utf8')
      } catch {
        return undefined
      }
    },
    /** Temporary entries anywhere, and unfinished journals. */
    leftovers: (): string[] =>
      readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((path) => path.includes('.vtcode-tmp-') || /^\.vtcode\/journal\/\d/.test(path)),
    mode: (path: string): number => statSync(join(root, path)).mode & 0o777,
    remove: () => [root, home].forEach((folder) => rmSync(folder, { recursive: true, force: true })),
  }
}
export type Scene = ReturnType<typeof scene>

/** A running driver that has everything loaded. */
export class Driver {
  private constructor(
    readonly child: ChildProcess,
    private readonly lines: Interface,
    private readonly answers: string[],
  ) {}

  static async start({ root, home }: Scene, limits: string[] = []): Promise<Driver> {
    for (const name of ['a', 'b']) writeFileSync(join(root, 'warm', name), 'warm\n')
    const command = [...limits, process.execPath, join(import.meta.dirname, 'driver.mjs'), root, home]
    const child = spawn(command[0]!, command.slice(1), { stdio: ['pipe', 'pipe', 'inherit'] })
    const answers: string[] = []
    const lines = createInterface({ input: child.stdout! }).on('line', (line) => answers.push(line))
    const driver = new Driver(child, lines, answers)
    const ready = await driver.answer()
    if (ready !== 'ready') throw new Error(`the driver is not ready: ${ready}`)
    return driver
  }

  send(call: Call): void {
    this.child.stdin!.write(`${JSON.stringify(call)}\n`)
  }
  /** The next line, `undefined` if the process ends first. */
  async answer(): Promise<string | undefined> {
    while (this.answers.length === 0) {
      const ended = await Promise.race([once(this.lines, 'line').then(() => false), once(this.lines, 'close').then(() => true)])
      if (ended && this.answers.length === 0) return undefined
    }
    return this.answers.shift()
  }
  async call(call: Call): Promise<Result | undefined> {
    this.send(call)
    const line = await this.answer()
    return line === undefined ? undefined : (JSON.parse(line) as Result)
  }
  async end(): Promise<void> {
    this.child.stdin!.end()
    if (this.child.exitCode === null && this.child.signalCode === null) await once(this.child, 'exit')
  }
}

/** Attaches strace to a driver; the promise it resolves to detaches it and gives what it wrote. */
export async function trace(driver: Driver, args: string[]): Promise<() => Promise<string>> {
  const child = spawn('strace', ['-f', '-p', String(driver.child.pid), ...args], { stdio: ['ignore', 'ignore', 'pipe'] })
  let log = ''
  const attached = new Promise<void>((resolve, reject) => {
    child.stderr.on('data', (chunk) => {
      log += chunk
      if (/attached/.test(log)) resolve()
    })
    child.once('exit', () => reject(new Error(`strace ended: ${log}`)))
  })
  const ended = once(child, 'exit')
  ended.catch(() => {})
  await attached
  return async () => {
    child.kill('SIGINT')
    // A tracer whose process has just died may wait for it for ever.
    const late = setTimeout(() => child.kill('SIGKILL'), 1000)
    await ended
    clearTimeout(late)
    return log
  }
}
