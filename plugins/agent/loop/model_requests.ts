import { raceAbort } from '../../lib/base/index.js'
import { AgentError, type Cause, type HarnessEvent } from '../base/index.js'
import { createBudgetGuard, type PaidConversation } from '../ledger/index.js'
import {
  connect,
  type ModelAnswer,
  type ModelConnection,
  type ModelRequest,
  type RequestContext,
} from '../model/index.js'
import { formatWindowKey } from '../providers/index.js'
import { listImages, loadImages } from '../session/index.js'

const replaceable = new Set(['VT_LLM_REQUEST', 'VT_LLM_RATE_LIMIT', 'VT_LLM_CUT', 'VT_LLM_TIMEOUT', 'VT_LLM_QUOTA'])

/** Describes a retry; for a limit of requests with its code and the wait, which may be long. */
const describeRetry = ({ code, message }: Cause, wait_ms: number): string =>
  code === 'VT_LLM_RATE_LIMIT' ? `${code}: ${message} Asking again in ${Math.ceil(wait_ms / 1000)} s.` : message

/** The events that report a diagnostic. */
const UNUSED_EVENTS: Record<string, HarnessEvent> = {
  VT_MCP_START: 'server_unavailable',
  VT_POLICY_UNUSED: 'instructions_unused',
}

/**
 * The requests of a thread to its model: paused on demand, held to the budget, and sent to a fallback model on
 * failure.
 */
export class ModelRequests {
  private gate: Promise<void> = Promise.resolve()
  private release: (() => void) | undefined
  /** The number of fallback models in use so far. */
  private fallback = 0
  /** Models whose server refused images. */
  private readonly withoutVision = new Set<string>()
  /** Models whose assumed window this process has reported, and messages about servers. */
  private readonly noticed = new Set<string>()

  constructor(private readonly thread: PaidConversation) {}

  /** Holds all requests until `resume`. */
  pause(): void {
    if (!this.release) this.gate = new Promise((resolve) => (this.release = resolve))
  }
  resume(): void {
    this.release?.()
    this.release = undefined
  }

  /**
   * Asks the model of the thread, or the next one if it fails; once a turn with a shorter conversation. Throws
   * VT_LOOP_BUDGET, VT_LLM_*.
   */
  async send(
    ask: (
      connection: ModelConnection,
      request: ModelRequest,
      asking: Omit<RequestContext, 'speech'>,
    ) => Promise<ModelAnswer>,
    signal: AbortSignal,
  ): Promise<ModelAnswer> {
    const { thread } = this
    if (this.release) await raceAbort(signal, this.gate)
    for (;;) {
      const request = await this.addImages(await thread.context.request())
      await this.reportAssumedWindow()
      await this.reportUnused()
      // Writes to disk in parallel with the answer. The next wait reports a failure.
      thread.store.sync('messages.jsonl').catch(() => {})
      const onRetry: RequestContext['onRetry'] = ({ attempt, cause, wait_ms }) =>
        thread.harness('model_retry', {
          message: describeRetry(cause, wait_ms),
          attempt,
          error_category: cause.category,
          data: { wait_ms },
        })
      try {
        const accepted = await ask(thread.connection, request, {
          providers: thread.providers,
          onRetry,
          hasFallback: thread.settings.agent.fallback_models[this.fallback] !== undefined,
          ...createBudgetGuard(thread),
        })
        thread.context.recordAnswer(accepted)
        return accepted
      } catch (error) {
        if (!(error instanceof AgentError)) throw error
        if (request.images && (await this.handleImageRefusal(error))) continue
        const canContinue =
          error.code === 'VT_LLM_CONTEXT'
            ? await thread.context.recover(signal)
            : replaceable.has(error.code) && (await this.fallBack(error, signal))
        if (!canContinue) throw error
      }
    }
  }

  /** Adds the images of the conversation to a request if the model accepts images. */
  private async addImages(request: ModelRequest): Promise<ModelRequest> {
    const { connection, store } = this.thread
    const { id, facts } = connection.model
    if (facts.supports_vision !== true || this.withoutVision.has(id) || listImages(request.messages).length === 0)
      return request
    return { ...request, images: await loadImages(store, request.messages) }
  }

  /**
   * Returns whether a server refused a request for its images. The model gets no images from then on, and the person
   * gets one notice.
   */
  private async handleImageRefusal({ code, message }: AgentError): Promise<boolean> {
    if (code !== 'VT_LLM_REQUEST' || !/\bimages?\b|image_url|input_image|vision|multi-?modal|media.type/i.test(message))
      return false
    const { id } = this.thread.connection.model
    this.withoutVision.add(id)
    await this.thread.remark('VT_LLM_IMAGE', `${id} gets no more images: ${message}`)
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
    await thread.context.handleModelSwitch(signal)
    return true
  }

  /** Reports once each MCP server that cannot be used, with its own words, and each file with unused settings. */
  private async reportUnused(): Promise<void> {
    for (const { code, message } of this.thread.kernel.diagnostics()) {
      const event = UNUSED_EVENTS[code]
      if (event === undefined || this.noticed.has(message)) continue
      this.noticed.add(message)
      await this.thread.harness(event, { message })
    }
  }

  /**
   * Reports once per session and model that its window is assumed; `state.asked` has the models of earlier processes.
   */
  private async reportAssumedWindow(): Promise<void> {
    const { connection, state } = this.thread
    const { id, facts, sources } = connection.model
    if (sources['context_window'] !== 'assumed' || this.noticed.has(id) || state.asked.includes(id)) return
    this.noticed.add(id)
    const message =
      `The context window of ${id} is unknown; ${facts.context_window} tokens are assumed. Set ` +
      `${formatWindowKey(connection.model)}.`
    await this.thread.harness('context_window_assumed', {
      message,
      data: { model: id, context_window: facts.context_window! },
    })
  }
}
