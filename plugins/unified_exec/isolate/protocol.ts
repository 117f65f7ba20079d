/** A script for an isolate, with its limits. */
export interface IsolateJob {
  /** Its number, which each answer carries. */
  job: number
  code: string
  /** The value of the global `input`. */
  input?: string
  /** The functions of tools: the path of each below the globals, and the slot that it calls. */
  functions: [path: string[], slot: string][]
  memory_bytes: number
}

/** A message of a script to the program. Contract: the receiver checks the fields, which the script can write. */
export type IsolateRequest =
  | { op: 'call'; id: number; tool: string; input: string; line: number }
  | { op: 'store'; id: number; action: 'get' | 'set' | 'list' | 'delete'; key: string; value?: string; line: number }
  | { op: 'agent'; id: number; input: string; line: number }
  | { op: 'tools'; id: number; query: string; line: number }
  | { op: 'print'; stream: 'stdout' | 'stderr'; text: string }

/** The answer to a request, as JSON: `value` with the indexes of its content, or `error`. */
export interface IsolateAnswer {
  job: number
  id: number
  answer: string
}

/** The end of a script. `unawaited`: calls without an answer; `unprinted`: characters over the limit. */
export type IsolateEnd =
  | {
      end: 'done'
      /** JSON. */
      result?: string
      kinds?: string[]
      shown?: number[]
      unshown?: string
      unawaited?: number
      unprinted?: number
    }
  | { end: 'failed'; text: string; line: number; unawaited?: number; unprinted?: number }
  /** `text` of a syntax error; nothing ran. */
  | { end: 'invalid'; text: string }
  | { end: 'unsettled' }
  /** The engine itself failed, for example because the source is nested too deeply. */
  | { end: 'broken'; text: string }

/** A message of the thread: it is ready, a request of the script, or the end, after which it may be `spent`. */
export type IsolateMessage = { ready: true } | { request: IsolateRequest } | ({ spent: boolean } & IsolateEnd)
