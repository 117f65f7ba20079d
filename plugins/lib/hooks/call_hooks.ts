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
import { createHookInput, runHook, type HookOutput } from './run_hook.js'
import { toHookCalls, type HookCall } from './hook_calls.js'

/** A hook that applies to a call, with the call in its dialect. */
export interface ChosenHook {
  entry: HookEntry
  group: HookGroup
  hookCall: HookCall
}
export interface RanHook extends ChosenHook {
  output: HookOutput
}

export const readHookBlock = ({ settings }: Pick<Context, 'settings'>): HookBlock | undefined => {
  const block = settings.hooks as HookBlock | undefined
  return block && Object.keys(block).length > 0 ? block : undefined
}

/** Returns the hooks for this call in the order of the settings, without duplicates. */
export async function findHooks(event: HookEvent, call: Call, context: Context): Promise<ChosenHook[]> {
  const found = new Map<string, ChosenHook>()
  for (const group of listGroups(readHookBlock(context), event)) {
    for (const hookCall of toHookCalls(call, context.slot, group.dialect ?? 'unified', context.workspace.root)) {
      if (!(await hasMatch(group.matcher, hookCall.names))) continue
      for (const entry of group.hooks ?? []) {
        if (await isConcerned(entry, call, context))
          found.set(JSON.stringify([group.by?.id, entry, hookCall.tool_name, hookCall.tool_input]), {
            entry,
            group,
            hookCall,
          })
      }
    }
  }
  return [...found.values()]
}

/**
 * Checks whether the rule of an entry covers the call. An unreadable rule or command counts as covered, so that an
 * error disables no guard.
 */
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

/**
 * Runs hooks in parallel with the event as input, and returns answers in the same order. Hooks marked `async` are
 * started without waiting.
 */
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
    const { tool_name, tool_input } = one.hookCall
    const work = runHook(
      one.entry,
      one.group,
      createHookInput(event, environment, { tool_name, tool_input, tool_use_id: call.id, ...extra }),
      environment,
    ).then((output) => ({ ...one, output }))
    if (one.entry.async !== true || event === 'PreToolUse' || event === 'PermissionRequest') return [work]
    work.catch(() => undefined)
    return []
  })
  return Promise.all(waiting)
}
