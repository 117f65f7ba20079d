import { basename } from 'node:path'
import { visibleJson } from '../../core/text/index.js'
import type { Approval, CallOptions, Io, JsonObject, Kernel, PreparedCall } from '../../core/index.js'
import { renderPlainText } from '../../core/input/index.js'
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

const USAGE = `Usage: vtcode call [flags] <tool> [action] [--field value …]

Call one tool and print its answer: text at a terminal, one JSON document
into a pipe or a file; --json and --text choose. Put these, --session ID and
the flags of the program before the tool's name; all after it is input:
  --field value     a field; repeated it becomes a list, without a value it is
                    true; --field=value keeps leading dashes
  --input '{…}'     the whole input as JSON; --input - reads it from stdin

  vtcode call unified_search grep --pattern TODO --path src
  vtcode call unified_file --input '{"action":"read","path":"README.md"}'
  vtcode call unified_file read --help

Exit codes: 0 done, 1 failed, 2 usage, 3 configuration, 130 interrupted.
`

/** Runs `vtcode call`: makes one call and prints its answer. */
export default async function call(kernel: Kernel, argv: string[], io: Io): Promise<number> {
  const words = [...argv]
  if (words[0] === '--help' || words[0] === '-h') {
    io.stdout.write(USAGE)
    return 0
  }
  let tool: string
  let input: JsonObject
  let prepared: PreparedCall | undefined
  let flags: CallFlags
  try {
    flags = takeFlags(words)
    tool = takeTool(words)
    const help = findCallHelp(kernel, tool, words)
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

  const reported = new Set<string>()
  printDiagnostics(kernel, io, reported)
  const approve = createApprover(io)
  const notifyAndAsk = async (request: Approval) => {
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
    ...(isInteractive(io) && { approve: notifyAndAsk, ask: createAsker(io) }),
  }
  const result = await (prepared ? kernel.call(prepared, options) : kernel.call(tool, input, options))
  // A call of an unknown name may have started servers.
  printDiagnostics(kernel, io, reported, !result.ok && result.error.code === 'VT_TOOL_UNKNOWN')
  for (const { code, message } of result.notices ?? []) say(io, 'info', `${code}: ${message}`)
  if (shouldPrintJson(io, flags))
    io.stdout.write(`${visibleJson(JSON.stringify(result, null, io.stdout.isTTY ? 2 : 0))}\n`)
  else (await import('./call/print_result.js')).printResult(result, io)
  return result.ok ? 0 : 1
}

/**
 * Prints the diagnostics that were not printed yet. With `servers` it includes servers that did not start, which may
 * explain an unknown name. Everything that waits for consent shares one line.
 */
function printDiagnostics(kernel: Kernel, io: Io, reported: Set<string>, servers = false): void {
  const wanted = kernel
    .diagnostics()
    .filter(({ severity, code }) => severity !== 'info' || (servers && code === 'VT_MCP_START'))
  const diagnostics = wanted.filter(({ message }) => !reported.has(message))
  for (const { message } of diagnostics) reported.add(message)
  const waiting = diagnostics.filter(({ code }) => CONSENT_CODES.has(code))
  if (waiting.length > 0)
    say(
      io,
      'warning',
      `Items of this workspace that wait for your consent: ${waiting.length}. \`vtcode trust\` shows them and asks.`,
    )
  for (const { code, severity, message, hint = '', files } of diagnostics) {
    if (CONSENT_CODES.has(code)) continue
    const text = `${message} ${hint}`.trimEnd()
    const places = files.filter((file) => !text.includes(basename(file.replace(/(:\d+)+$/, ''))))
    say(io, severity, places.length > 0 ? `${toOneLine(places[0]!)}: ${text}` : text)
  }
}
const CONSENT_CODES = new Set(['VT_CONFIG_CONSENT', 'VT_CONFIG_UNTRUSTED', 'VT_PLUGIN_UNTRUSTED'])

/**
 * Returns the help of a tool or action when `--help` follows its name; undefined for a call, or where the input has a
 * field `help`.
 */
function findCallHelp(kernel: Kernel, tool: string, words: readonly string[]): string | undefined {
  const [action, ...rest] = words.at(-1) === '--help' || words.at(-1) === '-h' ? words.slice(0, -1) : ['-']
  if (action === '-' || rest.length > 0 || action?.startsWith('-')) return undefined
  const all = kernel.list()
  const own = all.filter((slot) => slot.tool === tool)
  const slots = own.length > 0 ? own : all.filter((slot) => slot.slot === tool || slot.names.includes(tool))
  const meant = slots.filter((slot) => action === undefined || slot.action === action)
  if (meant.length === 0 || Object.hasOwn((meant[0]!.input['properties'] ?? {}) as object, 'help')) return undefined
  if (meant.length === 1) return renderSlotHelp(meant[0]!)
  const rows = meant.map((slot) =>
    cutLine(`  ${slot.action!.padEnd(12)} ${toOneLine(renderPlainText(slot.description))}`, HELP_WIDTH),
  )
  return (
    `Usage: vtcode call ${tool} <action> [--field value …]\n\n${rows.join('\n')}\n\nvtcode call ${tool} ` +
    '<action> --help describes one action.\n'
  )
}

/** Throws CallUsageError for a bare word after a tool without actions. */
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
    `${tool} has no actions; give its fields by name: ` +
      `${fields.map((name) => `--${name}`).join(', ') || 'it has none'}.`,
  )
}

/**
 * Returns the resolved call where the check needed one. Throws CallUsageError for a text field without a value: the
 * parser gives it `true`, and the tool would search for, write or run that text.
 */
async function requireValues(kernel: Kernel, tool: string, input: JsonObject): Promise<PreparedCall | undefined> {
  const bare = Object.keys(input).filter((name) => input[name] === true)
  if (bare.length === 0) return undefined
  const prepared = await kernel.resolve(tool, input)
  const meant: JsonObject = prepared?.input ?? {}
  if (Object.values(input).includes('true') || !Object.values(meant).includes('true')) return prepared
  const texts = bare.filter((name) => meant[name.replaceAll('-', '_')] === 'true')
  throw new CallUsageError(
    `--${(texts.length > 0 ? texts : bare).join(' and --')} needs a value; to give the text "true", write ` +
      `--${texts[0] ?? bare[0]!}=true.`,
  )
}

interface CallFlags extends OutputForm {
  session?: string
}

/** Takes the flags before the name of the tool. Throws CallUsageError. */
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
