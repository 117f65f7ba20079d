import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { createKernel, type Asker } from 'vtcode'
import type { TempWorkspace } from 'vtcode/test'
import { bin, surroundings, vtcode, type Ran } from './program.js'
import { typing } from './terminal.js'

export interface Answer {
  ok: boolean
  output?: Record<string, unknown>
  text?: string
  error?: { code: string; message: string; hint?: string; details?: object }
}
/** One surface that calls tools, in mode auto and without a person to ask. */
export interface Face extends AsyncDisposable {
  call(tool: string, input: unknown): Promise<Answer>
}
interface Place {
  /** Whose settings count. */
  home: TempWorkspace
  /** The workspace. */
  root: string
  env?: Record<string, string>
  /** `auto` if it is not given. */
  mode?: 'auto' | 'full-auto'
  /** Of a user who takes the first choice of every form, and writes `x` where there is none: gets each text that they are shown. */
  shown?(text: string): void
}

/** Every way to a call from outside: the built program, called in this process for a command line, one process for all calls of a server. */
export const faces: Record<string, (place: Place) => Promise<Face>> = {
  'the library': async ({ home, root, env, mode = 'auto', shown }) => {
    const kernel = await createKernel({ workspace: root, home: home.home, env: surroundings(home, env), mode })
    const ask: Asker = async (questions) => {
      for (const { id, header, question, options = [] } of questions)
        for (const text of [id, header, question, ...options.flatMap(({ label, description }) => [label, description])])
          shown!(text)
      return Object.fromEntries(
        questions.map(({ id, options }) => [
          id,
          options?.[0] ? { selected: [options[0].label] } : { selected: [], other: 'x' },
        ]),
      )
    }
    const call = async (tool: string, input: unknown) =>
      (await kernel.call(tool, input, { session: 'face', ...(shown && { ask }) })) as Answer
    return { call, [Symbol.asyncDispose]: () => kernel.close() }
  },
  'the command line': async ({ home, root, env, mode = 'auto', shown }) => {
    const call = async (tool: string, input: unknown) => {
      const words = ['call', '--workspace', root, '--mode', mode, tool]
      const { stdout, stderr, code } = shown
        ? await atTerminal(home, root, words, input, shown, env)
        : await vtcode(home, [...words, '--input', '-'], {
            stdin: JSON.stringify(input),
            cwd: root,
            ...(env && { env }),
          })
      // An input that is no call is a usage error, printed for people.
      return stdout ? (JSON.parse(stdout) as Answer) : { ok: false, error: { code: `EXIT_${code}`, message: stderr } }
    }
    return { call, [Symbol.asyncDispose]: async () => {} }
  },
  'MCP over stdio': async ({ home, root, env, mode = 'auto', shown }) => {
    const client = clientOf(shown)
    await client.connect(
      new StdioClientTransport({
        command: process.execPath,
        args: [bin, '--workspace', root, '--mode', mode, 'mcp', '--structured'],
        cwd: root,
        env: surroundings(home, env),
        stderr: 'ignore',
      }),
    )
    return { call: overMcp(client), [Symbol.asyncDispose]: () => client.close() }
  },
  'MCP over HTTP': async ({ home, root, env, mode = 'auto', shown }) => {
    const child = spawn(
      process.execPath,
      [bin, '--workspace', root, '--mode', mode, 'mcp', '--http', '0', '--structured'],
      { cwd: root, env: surroundings(home, env), stdio: ['ignore', 'ignore', 'pipe'] },
    )
    let said = ''
    await new Promise<void>((resolve, reject) => {
      child.stderr.on('data', (chunk) => /\n\}\n/.test((said += String(chunk))) && resolve())
      child.once('exit', () => reject(new Error(said)))
    })
    const headers = { authorization: /Bearer [\w-]+/.exec(said)![0] }
    const client = clientOf(shown)
    await client.connect(
      new StreamableHTTPClientTransport(new URL(/http:\/\/127\.0\.0\.1:\d+\/mcp/.exec(said)![0]), {
        requestInit: { headers },
      }),
    )
    const end = async () => {
      await client.close()
      await new Promise((resolve) => (child.once('close', resolve), child.kill()))
    }
    return { call: overMcp(client), [Symbol.asyncDispose]: end }
  },
}

/** Returns true if a surface runs every row of a table: the library always, and over pipes in the long form. Each other surface calls the same kernel. */
export const takesEveryRow = (face: string): boolean =>
  face === 'the library' || (process.env.VTCODE_SOAK !== undefined && face === 'MCP over stdio')

/** Returns the rows of a long table for a surface: all, or each `every`th. */
export const rowsOf = <T>(face: string, rows: readonly T[], every: number): T[] =>
  rows.filter((_, at) => takesEveryRow(face) || at % every === 0)

/** A client of MCP, whose user answers forms where somebody wants to see them. */
function clientOf(shown: Place['shown']): Client {
  const client = new Client({ name: 'test', version: '1' }, shown && { capabilities: { elicitation: { form: {} } } })
  if (shown) {
    client.setRequestHandler('elicitation/create', ({ params }) => {
      const { message, requestedSchema } = params as {
        message: string
        requestedSchema: { properties: Record<string, { title?: string; description?: string; enum?: string[] }> }
      }
      const fields = Object.entries(requestedSchema.properties)
      // Our own form lists the choices below the question, a line each.
      for (const line of message.split('\n')) shown(line)
      for (const [name, { title = '', description = '', enum: choices = [] }] of fields)
        for (const text of [name, title, description, ...choices]) shown(text)
      return {
        action: 'accept',
        content: Object.fromEntries(
          fields.flatMap(([name, { enum: choices }]) =>
            choices ? [[name, choices[0]!]] : name.endsWith('_OTHER') ? [] : [[name, 'x']],
          ),
        ),
      }
    })
  }
  return client
}

/** One call by a person at a terminal, who sees all that is written to it; its answer goes to a file. */
async function atTerminal(
  home: TempWorkspace,
  root: string,
  words: string[],
  input: unknown,
  shown: NonNullable<Place['shown']>,
  env?: Record<string, string>,
): Promise<Ran> {
  const file = join(home.home, `answer-${randomUUID()}`)
  const person = await typing(
    { root, env: surroundings(home, env) } as never,
    [
      '-c',
      'file=$1; shift; exec "$@" > "$file"',
      'sh',
      file,
      process.execPath,
      bin,
      ...words,
      '--input',
      JSON.stringify(input),
    ],
    { program: '/bin/sh' },
  )
  let seen = ''
  person.terminal.onData((data) => (seen += data))
  // An arrow from the last row of a list selects its first one. Everything else gets a text that is no key of a choice.
  const isList = () => seen.lastIndexOf('Something else') > seen.lastIndexOf('Your own words')
  const keys = setInterval(() => person.terminal.write(isList() ? '\u001b[B\r' : 'x\r'), 100)
  const { code, rest } = await person.end()
  clearInterval(keys)
  shown(rest)
  return { code, stdout: await readFile(file, 'utf8'), stderr: rest }
}

const overMcp =
  (client: Client): Face['call'] =>
  async (name, input) => {
    try {
      const { isError, structuredContent, content } = await client.callTool({
        name,
        arguments: input as Record<string, unknown>,
      })
      const told = structuredContent as Record<string, unknown>
      return isError ? { ok: false, ...told } : { ok: true, output: told, text: JSON.stringify(content) }
    } catch (error) {
      // A refusal of the protocol itself: no such tool, no such arguments.
      return {
        ok: false,
        error: { code: `RPC_${(error as { code?: unknown }).code}`, message: (error as Error).message },
      }
    }
  }

/** Asks all, one after the other. */
export async function askAll<T, A>(all: readonly T[], ask: (one: T) => Promise<A>): Promise<A[]> {
  const answers: A[] = []
  for (const one of all) answers.push(await ask(one))
  return answers
}
