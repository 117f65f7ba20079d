import type { JsonObject } from '../../../core/shapes/index.js'
import {
  AgentError,
  messageOf,
  outcomeOfFailure,
  type LoopDetector,
  type MessagePart,
  type Msg,
  type OutcomeCode,
} from '../base/index.js'
import type { Cost, PaidConversation } from '../ledger/index.js'
import { askModel, Speech, type ModelAnswer } from '../model/index.js'
import { messageText, listUnansweredCalls, type ConversationState } from '../session/index.js'
import { readArguments } from './arguments.js'
import { makeCalls } from './calls.js'
import type { ModelRequests } from './model_requests.js'
import type { RefusedChanges } from './refused_changes.js'
import { TurnLimits } from './turn_limits.js'

/** A conversation with what its turns have in common. */
export interface LoopConversation extends PaidConversation {
  readonly requests: ModelRequests
  readonly loopDetector: LoopDetector
  readonly state: ConversationState & RefusedChanges
  /** How often the model was corrected for writing a call as text. */
  corrections: number
  readonly completion: Completion
}
/** What follows an answer without calls. */
export interface Completion {
  /** The turn began: a task that is to be planned is, before the model reads it. */
  opens(signal: AbortSignal): Promise<void>
  /** Tells the model what it has to know of its task and has not read. */
  remind(): Promise<void>
  /** How the turn under way ends, where a call of it decided that: its last text, and what the harness goes on with. Said once. */
  taken(): Pick<TurnEnd, 'text' | 'next'> | undefined
  /** `told`: the model was told in this turn what was not applied. Runs the commands that prove the work. */
  follows(
    told: boolean,
    signal: AbortSignal,
  ): Promise<
    | { then: 'tell'; text: string }
    | { then: 'go on'; text: string }
    | { then: 'end'; outcome: OutcomeCode; handoff?: string; failure?: AgentError }
  >
  /** A turn or a run ends so: where that is before its task is done and nobody sits there, what is left is written down. Returns where that lies. */
  leaves(outcome: OutcomeCode): Promise<string | undefined>
}
/** How a turn ended; `failure` is what it failed with, `next` what the harness goes on with. */
export interface TurnEnd {
  outcome: OutcomeCode
  text: string
  failure?: AgentError
  next?: string
}
/** An end together with the place of what is left, where that is written down. */
export async function withHandoff<End extends TurnEnd>(
  thread: Pick<LoopConversation, 'completion'>,
  end: End,
): Promise<End> {
  return { ...end, text: pointing(end.text, await thread.completion.leaves(end.outcome)) }
}
const pointing = (text: string, handoff: string | undefined): string =>
  handoff === undefined ? text : [...(text === '' ? [] : [text]), `What is left stands in ${handoff}.`].join('\n\n')

/** Said where no more calls are possible, and changes were asked for that were not made. */
const notAppliedInRecovery =
  'Not applied. Tools were disabled or denied during recovery, so no additional tool call ran. ' +
  'Latest verified evidence is above; next action: re-enable the needed tool or switch to /mode auto.'

const pseudoCall = /<tool_call|<invoke name=|<function=/
const mostCorrections = 2

/** One turn: from an input to the next idle boundary. Without an input the turn that is open goes on. */
export async function runTurn(thread: LoopConversation, input: Msg | undefined, signal: AbortSignal): Promise<TurnEnd> {
  const turn = new Turn(thread, signal)
  await turn.begin(input)
  try {
    const end = await turn.steps()
    await thread.commit({ kind: 'turn_end', status: 'completed', ...(end.next !== undefined && { next: end.next }) })
    await thread.events.emit({
      type: 'turn.completed',
      usage: thread.costs.turn.usage,
      cost_usd: thread.costs.turn.cost,
      limits: turn.limits.counts,
    })
    return end
  } catch (error) {
    return await turn.fail(error)
  } finally {
    thread.events.turn_id = undefined
  }
}

class Turn {
  readonly limits: TurnLimits
  private readonly speech: Speech

  constructor(
    private readonly thread: LoopConversation,
    private readonly signal: AbortSignal,
  ) {
    this.limits = new TurnLimits(thread.settings, thread.loopDetector)
    this.speech = new Speech(thread.events, () => thread.newId('it'))
  }

  async begin(input: Msg | undefined): Promise<void> {
    const { thread } = this
    thread.costs.beginTurn()
    if (input) await thread.commit({ kind: 'turn_start', turn_id: thread.newId('tn'), input })
    const { turn_id, input: message } = thread.state.open!
    thread.events.turn_id = turn_id
    // A failure to count fails the first step too, which reports it.
    const token_breakdown = await thread.context.breakdown().catch(() => undefined)
    await thread.events.emit({
      type: 'turn.started',
      turn_number: thread.state.turn,
      ...(token_breakdown && { token_breakdown }),
    })
    const { origin = 'prompt', intent_id } = message
    const named = intent_id === undefined ? {} : { intent_id }
    if (origin === 'queue')
      await thread.events.emit({
        type: 'interjected',
        source: 'queue',
        image_count: 0,
        redirect_kind: 'interjection',
        ...named,
      })
    await thread.events.say({
      id: thread.newId('it'),
      type: 'user_message',
      text: messageText(message),
      origin,
      ...named,
    })
    await thread.lifecycle.sayNotes()
  }

  /** Step after step until the model asks for nothing more. */
  async steps(): Promise<TurnEnd> {
    const { thread, limits, signal } = this
    await thread.completion.opens(signal)
    for (;;) {
      const calls = listUnansweredCalls(thread.state)
      if (calls.length > 0) {
        await makeCalls(thread, limits, calls, signal)
        limits.counts.tool_loops += 1
        await this.stepDone()
        await thread.context.showNested(calls)
        const taken = thread.completion.taken()
        if (taken) return { outcome: 'success', ...taken }
        continue
      }
      signal.throwIfAborted()
      if (limits.circling) return this.close('loop_detected', 'The last calls went in circles and were stopped.')
      const limit = limits.exhausted
      if (limit !== undefined)
        return this.close('tool_loop_limit_reached', `The limit ${limit} of this turn is reached.`)
      await this.step()
      if (listUnansweredCalls(thread.state).length > 0) continue
      const text = messageText(thread.state.messages.at(-1)!)
      const { finish } = this.pending!.accepted
      await this.stepDone()
      if (finish === 'length') {
        this.kept = text
        throw new AgentError(
          'VT_LLM_LENGTH',
          `The answer of ${thread.connection.model.id} was cut at the limit of its length; what it says is not complete.`,
        )
      }
      if (pseudoCall.test(text)) await this.correct()
      else {
        const end = await this.answered(text)
        if (end) return end
      }
    }
  }

  /** What follows an answer that asks for nothing more: the end of the turn, or nothing where the model has to say more. */
  private async answered(text: string): Promise<TurnEnd | undefined> {
    const { thread, signal } = this
    const follows = await thread.completion.follows(this.told, signal)
    if (follows.then === 'tell') return this.tell(follows.text, text)
    if (follows.then === 'go on') return { outcome: 'success', text, next: follows.text }
    const { outcome, handoff, failure } = follows
    if (outcome !== 'success') return { outcome, text: pointing(text, handoff), ...(failure && { failure }) }
    const left = await thread.lifecycle.stop(text, signal)
    if (left === undefined) return { outcome, text }
    await thread.inject(left)
    return undefined
  }

  /** The answer that the turn fails with, as far as it came. */
  private kept: string | undefined
  /** The model was told in this turn what was not applied. */
  private told = false
  private first = true
  private pending: { accepted: ModelAnswer; cost: Cost; model: string } | undefined

  /** One answer of the model, written down before anything of it is done. */
  private async step(withCalls = true): Promise<void> {
    const { thread, limits, speech, signal } = this
    limits.items = []
    limits.cancelled = false
    await thread.context.makeRoom(this.first, signal)
    await thread.completion.remind()
    this.first = false
    const accepted = await thread.requests.send(
      (connection, request, asking) =>
        askModel(connection, { ...request, ...(!withCalls && { without_calls: true }) }, { ...asking, speech }, signal),
      signal,
    )
    const message: Msg = { role: 'assistant', parts: await this.partsOf(accepted) }
    const { model } = thread.connection
    const cost = thread.costs.recordStep(accepted)
    await thread.commit({ kind: 'message', message, cost_usd: cost.cost })
    limits.items.push(...(await speech.end('completed')))
    this.pending = { accepted, cost, model: model.id }
  }

  private async partsOf({ parts, finish }: ModelAnswer): Promise<MessagePart[]> {
    const { thread } = this
    const step = thread.state.steps + 1
    const from = thread.connection.model.entry.name
    const read: MessagePart[] = []
    let index = 0
    for (const part of parts) {
      if (part.type !== 'raw_call') read.push({ ...part, from })
      else {
        const { tool_call_id, name, meta, item_id } = part
        const call_id = `c${step}-${index++}`
        if (item_id !== undefined) this.limits.itemOf.set(call_id, item_id)
        const effectsOf = async (input: JsonObject) => (await thread.providers.metadata.describe(name, input)).effects
        read.push({
          type: 'tool_call',
          call_id,
          tool_call_id,
          name,
          ...(await readArguments(part, finish, effectsOf)),
          ...(meta && { meta, from }),
        })
      }
    }
    return read
  }

  /** The step is over, with the calls it asked for. */
  private async stepDone(): Promise<void> {
    if (!this.pending) return
    const { accepted, cost, model } = this.pending
    this.pending = undefined
    const { finish, ttft_ms, duration_ms, attempts } = accepted
    await this.thread.events.emit({
      type: 'step.completed',
      step: this.thread.state.steps,
      model,
      finish_reason: finish,
      usage: cost.usage,
      cost_usd: cost.cost,
      ttft_ms,
      duration_ms,
      attempts,
      item_ids: this.limits.items,
    })
  }

  /** The model hears what was not applied and answers once more; what it said before that is not lost where it cannot. */
  private async tell(untold: string, text: string): Promise<undefined> {
    this.told = true
    this.kept = text
    await this.thread.inject(untold, 'harness', 'not_applied')
  }

  /** A last step without calls, in which the model says where things stand. */
  private async close(outcome: OutcomeCode, why: string): Promise<TurnEnd> {
    await this.thread.harness('limit_reached', { message: why })
    const { not_applied } = this.thread.state
    const wording =
      not_applied.length > 0 ? ` Where a change was not made, say so with these words: ${notAppliedInRecovery}` : ''
    await this.thread.inject(
      `${why} No more calls are possible in this turn. Say in a few sentences what is done and what is left.${wording}`,
      'harness',
      'not_applied',
    )
    await this.step(false)
    await this.stepDone()
    return withHandoff(this.thread, { outcome, text: messageText(this.thread.state.messages.at(-1)!) })
  }

  private async correct(): Promise<void> {
    if (this.thread.corrections++ >= mostCorrections)
      throw new AgentError(
        'VT_LLM_PSEUDO_CALL',
        `The model ${this.thread.connection.model.id} writes calls as text instead of making them.`,
      )
    await this.thread.inject(
      'Your answer holds a call written as text. Nothing was called. Make calls through the tools of this conversation, or answer without such marks.',
    )
  }

  /** Ends the turn that cannot go on: closes everything open, then gives the reason as a message and as a code. */
  async fail(error: unknown): Promise<TurnEnd> {
    const { thread, signal } = this
    const failure = signal.aborted
      ? new AgentError('VT_CANCELLED', 'The run was cancelled.')
      : error instanceof AgentError
        ? error
        : new AgentError('VT_INTERNAL', messageOf(error))
    await this.speech.end(signal.aborted ? 'cancelled' : failure.code === 'VT_LLM_REFUSED' ? 'completed' : 'discarded')
    await thread.events.closeOpen('cancelled')
    await this.stepDone()
    const outcome = outcomeOfFailure(failure.code)
    let handoff: string | undefined
    // A journal that cannot be written is reported by events, as far as those still have readers.
    if (failure.code !== 'VT_SESSION_WRITE') {
      await this.keepSaid(failure)
      handoff = await thread.completion.leaves(outcome)
      await thread.commit({ kind: 'turn_end', status: 'failed', code: failure.code })
    }
    await thread.events.say({
      id: thread.newId('it'),
      type: 'agent_message',
      text: failure.message,
      status: 'completed',
    })
    await thread.events.emit({
      type: 'turn.failed',
      message: failure.message,
      code: failure.code,
      usage: thread.costs.turn.usage,
    })
    return {
      outcome,
      text: handoff === undefined ? (this.kept ?? failure.message) : pointing(this.kept ?? '', handoff),
      failure,
    }
  }

  /** What was said before the turn ended stays on screens, so it stays in the conversation. Nothing else of an answer that broke off does: its calls were not made. */
  private async keepSaid({ code }: AgentError): Promise<void> {
    const { unfinished: text } = this.speech
    if (text.trim() === '') return
    const from = this.thread.connection.model.entry.name
    await this.thread.commit({ kind: 'message', message: { role: 'assistant', parts: [{ type: 'text', text, from }] } })
    await this.thread.inject(
      code === 'VT_CANCELLED' ? 'The user stopped your answer here.' : `Your answer broke off here (${code}).`,
    )
  }
}
