import type { AgentError, OutcomeCode } from '../base/index.js'

/** Decides how a turn continues after an answer without calls. */
export interface Completion {
  /** Plans a new task, if required, before the model reads it. */
  planTask(signal: AbortSignal): Promise<void>
  /** Adds what the model must read before this step. */
  remind(): Promise<void>
  /** Returns and clears the last text and the next input if a call ended the turn. */
  takeEnd(): Pick<TurnEnd, 'text' | 'next'> | undefined
  /**
   * Runs the commands that prove the work, then decides. `report`: the model reads `text` and answers once more;
   * `continue`: `text` is the input of the next turn; `end`: the turn ends.
   */
  decideNext(
    refusalsRead: boolean,
    signal: AbortSignal,
  ): Promise<
    | { kind: 'report'; text: string }
    | { kind: 'continue'; text: string }
    | { kind: 'end'; outcome: OutcomeCode; handoff?: string; failure?: AgentError }
  >
  /** Writes a handoff for an unfinished task of an unattended run; returns its path. */
  writeHandoff(outcome: OutcomeCode): Promise<string | undefined>
}
/** The end of a turn; `failure`: its error, `next`: the input that the harness continues with. */
export interface TurnEnd {
  outcome: OutcomeCode
  text: string
  failure?: AgentError
  next?: string
}
/** Writes a handoff, if due, and names its path in the text of the end. */
export async function writeAndNameHandoff<End extends TurnEnd>(
  thread: { completion: Completion },
  end: End,
): Promise<End> {
  return { ...end, text: appendHandoff(end.text, await thread.completion.writeHandoff(end.outcome)) }
}
/** Names a handoff after the text of an answer. */
export const appendHandoff = (text: string, handoff: string | undefined): string =>
  handoff === undefined ? text : [...(text === '' ? [] : [text]), `The remaining work is in ${handoff}.`].join('\n\n')
