import {
  problem,
  type ContentBlock,
  type Context,
  type Effect,
  type JsonObject,
  type PreparedCall,
  type Problem,
  type Result,
} from '../../../core/index.js'
import { truncateLine, visibleLine } from '../../../core/text/index.js'
import { createSlotError } from '../../lib/base/index.js'
import type { NestedCall } from '../code/bridge.js'
import { Budget } from './budget.js'

/** Calls of one script that run at the same time, calls that its result lists, and characters of kept results. */
const LIMITS = { running: 16, listed: 100, text: 1000, input: 2000, name: 200 }
/** Bytes of the input of one call, and of all calls that have not ended. */
const MAX_BYTES = { call: 1024 * 1024, pending: 32 * 1024 * 1024 }

interface Request {
  tool: string
  input: string
  line: number
}
interface OwnRequest extends Request {
  asCaller: boolean
}
export type CallAnswer = { value: unknown; content?: number[] } | { error: Partial<Problem> }

/** Answers a call with an unexpected error. */
export const answerUnexpected = (error: unknown): CallAnswer => ({
  error: problem('VT_CALL_FAILED', { plugin: 'script', reason: String(error) }).problem,
})

const mayChange = ({ effects }: PreparedCall): boolean =>
  effects.some((effect) => effect === 'write' || effect === 'exec')

/** The calls of one script: ordinary calls of its session, each judged like any other. */
export class ScriptCalls {
  /** The first calls, in order. */
  readonly listed: NestedCall[] = []
  /** The effects of all calls that succeeded. */
  readonly effects = new Set<Effect>()
  /** Images and links that calls returned. */
  readonly content: ContentBlock[] = []
  count = 0
  failed = 0
  readonly budget: Budget
  #running = 0
  /** The last of the changing calls. */
  #changing: Promise<unknown> = Promise.resolve()
  #bytes = 0
  readonly #waiting: (() => void)[] = []
  readonly #pending = new Set<Promise<unknown>>()
  readonly #lines: string[]

  constructor(
    private readonly context: Context,
    private readonly limits: { calls: number; signal: AbortSignal },
    code: string,
  ) {
    this.#lines = code.split('\n')
    this.budget = Budget.find(limits.calls)
  }

  /** Waits for the calls that have not ended. */
  async settle(): Promise<void> {
    await Promise.allSettled(this.#pending)
  }

  /** Makes a call; with `asCaller` as the agent that runs the script, to reach its tools. Contract: never rejects. */
  async make({ tool, input, line }: Request, asCaller = false): Promise<CallAnswer> {
    const work = this.#make({ tool, input, line, asCaller }).catch(answerUnexpected)
    this.#pending.add(work)
    const answer = await work
    this.#pending.delete(work)
    return answer
  }

  async #make({ tool, input, line, asCaller }: OwnRequest): Promise<CallAnswer> {
    this.count += 1
    const size = Buffer.byteLength(tool) + Buffer.byteLength(input)
    const refusal = this.#findRefusal(size)
    if (refusal) return this.#refuse(refusal)
    const call: NestedCall = { tool: truncateLine(tool, LIMITS.name), ok: false, duration_ms: 0 }
    if (this.listed.length < LIMITS.listed) this.listed.push(call)
    this.#bytes += size
    await this.#takeTurn()
    const began = performance.now()
    let result: Result
    try {
      if (this.limits.signal.aborted) return this.#refuse(problem('VT_CALL_ABORTED').problem)
      result = await this.#perform(call, { tool, input, line, asCaller })
    } finally {
      this.#bytes -= size
      this.#giveTurn()
    }
    call.ok = result.ok
    call.duration_ms = Math.round(performance.now() - began)
    if (!result.ok) call.code = result.error.code
    this.#report(call)
    if (!result.ok) {
      this.failed += 1
      const { code, message, hint, next } = result.error
      return { error: { code, message, hint, ...(next && { next }) } }
    }
    const first = this.content.length
    this.content.push(...(result.content ?? []))
    const content = this.content.slice(first).map((_, index) => first + index)
    return { value: result.output, ...(content.length > 0 && { content }) }
  }

  async #perform(call: NestedCall, { tool: name, input, line, asCaller }: OwnRequest): Promise<Result> {
    const { host } = this.context
    const given = ((JSON.parse(input) as unknown) ?? {}) as JsonObject
    const prepared = await host.resolve(name, given)
    const { signal } = this.limits
    const how = { signal, ...this.#findOrigin(line), ...(asCaller && { asCaller }) }
    if (prepared) {
      const { tool, action } = prepared.slot
      Object.assign(call, { tool, ...(action !== undefined && { action }) })
    }
    const work = (): Promise<Result> =>
      this.budget.share(() => (prepared ? this.context.call(prepared, how) : this.context.call(name, given, how)))
    const result = await (prepared && (prepared.slot.runs_calls || mayChange(prepared)) ? this.#runAlone(work) : work())
    const effects = prepared?.effects ?? []
    if (result.ok) for (const effect of effects) this.effects.add(effect)
    if (prepared) await this.#keep(prepared, result)
    return result
  }

  /**
   * Runs a call after all changing calls before it. Otherwise, a script could change what a person reads in an open
   * question.
   */
  #runAlone(work: () => Promise<Result>): Promise<Result> {
    const run = this.#changing.then(() => {
      if (this.limits.signal.aborted) throw problem('VT_CALL_ABORTED')
      return work()
    })
    this.#changing = run.catch(() => {})
    return run
  }

  /** Keeps the result of a call that may have changed something, and those of the first calls. */
  async #keep(prepared: PreparedCall, result: Result): Promise<void> {
    const { slot, effects, input } = prepared
    const { scripts } = this.context
    if (!scripts || (this.count > LIMITS.listed && !mayChange(prepared))) return
    const text = result.ok
      ? (result.text ?? JSON.stringify(result.output))
      : `${result.error.code}: ${result.error.message}`
    await scripts.record({
      slot: slot.slot,
      input: JSON.stringify(input).length > LIMITS.input ? {} : { ...input },
      effects,
      ok: result.ok,
      text: text.slice(0, LIMITS.text),
    })
  }

  #findOrigin(line: number): { origin?: string } {
    const text = this.#lines[line - 1]?.trim()
    return text ? { origin: `line ${line} of a script: ${text}` } : {}
  }

  #report({ tool, action, ok, code, duration_ms }: NestedCall): void {
    const name = action === undefined ? tool : `${tool} ${action}`
    this.context.progress({ text: `${visibleLine(name)}: ${ok ? 'done' : code} in ${duration_ms} ms\n` })
  }

  #refuse(error: Partial<Problem>): CallAnswer {
    this.failed += 1
    return { error }
  }

  /** Returns why a call cannot begin: none is left, or its input is too large. */
  #findRefusal(size: number): Partial<Problem> | undefined {
    const { call, pending } = MAX_BYTES
    if (!this.budget.takeCall()) return this.#createLimitError()
    if (size > call)
      return problem('VT_INPUT_TOO_LARGE', { size: `${size} bytes long`, limit: `${call} bytes` }).problem
    if (this.#bytes + size <= pending) return undefined
    return createSlotError('VT_EXEC_LIMIT', `The calls of a script that have not ended hold over ${pending} bytes.`, {
      hint: 'Await calls before the next ones.',
    }).problem
  }

  #createLimitError(): Partial<Problem> {
    return createSlotError('VT_EXEC_LIMIT', `A script may make at most ${this.limits.calls} calls.`, {
      hint: 'Request more with each call.',
    }).problem
  }

  async #takeTurn(): Promise<void> {
    if (this.#running >= LIMITS.running) await new Promise<void>((resolve) => this.#waiting.push(resolve))
    else this.#running += 1
  }
  #giveTurn(): void {
    const next = this.#waiting.shift()
    if (next) next()
    else this.#running -= 1
  }
}
