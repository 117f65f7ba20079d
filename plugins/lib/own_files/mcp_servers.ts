import { findNearest } from '../../../core/text/index.js'
import type { Io, Kernel } from '../../../core/contract/index.js'
import { problem, type JsonObject } from '../../../core/shapes/index.js'
import { formatColumns, printable, say, toOneLine } from '../terminal/index.js'
import { formatDifference, writeDraft } from './draft.js'
import { draftSettings, findSettingsFile } from './settings.js'

const USAGE = `Usage: vtcode mcp add <name> <url>
       vtcode mcp add <name> -- <command> [args…]
       vtcode mcp list | remove <name> | test <name>
`
const NAME = /^[a-z][\w-]{0,63}$/i

/** The words that begin a command about servers of others. */
export const SERVER_WORDS: ReadonlySet<string> = new Set(['add', 'list', 'remove', 'test'])

/** Runs `vtcode mcp add|list|remove|test`: changes and tries the MCP servers in the settings of the user. */
export async function runServerCommand(kernel: Kernel, words: readonly string[], io: Io): Promise<number> {
  const [verb = '', name = '', ...rest] = words
  const fault = findFault(kernel, verb, name, rest)
  if (fault !== undefined) {
    say(io, 'error', fault)
    io.stderr.write(USAGE)
    return 2
  }
  if (verb === 'list') return listServers(kernel, io)
  if (verb === 'test') return testServer(kernel, name, io)
  const entry = verb === 'add' ? readEntry(rest) : undefined
  const code = await changeServer(kernel, name, entry, io)
  if (code === 0 && entry) io.stdout.write(`Try it: vtcode mcp test ${name}\n`)
  return code
}

function findFault(kernel: Kernel, verb: string, name: string, rest: readonly string[]): string | undefined {
  if (verb === 'list') return name === '' ? undefined : `'${toOneLine(name)}' has no place here.`
  if (!NAME.test(name)) return `Invalid name '${toOneLine(name)}': use letters, digits, - and _, a letter first.`
  const known = Object.keys(kernel.settings.mcp.servers)
  if (verb === 'add') {
    if (known.includes(name)) return `The server '${name}' exists; \`vtcode mcp remove ${name}\` removes it.`
    return readEntry(rest) ? undefined : 'Give the address of the server, or -- and its command.'
  }
  if (known.includes(name)) return undefined
  const like = findNearest(name, known)
  const suggestion = like === undefined ? '' : ` (did you mean ${like}?)`
  return `Unknown server '${name}'${suggestion}; known: ${known.join(', ') || 'none'}.`
}

/** Reads the address, or the command after `--`. */
function readEntry([first, ...rest]: readonly string[]): JsonObject | undefined {
  if (first === '--') {
    const [command, ...args] = rest
    return command === undefined ? undefined : { command, ...(args.length > 0 && { args }) }
  }
  return first !== undefined && rest.length === 0 && /^https?:\/\/\S+$/.test(first) ? { url: first } : undefined
}

async function changeServer(kernel: Kernel, name: string, entry: JsonObject | undefined, io: Io): Promise<number> {
  // A process that vtcode started must not change the settings of the user.
  if (io.env['VTCODE'] === '1') throw problem('VT_TRUST_REFUSED')
  const file = findSettingsFile(kernel.inspection.home)
  try {
    const draft = await draftSettings(file, { [`mcp.servers.${name}`]: entry })
    if (draft.before === draft.after) {
      say(io, 'error', `'${name}' is not in ${toOneLine(file)}: another file of settings names it.`)
      return 1
    }
    io.stdout.write(formatDifference(draft, io))
    writeDraft(draft)
    return 0
  } catch (error) {
    say(io, 'error', `Cannot change '${toOneLine(file)}': ${toOneLine((error as Error).message)}.`)
    return 1
  }
}

function listServers(kernel: Kernel, io: Io): number {
  const rows = Object.entries(kernel.settings.mcp.servers as Record<string, JsonObject>).map(
    ([name, { command, args, url, enabled }]) => [
      toOneLine(name),
      toOneLine([command ?? url, ...(Array.isArray(args) ? args : [])].join(' ')),
      enabled === false ? 'off' : '',
    ],
  )
  if (rows.length === 0) io.stderr.write('No servers are set up; `vtcode mcp add <name> <url>` adds one.\n')
  else io.stdout.write(printable(formatColumns(rows)))
  return 0
}

/** Starts a server and lists its tools. */
async function testServer(kernel: Kernel, name: string, io: Io): Promise<number> {
  await kernel.inspection.loadDeferred()
  const { provided, reason } = findOffers(kernel, name)
  if (provided.length === 0) {
    say(io, 'error', `${name}: ${toOneLine(reason ?? 'the server provides no tool')}`)
    return 1
  }
  io.stdout.write(`${name} answers with ${formatCount(provided.length, 'tool')}:\n`)
  for (const { slot } of provided) io.stdout.write(`  ${toOneLine(slot!)}\n`)
  return 0
}

/** Finds what a server provides, and the reason where a part of it is missing. */
function findOffers({ inspection }: Kernel, name: string) {
  const own = inspection.contributions().filter(({ id }) => id.split(/[/:]|__/).includes(name))
  return {
    provided: own.filter(({ slot, state }) => slot !== undefined && state === 'active'),
    reason: own.find((one) => one.reason !== undefined)?.reason,
  }
}

/** Describes the configured MCP servers with their tools and prompts, for `/mcp`. */
export async function describeServers(kernel: Kernel): Promise<string> {
  await kernel.inspection.loadDeferred()
  const servers = Object.keys(kernel.settings.mcp.servers)
  const rows = servers.map((name) => {
    const { provided, reason } = findOffers(kernel, name)
    const prompts = provided.filter(({ slot }) => slot!.startsWith('prompt/'))
    const tools = provided.filter((one) => !prompts.includes(one))
    const names = [...tools.map(({ slot }) => slot!), ...prompts.map(({ slot }) => slot!.replace('prompt/', '/'))]
    return [
      toOneLine(name),
      formatCount(tools.length, 'tool'),
      formatCount(prompts.length, 'prompt'),
      toOneLine(reason ?? names.join(', ')).slice(0, 400),
    ]
  })
  return rows.length === 0
    ? 'No MCP servers are configured. Add them to `mcp.servers` in the settings: see docs/settings.md.'
    : formatColumns(rows)
}

const formatCount = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`
