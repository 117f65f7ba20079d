import type { Effect, JsonObject, Mode, RightsScope } from '../shapes/index.js'

/** Fewer rights: a stricter mode and limits. */
export interface DelegatedRights {
  mode?: Mode
  only?: RightsScope
  /** Ends the call before its outer call ends. */
  signal?: AbortSignal
  /** The line of a script, for questions. Only for built-in plugins. */
  origin?: string
  /** The call has the audiences of the outer call. Only for built-in plugins, and not within a call of another one. */
  asCaller?: boolean
}
/** A call of a script that has ended. */
export interface ScriptCall {
  slot: string
  input: JsonObject
  effects: readonly Effect[]
  ok: boolean
  /** The text of its result, or the code and message of its failure. */
  text: string
}
/** Keeps results and values of scripts for a resumed session. */
export interface ScriptJournal {
  /** Contract: resolves when the call survives a kill of the program, if it may have changed something. */
  record(call: ScriptCall): Promise<void>
  /** Values by key, as JSON. */
  readonly values: ReadonlyMap<string, string>
  /** Keeps a value, or removes it with `undefined`. */
  put(key: string, value: string | undefined): Promise<void>
}
