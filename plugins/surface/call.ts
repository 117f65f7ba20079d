import { basename } from 'node:path'
import { visibleJson } from '../../core/text/index.js'
import type { Approval, CallOptions, Io, JsonObject, Kernel, PreparedCall } from '../../core/index.js'
import { plainly } from '../../core/input/index.js'
import {
  createApprover,
  shouldPrintJson,
  createAsker,
  cutLine,
  HELP_WIDTH,
  isInteractive,
  toOneLine,
  readInput,
  say,
  renderSlotHelp,
  takeTool,
  CallUsageError,
  type OutputForm,
} from '../lib/terminal/index.js'

const usage = `Usage: vtcode call [flags] <tool> [action] [--field value …]

Calls one tool and prints its answer: text at a terminal, one JSON document
into a pipe or a file; --json and --text choose. These, --session ID and the
flags of the program stand before the tool's name; all behind it is input:
  --field value     a field; repeated it becomes a list, without a value it is
                    true; --field=value keeps leading dashes
  --input '{…}'     the whole input as JSON; --input - reads it from stdin

  vtcode call unified_search grep --pattern TODO --path src
  vtcode call unified_file --input '{"action":"read","path":"README.md"}'
  vtcode call unified_file read --help

Exit codes: 0 done, 1 failed, 2 usage, 3 configuration, 130 interrupted.
`

/** `vtcode call`: one call, and its answer. */
export default async function call(kernel: Kernel, argv: string[], io: Io): Promise<number> {
  const words = [...argv]
  if (words[0] === '--help' || words[0] === '-h') {
    io.stdout.write(usage)
    return 0
  }
  let tool: string
  let input: JsonObject
  let prepared: PreparedCall | undefined
  let flags: CallFlags
  try {
    flags = takeFlags(words)
    tool = takeTool(words)
    const help = helpFor(kernel, tool, words)
    if (help !== undefined) {
      io.stdout.write(help)
      return 0
    }
    requireAction(kernel, tool, words)
    const fields = words.every((word) => !/^--input(=|$)/.test(word))
    input = await readInput(words, io)
    if (fields) prepared = await requireValues(kernel, tool, input)
  } catch (error) {
    if (!(error instanceof CallUsageError)) throw error
    say(io, 'error', `${error.message}\nSee \`vtcode call --help\`.`)
    return 2
  }

  const told = new Set<string>()
  remarks(kernel, io, told)
  const approve = createApprover(io)
  const asked = async (request: Approval) => {
    const { notify } = await import('../lib/hooks/index.js')
    notify(
      kernel,
      request.call.session,
      'permission_prompt',
      `${request.call.slot} waits for an approval. ${request.reasons.join(' ')}`,
    )
    return approve(request)
  }
  const options: CallOptions = {
    signal: io.signal,
    surface: 'call',
    ...(flags.session !== undefined && { session: flags.session }),
    ...(isInteractive(io) && { approve: asked, ask: createAsker(io) }),
  }
  const result = await (prepared ? kernel.call(prepared, options) : kernel.call(tool, input, options))
  // A call of a name that was not known may have started servers.
  remarks(kernel, io, told, !result.ok && result.error.code === 'VT_TOOL_UNKNOWN')
  for (const { code, message } of result.notices ?? []) say(io, 'info', `${code}: ${message}`)
  if (shouldPrintJson(io, flags))
    io.stdout.write(`${visibleJson(JSON.stringify(result, null, io.stdout.isTTY ? 2 : 0))}\n`)
  else (await import('./call/shown.js')).show(result, io)
  return result.ok ? 0 : 1
}

/** What a user would want to fix and was not told yet, and where a name is unknown why a server may not have brought it; what only waits for consent is one line, however much it is. */
function remarks(kernel: Kernel, io: Io, told: Set<string>, servers = false): void {
  const wanted = kernel
    .diagnostics()
    .filter(({ severity, code }) => severity !== 'info' || (servers && code === 'VT_MCP_START'))
  const diagnostics = wanted.filter(({ message }) => !told.has(message))
  for (const { message } of diagnostics) told.add(message)
  const waiting = diagnostics.filter(({ code }) => waits.has(code))
  if (waiting.length > 0)
    say(
      io,
      'warning',
      `Left out until you agree: ${waiting.length} of what this workspace brings; \`vtcode trust\` shows it and asks.`,
    )
  for (const { code, severity, message, hint = '', files } of diagnostics) {
    if (waits.has(code)) continue
    const text = `${message} ${hint}`.trimEnd()
    const places = files.filter((file) => !text.includes(basename(file.replace(/(:\d+)+$/, ''))))
    say(io, severity, places.length > 0 ? `${toOneLine(places[0]!)}: ${text}` : text)
  }
}
const waits = new Set(['VT_CONFIG_CONSENT', 'VT_CONFIG_UNTRUSTED', 'VT_PLUGIN_UNTRUSTED'])

/** What `--help` behind a tool, or behind its action, asks for; nothing where the words mean a call, or a tool that has such a field. */
function helpFor(kernel: Kernel, tool: string, words: readonly string[]): string | undefined {
  const [action, ...rest] = words.at(-1) === '--help' || words.at(-1) === '-h' ? words.slice(0, -1) : ['-']
  if (action === '-' || rest.length > 0 || action?.startsWith('-')) return undefined
  const all = kernel.list()
  const own = all.filter((slot) => slot.tool === tool)
  const slots = own.length > 0 ? own : all.filter((slot) => slot.slot === tool || slot.names.includes(tool))
  const meant = slots.filter((slot) => action === undefined || slot.action === action)
  if (meant.length === 0 || Object.hasOwn((meant[0]!.input['properties'] ?? {}) as object, 'help')) return undefined
  if (meant.length === 1) return renderSlotHelp(meant[0]!)
  const rows = meant.map((slot) =>
    cutLine(`  ${slot.action!.padEnd(12)} ${toOneLine(plainly(slot.description))}`, HELP_WIDTH),
  )
  return `Usage: vtcode call ${tool} <action> [--field value …]\n\n${rows.join('\n')}\n\nvtcode call ${tool} <action> --help says more of one.\n`
}

/** Behind a tool without actions a bare word means nothing. Throws a UsageError. */
function requireAction(kernel: Kernel, tool: string, [word]: string[]): void {
  if (
    word === undefined ||
    word.startsWith('--') ||
    kernel.list().some((slot) => slot.tool === tool && slot.action !== undefined)
  )
    return
  const known = kernel.describe(tool)
  if (!known || known.actions.length > 0) return
  const { properties = {}, required = [] } = known.input as { properties?: object; required?: string[] }
  const fields = [...new Set([...required, ...Object.keys(properties)])]
  if (fields.includes('action')) return
  throw new CallUsageError(
    `${tool} has no actions; its fields are given by name: ${fields.map((name) => `--${name}`).join(', ') || 'it has none'}.`,
  )
}

/**
 * Returns the call where the check had to resolve it. Throws a UsageError for a text field without its value: it is
 * `true`, and a text of that name would be searched for, written or run.
 */
async function requireValues(kernel: Kernel, tool: string, input: JsonObject): Promise<PreparedCall | undefined> {
  const bare = Object.keys(input).filter((name) => input[name] === true)
  if (bare.length === 0) return undefined
  const prepared = await kernel.resolve(tool, input)
  const meant: JsonObject = prepared?.input ?? {}
  if (Object.values(input).includes('true') || !Object.values(meant).includes('true')) return prepared
  const texts = bare.filter((name) => meant[name.replaceAll('-', '_')] === 'true')
  throw new CallUsageError(
    `--${(texts.length > 0 ? texts : bare).join(' and --')} needs a value; the text "true" is given as --${texts[0] ?? bare[0]!}=true.`,
  )
}

interface CallFlags extends OutputForm {
  session?: string
}

/** The flags before the name of the tool. Throws a UsageError. */
function takeFlags(words: string[]): CallFlags {
  const flags: CallFlags = {}
  for (;;) {
    const [word] = words
    if (word === '--json') flags.json = true
    else if (word === '--text') flags.text = true
    else if (word?.startsWith('--session=')) flags.session = word.slice('--session='.length)
    else if (word === '--session') {
      if (words[1] === undefined) throw new CallUsageError('--session needs the id of a session.')
      flags.session = words[1]
      words.shift()
    } else return flags
    words.shift()
  }
}
