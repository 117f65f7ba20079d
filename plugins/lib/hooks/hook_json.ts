import { isObject, type JsonObject } from '../../../core/shapes/index.js'

/** A field of an answer that decides something. */
const DECISION = /"(?:hookSpecificOutput|permissionDecision|decision|continue|async)"\s*:/

/**
 * Finds the JSON object that a hook prints. Shell profiles and debuggers print lines around it. A hook may also print
 * text of the call, which a model wrote, so an object with text around it counts only as a refusal; nothing else of it
 * is returned. Returns `invalid` for other text that looks like an answer, so that a guard is closed; `undefined` for
 * plain text.
 */
export function findHookJson(stdout: string): JsonObject | 'invalid' | undefined {
  const whole = parse(stdout)
  if (whole) return whole
  if (!DECISION.test(stdout)) return stdout.startsWith('{') ? 'invalid' : undefined
  const start = stdout.search(/^[ \t]*\{/m)
  const rest = start < 0 ? undefined : parse(stdout.slice(start, stdout.lastIndexOf('}') + 1))
  const lines = stdout.split('\n').filter((line) => DECISION.test(line))
  const answers = rest ? [rest] : lines.map(parse).filter((one) => one !== undefined)
  return (answers.length === 1 && readRefusal(answers[0]!)) || 'invalid'
}

/** Returns the refusal in an answer, in the fields of every event; `undefined` if nothing in it refuses. */
function readRefusal({ hookSpecificOutput, decision, continue: goesOn, ...texts }: JsonObject): JsonObject | undefined {
  const own = isObject(hookSpecificOutput) ? hookSpecificOutput : {}
  const asked = isObject(own['decision']) ? own['decision'] : {}
  const decisions = [own['permissionDecision'], asked['behavior'], decision]
  if (goesOn !== false && !decisions.some((one) => one === 'deny' || one === 'block')) return undefined
  const given = own['permissionDecisionReason'] ?? asked['message'] ?? texts['reason'] ?? texts['stopReason']
  const reason = typeof given === 'string' ? given : 'A lifecycle hook objects.'
  return {
    decision: 'block',
    reason,
    hookSpecificOutput: {
      permissionDecision: 'deny',
      permissionDecisionReason: reason,
      decision: { behavior: 'deny', message: reason },
    },
  }
}

function parse(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}
