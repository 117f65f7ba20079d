import { toText } from '../../../core/text/index.js'
import { VtError } from '../../../core/index.js'
import { hasSettled } from '../../lib/process/index.js'
import { MAX_REQUESTS } from './context.js'
import type { ContextBridge } from './context_bridge.js'
import type { Frame, FramePipe } from './frames.js'

interface AnswersOptions extends FramePipe {
  kill(reason: string): void
  /** Milliseconds that answers may stay unread. */
  unread_ms: number
}

/** Returns whether a request waits for people, tools or an agent; no other request waits for it. */
const isSlow = (method: string): boolean =>
  ['call', 'ask', 'client.request'].includes(method) || method.startsWith('conversation.')

/**
 * Answers the requests of one plugin process. Each answer is made after the process has read the previous one, so at
 * most one stays unread. A process that asks for too much at once or does not read is ended.
 */
export class PluginAnswers {
  #queue: Promise<void> = Promise.resolve()

  constructor(private readonly options: AnswersOptions) {}

  take(frame: Frame, visit: ContextBridge): void {
    const { kill } = this.options
    if (++visit.asks > MAX_REQUESTS) return kill(`asks for more than ${MAX_REQUESTS} things at once`)
    if (!isSlow(toText(frame['method']))) return void this.#sendInOrder(() => answerRequest(frame, visit), visit)
    void visit
      .runLimited(() => answerRequest(frame, visit))
      .then((answer) => this.#sendInOrder(async () => answer, visit))
  }

  #sendInOrder(make: () => Promise<Frame>, visit: ContextBridge): void {
    const { send } = this.options
    this.#queue = this.#queue.then(async () => {
      if (!(await this.#waitUntilRead())) return
      const answer = await make()
      visit.asks -= 1
      try {
        send(answer)
      } catch (error) {
        send(toErrorFrame(answer, error))
      }
    })
  }

  async #waitUntilRead(): Promise<boolean> {
    const { room, kill, unread_ms } = this.options
    const reading = room()
    if (!reading || (await hasSettled(reading, unread_ms))) return true
    kill('does not read what it asked for')
    return false
  }
}

/** Contract: never rejects. */
async function answerRequest(frame: Frame, visit: ContextBridge): Promise<Frame> {
  const { n, k, method, args } = frame
  try {
    return { t: 'answer', n, k, value: await visit.answer(toText(method), (args ?? []) as unknown[]) }
  } catch (error) {
    return toErrorFrame(frame, error)
  }
}

const toErrorFrame = ({ n, k }: Frame, error: unknown): Frame => ({
  t: 'answer',
  n,
  k,
  error: { message: (error as Error).message, ...(error instanceof VtError && { problem: error.problem }) },
})
