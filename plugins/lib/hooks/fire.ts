import { toText } from '../../../core/text/index.js'
import type { JsonObject, Mode } from '../../../core/shapes/index.js'
import type { Kernel } from '../../../core/contract/index.js'
import { pickHookSettings } from './brought.js'
import {
  listGroups,
  hasMatch,
  type HookEnvironment,
  type HookBlock,
  type HookEntry,
  type HookEvent,
  type HookGroup,
} from './entries.js'
import { cutHookText, hookInput, runHook, specific, type HookOutput } from './run.js'

/** Events that are no part of a call; surfaces and the agent fire them. */
export type LifecycleEvent = Exclude<
  HookEvent,
  'PreToolUse' | 'PermissionRequest' | 'PostToolUse' | 'PostToolUseFailure'
>
export interface EventInput {
  session: string
  /** What a matcher is held against: the source, the reason, the type, the trigger, the agent. */
  matched?: string
  /** Fields of the input beside those that every event has. */
  extra?: JsonObject
  signal?: AbortSignal
  /** The mode of the session; default: the kernel's. */
  mode?: Mode
}
/** What the hooks of an event say together. */
export interface HookAnswer {
  /** Why what was about to happen should not; where the event can be blocked. */
  block?: string
  /** For the model to know. */
  context: string[]
  /** For the user to know: messages of hooks, and which failed. */
  notices: { code: 'VT_HOOK_CONTEXT' | 'VT_HOOK_FAILED'; message: string }[]
}

const blockable: readonly LifecycleEvent[] = ['UserPromptSubmit', 'Stop', 'SubagentStop', 'PreCompact']
const informative: readonly LifecycleEvent[] = ['SessionStart', 'UserPromptSubmit', 'SubagentStart']

/**
 * Tells the hooks of the settings of an event, all side by side, and waits for those that are not `async`. A hook that fails changes
 * nothing unless its `on_error` says so. Contract: never rejects; with no hooks it costs a look at the settings.
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
  const input = hookInput(event, environment, extra)
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
    if (blockable.includes(event)) answer.block ??= cutHookText(toText(reason ?? 'A lifecycle hook objects.'))
  }
  if (output.kind === 'block') return block(output.reason)
  if (output.kind === 'failed') {
    answer.notices.push({ code: 'VT_HOOK_FAILED', message: output.reason })
    if ((entry.on_error ?? entry.onError) === 'deny') block(output.reason)
    return
  }
  const { json, text } = output
  const { additionalContext } = specific(json)
  if (json['decision'] === 'block') block(json['reason'])
  else if (json['continue'] === false) block(json['stopReason'])
  const known = [text, additionalContext].filter((one): one is string => typeof one === 'string' && one !== '')
  if (informative.includes(event)) answer.context.push(...known.map(cutHookText))
  if (typeof json['systemMessage'] === 'string')
    answer.notices.push({ code: 'VT_HOOK_CONTEXT', message: cutHookText(json['systemMessage']) })
}

/** Tells hooks that the user is waited for. Nobody waits for them. */
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
