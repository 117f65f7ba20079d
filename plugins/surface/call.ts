import type { Call, Io, JsonObject, Kernel } from '../../core/index.js'
import { asker } from '../shared/questions.js'
import { confirm, interactive, printable, say } from '../shared/terminal.js'

const usage = `Usage: vtcode call [--workspace DIR] [--mode M] [--config FILE|key=value] [--session ID] <tool> [action] [--field value …]

Calls one tool and prints its answer as one JSON document. Everything behind the tool's name is input:
  --field value     a field; repeated it becomes a list, without a value it is true, --field=value keeps leading dashes
  --input '{…}'     the whole input as JSON; --input - reads it from stdin

  vtcode call unified_search grep --pattern TODO --path src
  vtcode call unified_file --input '{"action":"read","path":"README.md"}'

Exit codes: 0 done, 1 the tool failed, 2 usage, 3 configuration, 130 interrupted.
`

/** `vtcode call`: one call, one JSON document. */
export default async function call(kernel: Kernel, argv: string[], io: Io): Promise<number> {
  const words = [...argv]
  if (words[0] === '--help' || words[0] === '-h') {
    io.stdout.write(usage)
    return 0
  }
  let tool: string
  let input: JsonObject
  let session: string | undefined
  try {
    session = takeSession(words)
    tool = takeTool(words)
    input = await readInput(words, io)
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    say(io, 'error', `${error.message}\nSee \`vtcode call --help\`.`)
    return 2
  }

  for (const { severity, message, hint } of kernel.diagnostics()) {
    if (severity !== 'info') say(io, severity, hint ? `${message} ${hint}` : message)
  }
  const result = await kernel.call(tool, input, {
    signal: io.signal,
    surface: 'call',
    ...(session !== undefined && { session }),
    ...(interactive(io) && { approve: (request) => approve(request, io), ask: asker(io) }),
  })
  for (const { code, message } of result.notices ?? []) say(io, 'info', `${code}: ${message}`)
  io.stdout.write(`${JSON.stringify(result, null, io.stdout.isTTY ? 2 : 0)}\n`)
  return result.ok ? 0 : 1
}

class UsageError extends Error {}

function takeSession(words: string[]): string | undefined {
  if (words[0]?.startsWith('--session=')) return words.shift()!.slice('--session='.length)
  if (words[0] !== '--session') return undefined
  const [, id] = words.splice(0, 2)
  if (id === undefined) throw new UsageError('--session needs the id of a session.')
  return id
}

function takeTool(words: string[]): string {
  const tool = words.shift()
  if (tool === undefined) throw new UsageError('Name the tool to call; `vtcode tools` lists them.')
  if (tool.startsWith('-')) throw new UsageError(`Unknown flag ${tool} before the name of the tool.`)
  return tool
}

async function readInput(words: string[], io: Io): Promise<JsonObject> {
  const action = words[0] !== undefined && !words[0].startsWith('--') ? { action: words.shift() } : {}
  const fields = readFields(words)
  const whole = Object.keys(fields).length === 1 ? fields['input'] : undefined
  if (whole === '-') return { ...action, ...parse(await readAll(io)) }
  // A field may be called "input" too, and its text is no JSON object: patches are given like this.
  if (typeof whole === 'string' && whole.trimStart().startsWith('{')) return { ...action, ...parse(whole) }
  return { ...action, ...fields }
}

function readFields(words: string[]): JsonObject {
  const fields = new Map<string, unknown>()
  for (let word = words.shift(); word !== undefined; word = words.shift()) {
    if (!word.startsWith('--') || word === '--') throw new UsageError(`Unexpected '${word}'; fields are given as --field value.`)
    const [name, attached] = split(word.slice(2))
    const value = attached ?? (words[0] === undefined || words[0].startsWith('--') ? true : words.shift()!)
    const before = fields.get(name)
    fields.set(name, before === undefined ? value : Array.isArray(before) ? [...before, value] : [before, value])
  }
  return Object.fromEntries(fields)
}

function split(word: string): [name: string, value?: string] {
  const at = word.indexOf('=')
  return at < 0 ? [word] : [word.slice(0, at), word.slice(at + 1)]
}

function parse(text: string): JsonObject {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new UsageError(`The input is not JSON: ${(error as Error).message}.`)
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new UsageError('The input must be a JSON object.')
  return value as JsonObject
}

async function readAll(io: Io): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of io.stdin) chunks.push(Buffer.from(chunk))
  return Buffer.concat(chunks).toString('utf8')
}

function approve({ call, reasons }: { call: Call; reasons: string[] }, io: Io): Promise<boolean> {
  io.stderr.write(printable(`${call.slot} ${JSON.stringify(call.input, null, 2)}\n${reasons.map((reason) => `  ${reason}\n`).join('')}`))
  return confirm(io, 'Do it?')
}
