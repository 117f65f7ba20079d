import { toText } from '../../../core/text/index.js'
import { VtError } from '../../../core/index.js'
import { settles } from '../../lib/process/index.js'
import { mostAsks } from './context.js'
import type { ContextBridge } from './context_bridge.js'
import type { Frame, FramePipe } from './frames.js'

interface AnswersOptions extends FramePipe {
  kill(reason: string): void
  /** How long answers may lie unread. */
  unread_ms: number
}

/** Requests that wait for people, for other tools or for an agent; no other request waits for them. */
const isSlow = (method: string): boolean =>
  ['call', 'ask', 'client.request'].includes(method) || method.startsWith('conversation.')

/**
 * Answers what one process of a plugin asks. An answer is made when the process has read the one before, so that what it leaves unread is
 * never more than one; who asks for too much at once, or does not read, is ended.
 */
export class PluginAnswers {
  #last: Promise<void> = Promise.resolve()

  constructor(private readonly options: AnswersOptions) {}

  take(frame: Frame, visit: ContextBridge): void {
    const { kill } = this.options
    if (++visit.asks > mostAsks) return kill(`asks for more than ${mostAsks} things at once`)
    if (!isSlow(toText(frame['method']))) return void this.#inTurn(() => answerOf(frame, visit), visit)
    void visit.slowly(() => answerOf(frame, visit)).then((answer) => this.#inTurn(async () => answer, visit))
  }

  #inTurn(make: () => Promise<Frame>, visit: ContextBridge): void {
    const { send } = this.options
    this.#last = this.#last.then(async () => {
      if (!(await this.#isRead())) return
      const answer = await make()
      visit.asks -= 1
      try {
        send(answer)
      } catch (error) {
        send(failureOf(answer, error))
      }
    })
  }

  async #isRead(): Promise<boolean> {
    const { room, kill, unread_ms } = this.options
    const reading = room()
    if (!reading || (await settles(reading, unread_ms))) return true
    kill('does not read what it asked for')
    return false
  }
}

/** Contract: never rejects. */
async function answerOf(frame: Frame, visit: ContextBridge): Promise<Frame> {
  const { n, k, method, args } = frame
  try {
    return { t: 'answer', n, k, value: await visit.answer(toText(method), (args ?? []) as unknown[]) }
  } catch (error) {
    return failureOf(frame, error)
  }
}

const failureOf = ({ n, k }: Frame, error: unknown): Frame => ({
  t: 'answer',
  n,
  k,
  error: { message: (error as Error).message, ...(error instanceof VtError && { problem: error.problem }) },
})
