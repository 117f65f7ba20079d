import type { JsonObject } from '../../../core/shapes/index.js'
import {
  AgentError,
  toErrorMessage,
  toOutcomeCode,
  type LoopDetector,
  type MessagePart,
  type Msg,
  type PrefixReport,
  type OutcomeCode,
} from '../base/index.js'
import type { Cost, PaidConversation } from '../ledger/index.js'
import { askModel, Speech, type ModelAnswer, type ModelRequest } from '../model/index.js'
import { containsCallAsText } from '../wire/index.js'
import { messageText, listUnansweredCalls, type ConversationState } from '../session/index.js'
import { readArguments } from './arguments.js'
import { makeCalls } from './calls.js'
import { appendHandoff, writeAndNameHandoff, type Completion, type TurnEnd } from './completion.js'
import type { ModelRequests } from './model_requests.js'
import type { RefusedChanges } from './refused_changes.js'
import { TurnLimits } from './turn_limits.js'

/** A conversation with the parts that its turns share. */
export interface LoopConversation extends PaidConversation {
  readonly requests: ModelRequests
  readonly loopDetector: LoopDetector
  readonly state: ConversationState & RefusedChanges
  /** The number of corrections for calls written as text. */
  corrections: number
  readonly completion: Completion
}

/** Text about refused changes at the end of a turn. */
const REFUSED_TEXT =
  'Not applied. Tools were disabled or denied during recovery, so no additional tool call ran. ' +
  'Latest verified evidence is above; next action: re-enable the needed tool or switch to /mode auto.'

const MAX_CORRECTIONS = 2
/** Successive answers that the length limit cuts within a call. */
const MAX_CUT_CALLS = 3

/** Runs a turn from an input to the next idle boundary. Without an input the open turn continues. */
export async function runTurn(thread: LoopConversation, input: Msg | undefined, signal: AbortSignal): Promise<TurnEnd> {
  const turn = new Turn(thread, signal)
  await turn.begin(input)
  try {
    const end = await turn.runSteps()
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
  /** Text that the outcome contains if the turn fails. */
  private keptText: string | undefined
  /** The model has read the refused changes of this turn. */
  private refusalsRead = false
  private isFirstStep = true
  private cutCalls = 0
  private pending: { accepted: ModelAnswer; cost: Cost; model: string; prefix: PrefixReport | undefined } | undefined

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
    // If counting fails, the first step fails too and reports it.
    const token_breakdown = await thread.context.breakdown().catch(() => undefined)
    await thread.events.emit({
      type: 'turn.started',
      turn_number: thread.state.turn,
      ...(token_breakdown && { token_breakdown }),
    })
    const { origin = 'prompt', intent_id } = message
    const intent = intent_id === undefined ? {} : { intent_id }
    if (origin === 'queue')
      await thread.events.emit({
        type: 'interjected',
        source: 'queue',
        image_count: 0,
        redirect_kind: 'interjection',
        ...intent,
      })
    await thread.events.emitItem({
      id: thread.newId('it'),
      type: 'user_message',
      text: messageText(message),
      origin,
      ...intent,
    })
    await thread.lifecycle.addNotes()
  }

  async runSteps(): Promise<TurnEnd> {
    const { thread, limits, signal } = this
    await thread.completion.planTask(signal)
    for (;;) {
      const calls = listUnansweredCalls(thread.state)
      if (calls.length > 0) {
        await makeCalls(thread, limits, calls, signal)
        limits.counts.tool_loops += 1
        this.cutCalls = this.pending?.accepted.finish === 'length' ? this.cutCalls + 1 : 0
        await this.completeStep()
        if (this.cutCalls === MAX_CUT_CALLS)
          throw this.createLengthError(`reached its length limit within a call ${MAX_CUT_CALLS} times`)
        await thread.context.showNested(calls)
        const decided = thread.completion.takeEnd()
        if (decided) return { outcome: 'success', ...decided }
        continue
      }
      signal.throwIfAborted()
      if (limits.isLooping)
        return this.summarizeAndEnd('loop_detected', 'The last calls repeated in a loop and were stopped.')
      const limit = limits.reachedLimit
      if (limit !== undefined)
        return this.summarizeAndEnd('tool_loop_limit_reached', `The limit ${limit} of this turn is reached.`)
      await this.runStep()
      if (listUnansweredCalls(thread.state).length > 0) continue
      const text = messageText(thread.state.messages.at(-1)!)
      const { finish } = this.pending!.accepted
      await this.completeStep()
      if (finish === 'length') {
        this.keptText = text
        throw this.createLengthError('reached its length limit and is incomplete')
      }
      if (containsCallAsText(text)) await this.askForRealCall()
      else {
        const end = await this.handleAnswer(text)
        if (end) return end
      }
    }
  }

  private createLengthError(what: string): AgentError {
    return new AgentError('VT_LLM_LENGTH', `The answer of ${this.thread.connection.model.id} ${what}.`)
  }

  /** Handles an answer without calls. Returns the end of the turn, or `undefined` to continue. */
  private async handleAnswer(text: string): Promise<TurnEnd | undefined> {
    const { thread, signal } = this
    const decision = await thread.completion.decideNext(this.refusalsRead, signal)
    if (decision.kind === 'report') return this.reportRefusals(decision.text, text)
    if (decision.kind === 'continue') return { outcome: 'success', text, next: decision.text }
    const { outcome, handoff, failure } = decision
    if (outcome !== 'success') return { outcome, text: appendHandoff(text, handoff), ...(failure && { failure }) }
    const objection = await thread.lifecycle.checkStop(text, signal)
    if (objection === undefined) return { outcome, text }
    await thread.inject(objection)
    return undefined
  }

  /** Gets one answer of the model; the journal has it before its calls run. */
  private async runStep(limited: Partial<Pick<ModelRequest, 'without_calls' | 'tools'>> = {}): Promise<void> {
    const { thread, limits, speech, signal } = this
    limits.beginStep()
    await thread.context.makeRoom(this.isFirstStep, signal)
    await thread.completion.remind()
    this.isFirstStep = false
    const { prefix } = thread.context
    const { clock } = thread.providers
    let measured: PrefixReport | undefined
    const accepted = await thread.requests.send((connection, request, asking) => {
      const whole = { ...request, ...limited }
      measured = prefix.measure(whole, connection.model, clock.now())
      return askModel(connection, whole, { ...asking, speech }, signal)
    }, signal)
    measured = measured && prefix.complete(measured, thread.connection.model, accepted.usage, clock.now())
    const message: Msg = { role: 'assistant', parts: await this.toMessageParts(accepted) }
    const { model } = thread.connection
    const cost = thread.costs.recordStep(accepted)
    await thread.commit({ kind: 'message', message, cost_usd: cost.cost, ...thread.context.sent })
    limits.step.items.push(...(await speech.end('completed')))
    this.pending = { accepted, cost, model: model.id, prefix: measured }
  }

  private async toMessageParts({ parts, finish }: ModelAnswer): Promise<MessagePart[]> {
    const { thread } = this
    const step = thread.state.steps + 1
    const from = thread.connection.model.entry.name
    const result: MessagePart[] = []
    let index = 0
    for (const part of parts) {
      if (part.type !== 'raw_call') result.push({ ...part, from })
      else {
        const { tool_call_id, name, meta, item_id } = part
        const call_id = `c${step}-${index++}`
        if (item_id !== undefined) this.limits.itemByCall.set(call_id, item_id)
        const findEffects = async (input: JsonObject) => (await thread.providers.metadata.describe(name, input)).effects
        result.push({
          type: 'tool_call',
          call_id,
          tool_call_id,
          name,
          ...(await readArguments(part, finish, findEffects)),
          ...(meta && { meta, from }),
        })
      }
    }
    return result
  }

  /** Emits step.completed, after the step's calls. */
  private async completeStep(): Promise<void> {
    if (!this.pending) return
    const { accepted, cost, model, prefix } = this.pending
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
      item_ids: this.limits.step.items,
      ...(prefix && { prefix }),
    })
  }

  /** Reports the refused changes to the model for one more answer; keeps the text in case that fails. */
  private async reportRefusals(report: string, text: string): Promise<undefined> {
    this.refusalsRead = true
    this.keptText = text
    await this.thread.inject(report, 'harness', 'not_applied')
  }

  /** Runs a last step without calls, in which the model summarizes the state. */
  private async summarizeAndEnd(outcome: OutcomeCode, why: string): Promise<TurnEnd> {
    await this.thread.harness('limit_reached', { message: why })
    const { not_applied } = this.thread.state
    const wording =
      not_applied.length > 0 ? ` Where a change was not made, say so with these words: ${REFUSED_TEXT}` : ''
    await this.thread.inject(
      `${why} No more calls are possible in this turn. Say in a few sentences what is done and what is left.${wording}`,
      'harness',
      'not_applied',
    )
    return writeAndNameHandoff(this.thread, { outcome, text: await this.runLastStep() })
  }

  /**
   * Runs a step without calls and returns its text. Calls that the model makes all the same are refused and recorded,
   * so that no change that it asked for is lost. If it only calls, it is asked once more without tools.
   */
  private async runLastStep(): Promise<string> {
    const { thread, limits, signal } = this
    limits.closed = true
    let text = ''
    for (const without of [{}, { tools: [] }]) {
      await this.runStep({ without_calls: 'kept', ...without })
      text = messageText(thread.state.messages.at(-1)!)
      const calls = listUnansweredCalls(thread.state)
      if (calls.length > 0) await makeCalls(thread, limits, calls, signal)
      await this.completeStep()
      if (calls.length === 0 || text.trim() !== '') break
    }
    return text
  }

  private async askForRealCall(): Promise<void> {
    if (this.thread.corrections++ >= MAX_CORRECTIONS)
      throw new AgentError(
        'VT_LLM_PSEUDO_CALL',
        `The model ${this.thread.connection.model.id} writes calls as text instead of making them.`,
      )
    await this.thread.inject(
      'Your answer contains a tool call as text. It was not run. Use the tools of this conversation, or answer ' +
        'without tags such as <tool_call>.',
    )
  }

  /** Ends a failed turn: closes all open items, then reports a message and a code. */
  async fail(error: unknown): Promise<TurnEnd> {
    const { thread, signal } = this
    const failure = signal.aborted
      ? new AgentError('VT_CANCELLED', 'The run was cancelled.')
      : error instanceof AgentError
        ? error
        : new AgentError('VT_INTERNAL', toErrorMessage(error))
    // A refusal is a complete answer.
    await this.speech.end(signal.aborted ? 'cancelled' : failure.code === 'VT_LLM_REFUSED' ? 'completed' : 'discarded')
    await thread.events.closeOpen('cancelled')
    await this.completeStep()
    const outcome = toOutcomeCode(failure.code)
    let handoff: string | undefined
    // If the journal cannot be written, only events report the failure.
    if (failure.code !== 'VT_SESSION_WRITE') {
      await this.keepUnfinishedText(failure)
      handoff = await thread.completion.writeHandoff(outcome)
      await thread.commit({ kind: 'turn_end', status: 'failed', code: failure.code })
    }
    await thread.events.emitItem({
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
      text: handoff === undefined ? (this.keptText ?? failure.message) : appendHandoff(this.keptText ?? '', handoff),
      failure,
    }
  }

  /** Keeps the text of an answer that broke off, because screens show it. Its calls are dropped. */
  private async keepUnfinishedText({ code }: AgentError): Promise<void> {
    const { unfinished: text } = this.speech
    if (text.trim() === '') return
    const from = this.thread.connection.model.entry.name
    await this.thread.commit({ kind: 'message', message: { role: 'assistant', parts: [{ type: 'text', text, from }] } })
    await this.thread.inject(
      code === 'VT_CANCELLED' ? 'The user stopped your answer here.' : `Your answer broke off here (${code}).`,
    )
  }
}
