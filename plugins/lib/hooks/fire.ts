import { toText } from '../../../core/text/index.js'
import type { JsonObject, Mode } from '../../../core/shapes/index.js'
import type { Kernel } from '../../../core/contract/index.js'
import { pickHookSettings } from './resolve_hook.js'
import {
  listGroups,
  hasMatch,
  type HookEnvironment,
  type HookBlock,
  type HookEntry,
  type HookEvent,
  type HookGroup,
} from './entries.js'
import { cutHookText, createHookInput, runHook, readSpecificOutput, type HookOutput } from './run_hook.js'

/** Events outside a call, fired by surfaces and the agent. */
export type LifecycleEvent = Exclude<
  HookEvent,
  'PreToolUse' | 'PermissionRequest' | 'PostToolUse' | 'PostToolUseFailure'
>
export interface EventInput {
  session: string
  /** Value that matchers are compared with: the source, reason, type, trigger or agent. */
  matched?: string
  /** Input fields in addition to those of every event. */
  extra?: JsonObject
  signal?: AbortSignal
  /** Mode of the session. Default: the mode of the kernel. */
  mode?: Mode
}
/** Combined answer of the hooks of an event. */
export interface HookAnswer {
  /** Reason to block the event, if the event can be blocked. */
  block?: string
  /** Context for the model. */
  context: string[]
  /** Notices for the user: messages of hooks and failed hooks. */
  notices: { code: 'VT_HOOK_CONTEXT' | 'VT_HOOK_FAILED'; message: string }[]
}

const blockable: readonly LifecycleEvent[] = ['UserPromptSubmit', 'Stop', 'SubagentStop', 'PreCompact']
const informative: readonly LifecycleEvent[] = ['SessionStart', 'UserPromptSubmit', 'SubagentStart']

/**
 * Fires an event: runs its hooks in parallel and waits for all that are not `async`. A failing hook has no effect
 * unless its `on_error` demands one. Contract: never rejects. Costs one check of the settings if there are no hooks.
 */
export async function fire(
  kernel: Kernel,
  event: LifecycleEvent,
  {
    session,
    matched = '',
    extra = {},
    signal = new AbortController().signal,
    mode = kernel.inspection.resolveMode(),
  }: EventInput,
): Promise<HookAnswer> {
  const answer: HookAnswer = { context: [], notices: [] }
  const groups = listGroups(kernel.inspection.hooks as HookBlock, event)
  if (groups.length === 0) return answer
  const environment: HookEnvironment = {
    root: kernel.workspace,
    home: kernel.inspection.home,
    env: kernel.inspection.env,
    session,
    mode,
    settings: pickHookSettings(kernel.settings),
    signal,
  }
  const entries = new Map<string, { entry: HookEntry; group: HookGroup }>()
  for (const group of groups) {
    const { matcher, hooks = [], by } = group
    if (matched === '' || (await hasMatch(matcher, [matched])))
      for (const entry of hooks) entries.set(JSON.stringify([by?.id, entry]), { entry, group })
  }
  const input = createHookInput(event, environment, extra)
  const waiting = [...entries.values()].flatMap(({ entry, group }) => {
    const work = runHook(entry, group, input, environment).then(
      (output): [HookEntry, HookOutput] => [entry, output],
      (error: Error): [HookEntry, HookOutput] => [entry, { kind: 'failed', reason: error.message }],
    )
    return entry.async === true ? [] : [work]
  })
  for (const [entry, output] of await Promise.all(waiting)) addAnswer(answer, event, entry, output)
  return answer
}

function addAnswer(answer: HookAnswer, event: LifecycleEvent, entry: HookEntry, output: HookOutput): void {
  const block = (reason: unknown): void => {
    if (!blockable.includes(event)) return
    answer.block ??= cutHookText(toText(reason ?? 'A lifecycle hook blocked this event.'))
  }
  if (output.kind === 'block') return block(output.reason)
  if (output.kind === 'failed') {
    answer.notices.push({ code: 'VT_HOOK_FAILED', message: output.reason })
    if ((entry.on_error ?? entry.onError) === 'deny') block(output.reason)
    return
  }
  const { json, text } = output
  const { additionalContext } = readSpecificOutput(json)
  if (json['decision'] === 'block') block(json['reason'])
  else if (json['continue'] === false) block(json['stopReason'])
  const known = [text, additionalContext].filter((one): one is string => typeof one === 'string' && one !== '')
  if (informative.includes(event)) answer.context.push(...known.map(cutHookText))
  if (typeof json['systemMessage'] === 'string')
    answer.notices.push({ code: 'VT_HOOK_CONTEXT', message: cutHookText(json['systemMessage']) })
}

/** Notifies hooks that the program waits for the user, without waiting for the hooks. */
export function notify(
  kernel: Kernel,
  session: string,
  notification_type: string,
  message: string,
  title?: string,
): void {
  void fire(kernel, 'Notification', {
    session,
    matched: notification_type,
    extra: { notification_type, message, ...(title !== undefined && { title }) },
  })
}
