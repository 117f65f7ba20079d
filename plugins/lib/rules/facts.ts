import { toText } from '../../../core/text/index.js'
import type { Call, JsonObject, SlotInfo } from '../../../core/shapes/index.js'
import type { Context } from '../../../core/contract/index.js'
import { listPropertiesWithFormat } from '../../../core/registry/index.js'
import type { Workspace } from '../../../core/workspace/index.js'
import { readCommand, type ParsedCommand } from '../shell/index.js'

/** Facts about one call that rules need; expensive ones are computed on first use. */
export interface CallFacts {
  readonly call: Call
  readonly slot: SlotInfo
  readonly workspace: Workspace
  /** `PATH` of the kernel. */
  readonly searchPath: string | undefined
  readonly hasPath: boolean
  readonly hasCommand: boolean
  commands(): (string | string[])[]
  /** Returns the parsed command lines, with the variables and the input of the call. */
  lines(): readonly ParsedCommand[]
  host(): string | undefined
}

export function collectFacts(call: Call, context: Context): CallFacts {
  const commands = listPropertiesWithFormat(context.slot, 'command')
  return {
    call,
    slot: context.slot,
    workspace: context.workspace,
    searchPath: context.host.env['PATH'],
    hasPath: listPropertiesWithFormat(context.slot, 'workspace-path').length > 0,
    hasCommand: commands.length > 0,
    commands: () => listCommands(call, commands),
    lines: () => parseLines(call, commands),
    host: () => parseHost(call.input.url),
  }
}

const listCommands = ({ input }: Call, names: string[]): (string | string[])[] =>
  names.flatMap((name) => (input[name] === undefined ? [] : [appendArguments(input, name)]))

/** Several policies read one call, which never changes. */
const parsedLines = new WeakMap<Call, readonly ParsedCommand[]>()
function parseLines(call: Call, names: string[]): readonly ParsedCommand[] {
  const known = parsedLines.get(call) ?? listCommands(call, names).map((command) => parseLine(command, call.input))
  parsedLines.set(call, known)
  return known
}

function parseLine(command: string | string[], { env, input, shell, tty }: Readonly<JsonObject>): ParsedCommand {
  const line = readCommand(command, {
    ...(typeof env === 'object' && env !== null && { env: env as Record<string, string> }),
    ...(typeof input === 'string' && { stdin: input }),
    isTerminal: tty === true,
  })
  if (typeof command !== 'string' || [undefined, 'bash', 'sh'].includes(shell as string)) return line
  const reason = `its text is for ${toText(shell)}`
  return { ...line, dynamic: line.dynamic ?? reason, hidden: line.hidden ?? reason }
}

/** `args` are further words of the command, never shell text. */
function appendArguments(input: Readonly<JsonObject>, name: string): string | string[] {
  const command = input[name] as string | string[]
  const further = input.args
  return Array.isArray(further) ? [command, further as string[]].flat() : command
}

function parseHost(url: unknown): string | undefined {
  return typeof url === 'string' && URL.canParse(url) ? new URL(url).hostname.replace(/\.$/, '') : undefined
}
