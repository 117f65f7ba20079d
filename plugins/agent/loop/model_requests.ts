import { raceAbort } from '../../lib/base/index.js'
import { AgentError } from '../base/index.js'
import { budgetOf, type PaidConversation } from '../ledger/index.js'
import {
  connect,
  type ModelAnswer,
  type ModelConnection,
  type ModelRequest,
  type RequestContext,
} from '../model/index.js'
import { windowKey } from '../providers/index.js'
import { listImages, loadImages } from '../session/index.js'

const replaceable = new Set(['VT_LLM_REQUEST', 'VT_LLM_RATE_LIMIT', 'VT_LLM_CUT', 'VT_LLM_TIMEOUT', 'VT_LLM_QUOTA'])

/** The requests of a thread to its model: held while paused, within the budget, to the next model where one cannot be had. */
export class ModelRequests {
  private opened: Promise<void> = Promise.resolve()
  private release: (() => void) | undefined
  /** How many of the fallback models were taken. */
  private fallback = 0
  /** Models whose server refused images. */
  private readonly blind = new Set<string>()
  /** Models whose limits the person was told of by this process. */
  private readonly noticed = new Set<string>()

  constructor(private readonly thread: PaidConversation) {}

  /** Holds every request from the next on, until `resume`. */
  pause(): void {
    if (!this.release) this.opened = new Promise((resolve) => (this.release = resolve))
  }
  resume(): void {
    this.release?.()
    this.release = undefined
  }

  /** Asks the model of the thread, or the next one where it cannot be had; once a turn with a shorter conversation. Throws VT_LOOP_BUDGET, VT_LLM_*. */
  async send(
    ask: (
      connection: ModelConnection,
      request: ModelRequest,
      asking: Omit<RequestContext, 'speech'>,
    ) => Promise<ModelAnswer>,
    signal: AbortSignal,
  ): Promise<ModelAnswer> {
    const { thread } = this
    if (this.release) await raceAbort(signal, this.opened)
    for (;;) {
      const request = await this.withImages(await thread.context.request())
      await this.noticeLimits()
      // An answer takes a while: what came before it gets on disk meanwhile. The next wait reports a failure.
      thread.store.sync('messages.jsonl').catch(() => {})
      const retrying: RequestContext['retrying'] = ({ attempt, cause, wait_ms }) =>
        thread.harness('model_retry', {
          message: cause.message,
          attempt,
          error_category: cause.category,
          data: { wait_ms },
        })
      try {
        const accepted = await ask(thread.connection, request, {
          providers: thread.providers,
          retrying,
          ...budgetOf(thread),
        })
        thread.context.answered(accepted)
        return accepted
      } catch (error) {
        if (!(error instanceof AgentError)) throw error
        if (request.images && (await this.refusesImages(error))) continue
        const goesOn =
          error.code === 'VT_LLM_CONTEXT'
            ? await thread.context.recover(signal)
            : replaceable.has(error.code) && (await this.fallBack(error, signal))
        if (!goesOn) throw error
      }
    }
  }

  /** A request with the images of the conversation, where its model sees them. */
  private async withImages(request: ModelRequest): Promise<ModelRequest> {
    const { connection, store } = this.thread
    const { id, facts } = connection.model
    if (facts.supports_vision !== true || this.blind.has(id) || listImages(request.messages).length === 0)
      return request
    return { ...request, images: await loadImages(store, request.messages) }
  }

  /** Whether a server refused a request for its images; the model is not given any from then on, and a person is told once. */
  private async refusesImages({ code, message }: AgentError): Promise<boolean> {
    if (code !== 'VT_LLM_REQUEST' || !/\bimages?\b|image_url|input_image|vision|multi-?modal|media.type/i.test(message))
      return false
    const { id } = this.thread.connection.model
    this.blind.add(id)
    await this.thread.remark('VT_LLM_IMAGE', `${id} is given no images any more: ${message}`)
    return true
  }

  private async fallBack(error: AgentError, signal: AbortSignal): Promise<boolean> {
    const { thread } = this
    const id = thread.settings.agent.fallback_models[this.fallback++]
    if (id === undefined) return false
    const from = thread.connection.model.id
    thread.connection = await connect(thread.kernel, id, thread.providers)
    await thread.harness('model_fallback', {
      message: error.message,
      error_category: error.code,
      data: { from, to: thread.connection.model.id },
    })
    await thread.context.switched(signal)
    return true
  }

  /** Tells a person once a session and model that its window is a guess: who asked it in an earlier process was told then. */
  private async noticeLimits(): Promise<void> {
    const { connection, state } = this.thread
    const { id, facts, sources } = connection.model
    if (sources['context_window'] !== 'assumed' || this.noticed.has(id) || state.asked.includes(id)) return
    this.noticed.add(id)
    const message = `How much ${id} can hold is not known; ${facts.context_window} tokens are assumed. To say it: ${windowKey(connection.model)}.`
    await this.thread.harness('context_window_assumed', {
      message,
      data: { model: id, context_window: facts.context_window! },
    })
  }
}
