import type { JsonObject } from '../../../core/shapes/index.js'
import type { Io } from '../../../core/contract/index.js'

/** The words of a command line are not a valid call. */
export class CallUsageError extends Error {}

/** Removes the name of the tool from the words and returns it. Throws CallUsageError. */
export function takeTool(words: string[]): string {
  const tool = words.shift()
  if (tool === undefined) throw new CallUsageError('Name the tool to call; `vtcode tools` lists them.')
  if (tool.startsWith('-')) throw new CallUsageError(`Unknown flag ${tool} before the name of the tool.`)
  return tool
}

/** Reads the input of a call: `action --field value …`, or the whole input as JSON. Throws CallUsageError. */
export async function readInput(words: string[], io: Io): Promise<JsonObject> {
  const action = words[0] !== undefined && !words[0].startsWith('--') ? { action: words.shift() } : {}
  const fields = readFields(words)
  const whole = Object.keys(fields).length === 1 ? fields['input'] : undefined
  if (whole === '-') return { ...action, ...parseInput(await readAll(io)) }
  // A tool may have a field "input" with text instead of JSON, for example a patch.
  if (typeof whole === 'string' && whole.trimStart().startsWith('{')) return { ...action, ...parseInput(whole) }
  return { ...action, ...fields }
}

function readFields(words: string[]): JsonObject {
  const fields = new Map<string, unknown>()
  for (let word = words.shift(); word !== undefined; word = words.shift()) {
    if (!word.startsWith('--') || word === '--')
      throw new CallUsageError(`Unexpected '${word}'; fields are given as --field value.`)
    const [name, attached] = splitFlag(word.slice(2))
    const value = attached ?? (words[0] === undefined || words[0].startsWith('--') ? true : words.shift()!)
    const before = fields.get(name)
    fields.set(name, before === undefined ? value : Array.isArray(before) ? [...before, value] : [before, value])
  }
  return Object.fromEntries(fields)
}

function splitFlag(word: string): [name: string, value?: string] {
  const at = word.indexOf('=')
  return at < 0 ? [word] : [word.slice(0, at), word.slice(at + 1)]
}

function parseInput(text: string): JsonObject {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new CallUsageError(`The input is not JSON: ${(error as Error).message}.`)
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new CallUsageError('The input must be a JSON object.')
  return value as JsonObject
}

async function readAll(io: Io): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of io.stdin) chunks.push(Buffer.from(chunk))
  return Buffer.concat(chunks).toString('utf8')
}
