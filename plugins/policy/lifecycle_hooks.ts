import type { Answerer, Call, Context, JsonObject, Objection, Policy, Session } from '../../core/index.js'
import {
  cutHookText,
  hookRemarks,
  findHooks,
  readHookBlock,
  runHooks,
  shownHook,
  specific,
  type RanHook,
  type HookOutput,
} from '../lib/hooks/index.js'

/** PreToolUse: hooks may deny, ask or want another input; none lowers another verdict. */
const lifecycle_hooks: Policy = (call, context) => (readHookBlock(context) ? preToolUse(call, context) : undefined)
export default lifecycle_hooks

async function preToolUse(call: Call, context: Context): Promise<Objection | undefined> {
  const chosen = await findHooks('PreToolUse', call, context)
  if (chosen.length === 0) return undefined
  if (context.explain) return void context.explain({ hooks: chosen.map(({ entry }) => shownHook(entry)) })
  const ran = await runHooks('PreToolUse', chosen, call, context, {})
  const verdicts = ran.flatMap((one) => verdictOf(one, call, context.session) ?? [])
  const worst = verdicts.find((verdict) => 'deny' in verdict) ?? verdicts[0]
  return worst ? { ...worst, details: { ...worst.details, hook: true } } : anotherInput(ran, call)
}

/** PermissionRequest: before a question a hook may refuse, and one of the own settings may agree. */
export const answer: Answerer = async ({ call, covers }, context) => {
  if (!readHookBlock(context)) return undefined
  const chosen = await findHooks('PermissionRequest', call, context)
  const permission_suggestions =
    covers === undefined ? [] : [{ type: 'addRules', behavior: 'allow', destination: 'session', covers }]
  const ran = await runHooks('PermissionRequest', chosen, call, context, { permission_suggestions })
  const answers = ran.map((one) => ({ one, permission: permissionIn(one.output) }))
  const no = answers.find(({ permission }) => permission && 'deny' in permission)
  if (no) return no.permission
  for (const { one, permission } of answers) {
    if (one.output.kind === 'failed') remarks(call, context.session)('VT_HOOK_FAILED', one.output.reason)
    const own = one.group.layer !== 'workspace' && !one.group.by
    if (permission && own) return permission
    if (permission)
      remarks(call, context.session)(
        'VT_HOOK_IGNORED',
        'A lifecycle hook of the workspace or of a plugin allows the call; only those of the user answer for a person.',
      )
  }
  return undefined
}

function permissionIn(output: HookOutput): Awaited<ReturnType<Answerer>> {
  if (output.kind === 'block') return { deny: output.reason }
  if (output.kind === 'failed') return undefined
  const { behavior, message, updatedInput, updatedPermissions } = (specific(output.json)['decision'] ??
    {}) as JsonObject
  if (behavior === 'deny') return { deny: cutHookText(String(message ?? 'A lifecycle hook refuses.')) }
  // What a person would agree to is this call; another input has to come as a call of its own.
  if (behavior !== 'allow' || updatedInput !== undefined) return undefined
  const lasting = Array.isArray(updatedPermissions)
    ? (updatedPermissions as { destination?: string }[]).map(({ destination }) => destination)
    : []
  return { allow: lasting.length === 0 ? 'once' : lasting.every((where) => where === 'session') ? 'session' : 'always' }
}

const remarks =
  (call: Call, session: Session) =>
  (code: string, message: string): void =>
    hookRemarks(session).add(call, { code, message: cutHookText(message) })

function verdictOf({ entry, group, output }: RanHook, call: Call, session: Session): Objection | undefined {
  const remark = remarks(call, session)
  if (output.kind === 'block') return { deny: output.reason }
  if (output.kind === 'failed') {
    const { reason, exited = false } = output
    remark('VT_HOOK_FAILED', reason)
    const word = entry.on_error ?? entry.onError ?? usualVerdict(group.dialect, exited)
    if (word === 'ask') return { ask: reason, by: authorOf(group) }
    return word === 'allow' ? undefined : { deny: reason }
  }
  const { json } = output
  const own = specific(json)
  const reason = cutHookText(String(own['permissionDecisionReason'] ?? reasonIn(json)))
  for (const text of [own['additionalContext'], json['systemMessage']]) {
    if (typeof text === 'string') remark('VT_HOOK_CONTEXT', text)
  }
  const decision = own['permissionDecision'] ?? decisionIn(json)
  if (decision === undefined) return undefined
  if (['ask', 'defer'].includes(decision as string)) return { ask: reason, by: authorOf(group) }
  // Only an answer of a person lifts a question, and nothing lifts a denial.
  if (decision === 'allow')
    return void remark(
      'VT_HOOK_IGNORED',
      'A lifecycle hook allows the call; hooks only tighten, so the other policies decided.',
    )
  return {
    deny: decision === 'deny' ? reason : `A lifecycle hook decides ${JSON.stringify(decision)}, which is no decision.`,
  }
}

/** Programs for other agents end with 1 when they merely failed; their users do not expect that to stop a call. */
function usualVerdict(dialect = 'unified', exited: boolean): string {
  if (dialect === 'unified') return 'deny'
  return exited ? 'allow' : 'ask'
}

const reasonIn = (json: JsonObject): unknown => json['reason'] ?? json['stopReason'] ?? 'A lifecycle hook objects.'

function decisionIn({ decision, continue: goesOn }: JsonObject): string | undefined {
  if (['block', 'deny'].includes(String(decision)) || goesOn === false) return 'deny'
  return decision === 'ask' ? 'ask' : undefined
}

const authorOf = ({ layer, by }: RanHook['group']): string =>
  by ? `plugin ${by.plugin}` : layer === 'workspace' ? 'a lifecycle hook of the workspace' : 'a lifecycle hook of yours'

/** The input that the hooks agree on, where it is another than the caller's. */
function anotherInput(ran: readonly RanHook[], call: Call): Objection | undefined {
  const wanted: JsonObject[] = []
  for (const { output, word } of ran) {
    const input = output.kind === 'said' ? specific(output.json)['updatedInput'] : undefined
    if (typeof input !== 'object' || input === null || Array.isArray(input)) continue
    if (!word.back)
      return { deny: `A lifecycle hook wants another input for ${word.tool_name}, which is only a part of this call.` }
    wanted.push(word.back(input as JsonObject))
  }
  const different = new Map(wanted.map((input) => [canonical(input), input]))
  different.delete(canonical(call.given))
  if (different.size === 0) return undefined
  if (different.size > 1) return { deny: 'Two lifecycle hooks want different inputs for this call.' }
  return { deny: 'A lifecycle hook wants another input once more.', instead: [...different.values()][0]! }
}

const canonical = (input: Readonly<JsonObject>): string =>
  JSON.stringify(
    Object.entries(input)
      .filter(([name]) => name !== 'action')
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  )
