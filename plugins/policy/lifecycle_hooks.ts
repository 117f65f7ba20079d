import type { Answerer, Call, Context, JsonObject, Objection, Policy, Session } from '../../core/index.js'
import {
  cutHookText,
  getHookNotices,
  findHooks,
  readHookBlock,
  runHooks,
  describeHook,
  readSpecificOutput,
  type RanHook,
  type HookOutput,
} from '../lib/hooks/index.js'

/** PreToolUse: hooks may deny, ask or change the input; none makes another verdict milder. */
const checkLifecycleHooks: Policy = (call, context) =>
  readHookBlock(context) ? runPreToolUse(call, context) : undefined
export default checkLifecycleHooks

async function runPreToolUse(call: Call, context: Context): Promise<Objection | undefined> {
  const chosen = await findHooks('PreToolUse', call, context)
  if (chosen.length === 0) return undefined
  if (context.explain) return void context.explain({ hooks: chosen.map(({ entry }) => describeHook(entry)) })
  const ran = await runHooks('PreToolUse', chosen, call, context, {})
  const verdicts = ran.flatMap((one) => toVerdict(one, call, context.session) ?? [])
  const worst = verdicts.find((verdict) => 'deny' in verdict) ?? verdicts[0]
  return worst ? { ...worst, details: { ...worst.details, hook: true } } : findReplacedInput(ran, call)
}

/** PermissionRequest: before a question, a hook may refuse, and a hook of the user's settings may approve. */
export const answer: Answerer = async ({ call, covers }, context) => {
  if (!readHookBlock(context)) return undefined
  const chosen = await findHooks('PermissionRequest', call, context)
  const permission_suggestions =
    covers === undefined ? [] : [{ type: 'addRules', behavior: 'allow', destination: 'session', covers }]
  const ran = await runHooks('PermissionRequest', chosen, call, context, { permission_suggestions })
  const answers = ran.map((one) => ({ one, permission: readPermission(one.output) }))
  const no = answers.find(({ permission }) => permission && 'deny' in permission)
  if (no) return no.permission
  for (const { one, permission } of answers) {
    if (one.output.kind === 'failed') createRemarker(call, context.session)('VT_HOOK_FAILED', one.output.reason)
    const own = one.group.layer !== 'workspace' && !one.group.by
    if (permission && own) return permission
    if (permission)
      createRemarker(call, context.session)(
        'VT_HOOK_IGNORED',
        'A lifecycle hook of the workspace or of a plugin allows the call; only a hook of the user can approve it.',
      )
  }
  return undefined
}

function readPermission(output: HookOutput): Awaited<ReturnType<Answerer>> {
  if (output.kind === 'block') return { deny: output.reason }
  if (output.kind === 'failed') return undefined
  const { behavior, message, updatedInput, updatedPermissions } = (readSpecificOutput(output.json)['decision'] ??
    {}) as JsonObject
  if (behavior === 'deny') return { deny: cutHookText(String(message ?? 'A lifecycle hook refuses.')) }
  // A person would approve this call; a changed input needs a call of its own.
  if (behavior !== 'allow' || updatedInput !== undefined) return undefined
  const lasting = Array.isArray(updatedPermissions)
    ? (updatedPermissions as { destination?: string }[]).map(({ destination }) => destination)
    : []
  return { allow: lasting.length === 0 ? 'once' : lasting.every((where) => where === 'session') ? 'session' : 'always' }
}

const createRemarker =
  (call: Call, session: Session) =>
  (code: string, message: string): void =>
    getHookNotices(session).add(call, { code, message: cutHookText(message) })

function toVerdict({ entry, group, output }: RanHook, call: Call, session: Session): Objection | undefined {
  const remark = createRemarker(call, session)
  if (output.kind === 'block') return { deny: output.reason }
  if (output.kind === 'failed') {
    const { reason, exited = false } = output
    remark('VT_HOOK_FAILED', reason)
    const word = entry.on_error ?? entry.onError ?? resolveDefaultVerdict(group.dialect, exited)
    if (word === 'ask') return { ask: reason, by: describeAuthor(group) }
    return word === 'allow' ? undefined : { deny: reason }
  }
  const { json } = output
  const own = readSpecificOutput(json)
  const reason = cutHookText(String(own['permissionDecisionReason'] ?? readReason(json)))
  for (const text of [own['additionalContext'], json['systemMessage']]) {
    if (typeof text === 'string') remark('VT_HOOK_CONTEXT', text)
  }
  const decision = own['permissionDecision'] ?? readDecision(json)
  if (decision === undefined) return undefined
  if (['ask', 'defer'].includes(decision as string)) return { ask: reason, by: describeAuthor(group) }
  // Only approval lifts a question, and nothing lifts a denial.
  if (decision === 'allow')
    return void remark(
      'VT_HOOK_IGNORED',
      'A lifecycle hook allows the call; hooks can only restrict calls, so the other policies decided.',
    )
  return {
    deny: decision === 'deny' ? reason : `A lifecycle hook returned the invalid decision ${JSON.stringify(decision)}.`,
  }
}

/** Programs for other agents exit with 1 on a failure; their users do not expect that to stop a call. */
function resolveDefaultVerdict(dialect = 'unified', exited: boolean): string {
  if (dialect === 'unified') return 'deny'
  return exited ? 'allow' : 'ask'
}

const readReason = (json: JsonObject): unknown => json['reason'] ?? json['stopReason'] ?? 'A lifecycle hook objects.'

function readDecision({ decision, continue: goesOn }: JsonObject): string | undefined {
  if (['block', 'deny'].includes(String(decision)) || goesOn === false) return 'deny'
  return decision === 'ask' ? 'ask' : undefined
}

const describeAuthor = ({ layer, by }: RanHook['group']): string =>
  by ? `plugin ${by.plugin}` : layer === 'workspace' ? 'a lifecycle hook of the workspace' : 'a lifecycle hook of yours'

/** Returns the input that all hooks request, if it differs from the caller's. */
function findReplacedInput(ran: readonly RanHook[], call: Call): Objection | undefined {
  const wanted: JsonObject[] = []
  for (const { output, hookCall } of ran) {
    const input = output.kind === 'answered' ? readSpecificOutput(output.json)['updatedInput'] : undefined
    if (typeof input !== 'object' || input === null || Array.isArray(input)) continue
    if (!hookCall.back)
      return {
        deny: `A lifecycle hook requests another input for ${hookCall.tool_name}, which is a part of this call.`,
      }
    wanted.push(hookCall.back(input as JsonObject))
  }
  const different = new Map(wanted.map((input) => [toCanonicalText(input), input]))
  different.delete(toCanonicalText(call.given))
  if (different.size === 0) return undefined
  if (different.size > 1) return { deny: 'Two lifecycle hooks request different inputs for this call.' }
  return { deny: 'A lifecycle hook requests another input again.', instead: [...different.values()][0]! }
}

const toCanonicalText = (input: Readonly<JsonObject>): string =>
  JSON.stringify(
    Object.entries(input)
      .filter(([name]) => name !== 'action')
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  )
