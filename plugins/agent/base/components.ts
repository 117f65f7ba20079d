import type { Effect, PreparedCall, Result } from '../../../core/shapes/index.js'
import type { CallOptions } from '../../../core/contract/index.js'
import type { Workspace } from '../../../core/workspace/index.js'
import type { ThreadEvent } from './types.js'

export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number
  /** Rejects when the signal aborts. */
  sleep(ms: number, signal: AbortSignal): Promise<void>
}
export interface Random {
  /** In [0, 1). */
  next(): number
}
/** Contract: `undefined` if no person can answer. */
export type Approve = NonNullable<CallOptions['approve']>

/**
 * The components that depend on the run context. They are chosen once at the start and frozen. All other code of the
 * agent gets the environment, the clock and random numbers from here.
 */
export type AgentProviders = Readonly<{
  /**
   * Answers approval requests: `approve` at once, `deferred` by a file. Without either, calls that need approval are
   * refused. `ask` passes questions of tools to a person.
   */
  approval: Readonly<{ approve?: Approve; deferred?: true; ask?: NonNullable<CallOptions['ask']> }>
  /** Chooses the sandbox of a command: none, the one of the settings, or a mandatory one. */
  sandbox: Readonly<{ choose(name: string, input: unknown): 'none' | 'workspace' | 'strict' }>
  /**
   * Executes calls; `prepared` is the resolved call for `kernel.call`, if the name has a slot.
   * Contract: a rejection is a failed call.
   */
  execute: Readonly<{
    run(name: string, input: unknown, options: CallOptions, prepared?: PreparedCall): Promise<Result>
  }>
  /** Describes the possible effects of a call, and whether other calls may run in parallel. */
  metadata: Readonly<{
    describe(name: string, input: unknown, prepared?: PreparedCall): CallTraits | Promise<CallTraits>
  }>
  /** Opens the store of a session; `kept`: later runs find it. */
  session: Readonly<{
    kept: boolean
    open(workspace: Workspace, id: string, how: { must_exist: boolean }): Promise<Store>
  }>
  /** Renders the result of a call for a model. */
  output_map: Readonly<{ toModel(result: Result): ModelText }>
  /** Opens the sink for events, in addition to the caller's own; `agent`: the name of a delegated agent. */
  logging: Readonly<{ open(store: Store, agent?: string): EventSink }>
  /**
   * Caches results of calls without side effects. Contract: `key` identifies slot and input, not the state of files.
   */
  cache: Readonly<{ get(key: string): Result | undefined; put(key: string, result: Result): void }>
  /** Returns the milliseconds before attempt `attempt` + 1 of a request, or `stop`. */
  retry: Readonly<{
    next(attempt: number, cause: Pick<Cause, 'wait_ms' | 'patience_ms' | 'category'>, random: Random): number | 'stop'
  }>
  clock: Clock
  random: Random
  fetch: typeof fetch
  /** Notifies a person who may be away from the terminal. */
  notify: Readonly<{ show(title: string, text: string): void }>
  env: Readonly<Record<string, string | undefined>>
}>
export type Component = Exclude<keyof AgentProviders, 'env'>
/** The components that a caller of the library chooses: its own objects, or names. */
export type GivenComponents = { [C in Component]?: AgentProviders[C] | string }

export interface CallTraits {
  effects: readonly Effect[]
  parallel_safe: boolean
}

/**
 * Receives events one by one, in the same order for all sinks. Contract: a rejection ends the run, and this sink gets
 * no more events.
 */
export type EventSink = (event: ThreadEvent) => void | Promise<void>

/**
 * A piece of the text of an item that is still growing. Deltas are not in the journal and have no number. Joined,
 * they are the text with secrets redacted.
 */
export interface Delta {
  type: 'item.delta'
  thread_id: string
  turn_id?: string
  item_id: string
  /**
   * `arguments`: of a call that the model is still writing, before its item begins; `output`: the newest output of a
   * running command.
   */
  kind: 'text' | 'reasoning' | 'arguments' | 'output'
  /** Position in UTF-16 units; a gap to the previous delta means that deltas were dropped. */
  at: number
  text: string
  /** Present with `arguments`, because their item has not started yet. */
  tool_name?: string
}
/** Receives deltas. Contract: returns at once and does not throw. */
export type DeltaSink = (delta: Delta) => void

/** The result of a call as a model reads it. */
export interface ModelText {
  text: string
  is_error: boolean
  spool_path?: string
}

/** The cause of a failed attempt, and its consequence for the next one. */
export interface Cause {
  code: string
  message: string
  /** `request`: no answer began; `stream`: the answer was cut; `auth`: retry once with a fresh credential. */
  retry: 'request' | 'stream' | 'auth' | 'context' | 'no'
  /** The delay that the server requests. */
  wait_ms?: number
  /** The sum of waits that the cause is worth where the settings name no number of retries. */
  patience_ms?: number
  /** A more specific hint than that of the code. */
  hint?: string
  /** For the record: `http 429`, `cut`, `connect`. */
  category: string
}

/** The storage of one session. */
export interface Store {
  /** Number of the lease of a session that runs for another machine; each record carries the number. */
  readonly lease?: number | undefined
  /** Appends to a log. The line survives the process at once, and a crash of the machine after the next `sync`. */
  append(log: Log, line: string): Promise<void>
  /** Waits until all lines appended so far, to one log or to all, are on disk. */
  sync(log?: Log): Promise<void>
  /** Renames a log that has grown large to the next number, and begins a new one. */
  roll(log: Log): Promise<void>
  /**
   * Writes a whole file. A file next to the logs is flushed to disk; files in folders repeat data of the journal and
   * are not flushed.
   */
  write(name: string, text: string): Promise<void>
  /**
   * Returns the whole text of a file, `undefined` if it does not exist. Throws VT_SESSION_CORRUPT if it cannot be
   * read.
   */
  read(name: string): Promise<string | undefined>
  /** Saves text that left the conversation; returns its workspace-relative path. */
  archive(name: string, text: string): Promise<string>
  /** Returns the seal of this user for a text of this session. */
  mark(text: string): string
  /** Truncates a log to its first bytes. */
  cut(log: Log, bytes: number): Promise<void>
  close(): Promise<void>
}
/** The logs of a session. `transcript.jsonl` is for lifecycle hooks only. */
export type Log = 'messages.jsonl' | 'events.jsonl' | 'transcript.jsonl'
