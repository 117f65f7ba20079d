import type { Call, JsonObject } from '../../../core/shapes/index.js'
import type { Context } from '../../../core/contract/index.js'
import {
  listGroups,
  hasMatch,
  type HookEnvironment,
  type HookBlock,
  type HookEntry,
  type HookEvent,
  type HookGroup,
} from './entries.js'
import { hookInput, runHook, type HookOutput } from './run.js'
import { toHookCalls, type HookCall } from './words.js'

/** A hook that wants to be told of a call, and in which words. */
export interface ChosenHook {
  entry: HookEntry
  group: HookGroup
  word: HookCall
}
export interface RanHook extends ChosenHook {
  output: HookOutput
}

export const readHookBlock = ({ settings }: Pick<Context, 'settings'>): HookBlock | undefined => {
  const block = settings.hooks as HookBlock | undefined
  return block && Object.keys(block).length > 0 ? block : undefined
}

/** The hooks that are for this call, identical ones once, in the order of the settings. */
export async function findHooks(event: HookEvent, call: Call, context: Context): Promise<ChosenHook[]> {
  const found = new Map<string, ChosenHook>()
  for (const group of listGroups(readHookBlock(context), event)) {
    for (const word of toHookCalls(call, context.slot, group.dialect ?? 'unified', context.workspace.root)) {
      if (!(await hasMatch(group.matcher, word.names))) continue
      for (const entry of group.hooks ?? []) {
        if (await isConcerned(entry, call, context))
          found.set(JSON.stringify([group.by?.id, entry, word.tool_name, word.tool_input]), { entry, group, word })
      }
    }
  }
  return [...found.values()]
}

/** Whether the rule of the entry speaks about the call. A rule or a command that cannot be read does: a guard is not lost to a slip. */
async function isConcerned({ if: text }: HookEntry, call: Call, context: Context): Promise<boolean> {
  if (text === undefined) return true
  const [{ collectFacts, findRule, parseRule }, { readCommand }] = await Promise.all([
    import('../rules/index.js'),
    import('../shell/index.js'),
  ])
  const rule = parseRule(text, 'ask', context.workspace)
  if (!rule) return true
  const facts = collectFacts(call, context)
  if (
    rule.command &&
    rule.applies(facts) &&
    facts.commands().some((command) => readCommand(command).hidden !== undefined)
  )
    return true
  return (await findRule(facts, [rule])) !== undefined
}

/** Runs hooks side by side with the event as their input; answers in their order. Those that are `async` are started and not waited for. */
export function runHooks(
  event: HookEvent,
  chosen: readonly ChosenHook[],
  call: Call,
  context: Context,
  extra: JsonObject,
): Promise<RanHook[]> {
  const environment: HookEnvironment = {
    root: context.workspace.root,
    home: context.host.home,
    env: context.host.env,
    session: call.session,
    mode: call.mode,
    settings: context.settings,
    signal: context.signal,
  }
  const waiting = chosen.flatMap((one) => {
    const { tool_name, tool_input } = one.word
    const work = runHook(
      one.entry,
      one.group,
      hookInput(event, environment, { tool_name, tool_input, tool_use_id: call.id, ...extra }),
      environment,
    ).then((output) => ({ ...one, output }))
    if (one.entry.async !== true || event === 'PreToolUse' || event === 'PermissionRequest') return [work]
    work.catch(() => undefined)
    return []
  })
  return Promise.all(waiting)
}
