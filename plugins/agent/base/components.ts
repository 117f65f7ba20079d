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
/** Contract: `undefined` when nobody can be asked. */
export type Approve = NonNullable<CallOptions['approve']>

/**
 * The components that depend on where the agent runs, chosen once at the start, frozen and handed down. Nothing below them reads
 * the environment, the clock or random numbers.
 */
export type AgentProviders = Readonly<{
  /** Answers what policies ask: at once, or `deferred`, by a file; without either such a call is refused. `ask` puts questions of tools to a person. */
  approval: Readonly<{ approve?: Approve; deferred?: true; ask?: NonNullable<CallOptions['ask']> }>
  /** Where the commands of a call run: without a sandbox, in one as the settings say, or in one or not at all. */
  sandbox: Readonly<{ choose(name: string, input: unknown): 'none' | 'workspace' | 'strict' }>
  /**
   * Where calls go; `prepared` is the call for `kernel.call`, where its name leads to a slot.
   * Contract: a rejection is a failed call.
   */
  execute: Readonly<{
    run(name: string, input: unknown, options: CallOptions, prepared?: PreparedCall): Promise<Result>
  }>
  /** What a call can do at worst, and whether others may run at the same time. */
  metadata: Readonly<{
    describe(name: string, input: unknown, prepared?: PreparedCall): CallTraits | Promise<CallTraits>
  }>
  /** Where a session is stored; `kept`: later runs find it. */
  session: Readonly<{
    kept: boolean
    open(workspace: Workspace, id: string, how: { must_exist: boolean }): Promise<Store>
  }>
  /** How the result of a call reads to a model. */
  output_map: Readonly<{ toModel(result: Result): ModelText }>
  /** Where events go besides whoever asked for them; `agent`: its name where the session does a part of another one's work. */
  logging: Readonly<{ open(store: Store, agent?: string): EventSink }>
  /** Results of quiet calls that need not be made again. Contract: `key` names slot and input, not the state of the world. */
  cache: Readonly<{ get(key: string): Result | undefined; put(key: string, result: Result): void }>
  /** Milliseconds before attempt `attempt` + 1 of a request, unless there is to be none. */
  retry: Readonly<{
    next(attempt: number, cause: Pick<Cause, 'wait_ms' | 'category'>, random: Random): number | 'stop'
  }>
  clock: Clock
  random: Random
  fetch: typeof fetch
  /** Notifies a person who may be elsewhere. */
  notify: Readonly<{ show(title: string, text: string): void }>
  env: Readonly<Record<string, string | undefined>>
}>
export type Component = Exclude<keyof AgentProviders, 'env'>
/** What the caller of the library chooses: a component of its own, or one by its name. */
export type GivenComponents = { [C in Component]?: AgentProviders[C] | string }

export interface CallTraits {
  effects: readonly Effect[]
  parallel_safe: boolean
}

/** Takes events, one after the other, in one order for all. Contract: a rejection ends the run, and this sink gets no more events. */
export type EventSink = (event: ThreadEvent) => void | Promise<void>

/** What an item says while it says it: in no journal, without a number. Those of one text join to that text, secrets left out. */
export interface Delta {
  type: 'item.delta'
  thread_id: string
  turn_id?: string
  item_id: string
  /** `arguments`: of a call that the model is still writing, before its item begins; `output`: what a command that runs has printed lately. */
  kind: 'text' | 'reasoning' | 'arguments' | 'output'
  /** UTF-16 units of the text before it: where it is more than came, something was dropped. */
  at: number
  text: string
  /** With `arguments`, whose item nobody knows yet. */
  tool_name?: string
}
/** Takes deltas. Contract: returns at once and does not throw. */
export type DeltaSink = (delta: Delta) => void

/** The result of a call as a model reads it. */
export interface ModelText {
  text: string
  is_error: boolean
  spool_path?: string
}

/** Why an attempt failed, and what that means for the next one. */
export interface Cause {
  code: string
  message: string
  /** `request`: nothing was accepted yet; `stream`: the answer was cut; `auth`: worth one fresh credential. */
  retry: 'request' | 'stream' | 'auth' | 'context' | 'no'
  /** What the server asks to wait. */
  wait_ms?: number
  /** What to do about it, where more is known than the code says. */
  hint?: string
  /** For the record: `http 429`, `cut`, `connect`. */
  category: string
}

/** Where one session is kept. */
export interface Store {
  /** Adds to a log; it survives the process at once, and the machine with the next `sync`. */
  append(log: Log, line: string): Promise<void>
  /** Returns when all that was added so far is on disk, to one log or to all: one wait, however much it was. */
  sync(log?: Log): Promise<void>
  /** Puts a log aside that has grown large, under the next number, and begins a new one. */
  roll(log: Log): Promise<void>
  /** Writes a file whole. One beside the logs is on disk then; those in folders repeat what the journal has, and nobody waits for them. */
  write(name: string, text: string): Promise<void>
  /** The whole text of a file, `undefined` where there is none. Throws VT_SESSION_CORRUPT for what cannot be read. */
  read(name: string): Promise<string | undefined>
  /** Keeps what left the conversation, beside the session; returns its workspace-relative path. */
  archive(name: string, text: string): Promise<string>
  /** The mark of this user for a text of this session. */
  mark(text: string): string
  /** Cuts a log to its first bytes. */
  cut(log: Log, bytes: number): Promise<void>
  close(): Promise<void>
}
/** The last one is for lifecycle hooks, and nothing of ours reads it. */
export type Log = 'messages.jsonl' | 'events.jsonl' | 'transcript.jsonl'
