import { omitUndefined, type JsonObject } from '../../../core/shapes/index.js'
import type { ThreadItem } from '../base/index.js'
import type { TracedCall } from './types.js'

/** Creates the record of a call that began `at`, an ISO 8601 time. */
export function createCall(
  { id, call_id, tool_call_id, tool_name, arguments: given, effects, status }: ThreadItem & { type: 'tool_invocation' },
  at: string,
): TracedCall {
  return {
    call_id,
    item_id: id,
    tool: tool_name,
    effects: Array.isArray(effects) ? effects : [],
    status,
    started_at: at,
    ended_at: at,
    duration_ms: 0,
    bytes: 0,
    is_error: false,
    ...omitUndefined({ tool_call_id, arguments: given }),
  }
}

/** Returns whether a call failed; a command with an error exit code counts too. */
export const isFailed = ({ outcome, is_error, exit_code, status }: TracedCall): boolean =>
  is_error ||
  status === 'failed' ||
  (outcome !== undefined && outcome !== 'success') ||
  (exit_code !== undefined && exit_code !== 0)

/** Returns whether a policy or a person rejected a call. */
export const isDenied = ({ outcome, error_code }: TracedCall): boolean =>
  outcome === 'permission_rejected' ||
  outcome === 'permission_cancelled' ||
  outcome === 'hook_denied' ||
  (error_code?.startsWith('VT_POLICY_') ?? false)

/** Returns the arguments of a call as an object; any other value is put under `value`. */
export const toArguments = ({ arguments: given }: TracedCall): JsonObject =>
  typeof given === 'object' && given !== null && !Array.isArray(given)
    ? (given as JsonObject)
    : given === undefined
      ? {}
      : ({ value: given } as JsonObject)
