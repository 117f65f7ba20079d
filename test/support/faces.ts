import { spawn } from 'node:child_process'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { createKernel } from 'vtcode'
import type { TempWorkspace } from 'vtcode/test'
import { bin, surroundings, vtcode } from './program.js'

export interface Answer {
  ok: boolean
  output?: Record<string, unknown>
  text?: string
  error?: { code: string; message: string; details?: object }
}
/** One way to call tools from outside, in mode auto and with nobody who could be asked. */
export interface Face extends AsyncDisposable {
  call(tool: string, input: unknown): Promise<Answer>
  /** How many calls may be under way at once, where each costs a program its start. */
  readonly atOnce: number
}
interface Place {
  /** Whose settings count. */
  home: TempWorkspace
  /** The workspace. */
  root: string
  env?: Record<string, string>
}

/** Every way to a call from outside, each as its users have it: the built program, one process for all calls where there is such a thing. */
export const faces: Record<string, (place: Place) => Promise<Face>> = {
  'the library': async ({ home, root, env }) => {
    const kernel = await createKernel({ workspace: root, home: home.home, env: surroundings(home, env), mode: 'auto' })
    const call = async (tool: string, input: unknown) => (await kernel.call(tool, input, { session: 'face' })) as Answer
    return { call, atOnce: 1, [Symbol.asyncDispose]: () => kernel.close() }
  },
  'the command line': async ({ home, root, env }) => {
    const call = async (tool: string, input: unknown) => {
      const { stdout, stderr, code } = await vtcode(home, ['call', '--workspace', root, '--mode', 'auto', tool, '--input', '-'], { stdin: JSON.stringify(input), cwd: root, ...(env && { env }) })
      // What is no call at all is a usage error, told to people.
      return stdout ? (JSON.parse(stdout) as Answer) : { ok: false, error: { code: `EXIT_${code}`, message: stderr } }
    }
    return { call, atOnce: 4, [Symbol.asyncDispose]: async () => {} }
  },
  'MCP over stdio': async ({ home, root, env }) => {
    const client = new Client({ name: 'test', version: '1' })
    await client.connect(new StdioClientTransport({ command: process.execPath, args: [bin, '--workspace', root, 'mcp', '--structured'], cwd: root, env: surroundings(home, env), stderr: 'ignore' }))
    return { call: overMcp(client), atOnce: 1, [Symbol.asyncDispose]: () => client.close() }
  },
  'MCP over HTTP': async ({ home, root, env }) => {
    const child = spawn(process.execPath, [bin, '--workspace', root, 'mcp', '--http', '0', '--structured'], { cwd: root, env: surroundings(home, env), stdio: ['ignore', 'ignore', 'pipe'] })
    let said = ''
    await new Promise<void>((resolve, reject) => {
      child.stderr.on('data', (chunk) => /\n\}\n/.test((said += String(chunk))) && resolve())
      child.once('exit', () => reject(new Error(said)))
    })
    const headers = { authorization: /Bearer [\w-]+/.exec(said)![0] }
    const client = new Client({ name: 'test', version: '1' })
    await client.connect(new StreamableHTTPClientTransport(new URL(/http:\/\/127\.0\.0\.1:\d+\/mcp/.exec(said)![0]), { requestInit: { headers } }))
    const end = async () => {
      await client.close()
      await new Promise((resolve) => (child.once('close', resolve), child.kill()))
    }
    return { call: overMcp(client), atOnce: 1, [Symbol.asyncDispose]: end }
  },
}

const overMcp = (client: Client): Face['call'] => async (name, input) => {
  try {
    const { isError, structuredContent, content } = await client.callTool({ name, arguments: input as Record<string, unknown> })
    const told = structuredContent as Record<string, unknown>
    return isError ? { ok: false, ...told } : { ok: true, output: told, text: JSON.stringify(content) }
  } catch (error) {
    // A refusal of the protocol itself: no such tool, no such arguments.
    return { ok: false, error: { code: `RPC_${(error as { code?: unknown }).code}`, message: (error as Error).message } }
  }
}

/** Asks all through one face, in order unless it takes several at once. */
export async function askAll<T, A>({ atOnce }: Face, all: T[], ask: (one: T) => Promise<A>): Promise<A[]> {
  const answers: A[] = []
  let next = 0
  const work = async () => {
    for (let index = next++; index < all.length; index = next++) answers[index] = await ask(all[index]!)
  }
  await Promise.all(Array.from({ length: atOnce }, work))
  return answers
}
