import type { Call, JsonObject, SlotInfo } from '../../../core/base/index.js'
import type { Context } from '../../../core/kernel/index.js'
import type { Workspace } from '../../../core/workspace/index.js'
import { callPaths, propertiesOf, type CallPath } from './call_paths.js'

/** What rules may ask about one call; everything that costs something is found out once, when first asked for. */
export interface CallFacts {
  readonly call: Call
  readonly slot: SlotInfo
  readonly workspace: Workspace
  readonly hasPath: boolean
  readonly hasCommand: boolean
  places(): Promise<CallPath[]>
  commands(): (string | string[])[]
  host(): string | undefined
}

export function factsOf(call: Call, context: Context): CallFacts {
  const commands = propertiesOf(context.slot, 'command')
  let places: Promise<CallPath[]> | undefined
  return {
    call,
    slot: context.slot,
    workspace: context.workspace,
    hasPath: propertiesOf(context.slot, 'workspace-path').length > 0,
    hasCommand: commands.length > 0,
    places: () => (places ??= callPaths(call, context)),
    commands: () => commands.flatMap((name) => (call.input[name] === undefined ? [] : [withArguments(call.input, name)])),
    host: () => hostOf(call.input.url),
  }
}

/** `args` beside a command are its further words, never shell. */
function withArguments(input: Readonly<JsonObject>, name: string): string | string[] {
  const command = input[name] as string | string[]
  const further = input.args
  return Array.isArray(further) ? [command, further as string[]].flat() : command
}

function hostOf(url: unknown): string | undefined {
  return typeof url === 'string' && URL.canParse(url) ? new URL(url).hostname.replace(/\.$/, '') : undefined
}
