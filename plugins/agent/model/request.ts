import type { LanguageModelV3 } from '@ai-sdk/provider'
import { AgentError, type AgentProviders, type Cause, type FinishReason, type Usage } from '../base/index.js'
import type { Credential } from './auth/types.js'
import { causeOf, Cut, ownFault, Stalled } from './failure.js'
import { incoming, outgoing, type Request } from './outgoing.js'
import type { Model } from './providers/facts.js'
import type { Speech } from './speech.js'
import { readAnswer, type Read } from './stream.js'
import { watched } from './timeouts.js'
import { add, addCost, costOf, noUsage, reportedCost, sizeOf, tokensOf, usageOf } from './usage.js'

/** A model with the client that speaks to it. */
export interface Line {
  model: Model
  client: LanguageModelV3
  credential: Credential
}
/** One answer that is whole, and what it took. */
export interface Accepted {
  parts: Read['parts']
  finish: FinishReason
  usage: Usage
  /** USD of all attempts; the server's own word wins. `null` where a price is not known. */
  cost: number | null
  /** What the server counted of the whole answer that was taken, request and all; absent when it counted nothing. */
  counted?: number
  ttft_ms: number
  duration_ms: number
  attempts: number
}
export interface Asking {
  providers: AgentProviders
  speech: Pick<Speech, 'grew' | 'end'>
  /** Told before each wait. */
  retrying: (retry: { attempt: number; cause: Cause; wait_ms: number }) => Promise<void>
}

const limits = { first_token_ms: 120_000, idle_ms: 90_000, total_ms: 900_000 }
const longestWait = 300_000
const nothing: Cause = { code: 'VT_LLM_EMPTY', message: 'The answer is empty.', retry: 'stream', category: 'empty' }

/**
 * Asks a model until an answer is whole. Nothing of a broken answer is kept, so asking again repeats no side effect. Throws an
 * AgentError VT_LLM_* when there is no use in going on, and the reason of `signal` when that aborts.
 */
export async function ask(line: Line, request: Request, { providers, speech, retrying }: Asking, signal: AbortSignal): Promise<Accepted> {
  const { entry } = line.model
  const began = providers.clock.now()
  const left = { request: 4, stream: 2, ...entry.retries, auth: 1, empty: 2 }
  const total_ms = entry.timeouts?.total_ms ?? limits.total_ms
  let lost: Pick<Accepted, 'usage' | 'cost'> = { usage: noUsage, cost: 0 }
  const lose = ({ usage, cost }: typeof lost) => (lost = { usage: add(lost.usage, usage), cost: addCost(lost.cost, cost) })
  for (let attempt = 1; ; attempt++) {
    const seen = { text: '', begun: false }
    try {
      const left_ms = total_ms - (providers.clock.now() - began)
      if (left_ms < 0) throw new Stalled('total', total_ms)
      const answer = await once(line, request, { seen, left_ms, total_ms }, providers, speech, signal)
      if (answer.parts.length > 0) return { ...answer, ...lose(answer), duration_ms: providers.clock.now() - began, attempts: attempt }
      lose(answer)
      if (left.empty-- === 0 || providers.retry.next(attempt, nothing, providers.random) === 'stop') throw new AgentError('VT_LLM_EMPTY', `The model ${line.model.id} answered with nothing.`)
      await retrying({ attempt, cause: nothing, wait_ms: 0 })
    } catch (error) {
      const own = ownFault(error)
      if (signal.aborted || own) throw own ?? error
      const cause = causeOf(error, seen.begun, providers.clock.now())
      await speech.end('discarded')
      if (cause.retry === 'stream') {
        const usage: Usage = { ...noUsage, input_tokens: sentIn(request), output_tokens: tokensOf(seen.text), estimated: true }
        lose({ usage, cost: costOf(usage, line.model.facts.cost) })
      }
      const wait_ms = waitFor(cause, attempt, left, line, providers)
      if (wait_ms === undefined) throw new AgentError(cause.code, cause.message, { details: { category: cause.category, attempts: attempt, ...retryAt(cause, providers) } })
      await retrying({ attempt, cause, wait_ms })
      await providers.clock.sleep(wait_ms, signal)
    }
  }
}

/** Milliseconds until the next attempt; `undefined` when there is none. */
function waitFor(cause: Cause, attempt: number, left: Record<'request' | 'stream' | 'auth', number>, { credential }: Line, { retry, random }: AgentProviders): number | undefined {
  if (cause.retry === 'no' || cause.retry === 'context') return undefined
  if (cause.retry === 'auth') return left.auth-- > 0 && credential.refresh() ? 0 : undefined
  if (left[cause.retry]-- <= 0 || (cause.wait_ms ?? 0) > longestWait) return undefined
  const wait_ms = retry.next(attempt, cause, random)
  return wait_ms === 'stop' ? undefined : wait_ms
}

const retryAt = ({ wait_ms }: Cause, { clock }: AgentProviders) => (wait_ms === undefined ? {} : { retry_at: new Date(clock.now() + wait_ms).toISOString() })

/** About how many tokens a request has. */
const sentIn = ({ weight, messages }: Request): number => weight + sizeOf(messages)

interface Attempt {
  /** What came of it, for whoever has to say what was lost. */
  seen: { text: string; begun: boolean }
  /** Of the time that all attempts have together. */
  left_ms: number
  total_ms: number
}

async function once(line: Line, request: Request, { seen, left_ms, total_ms }: Attempt, { clock }: AgentProviders, speech: Asking['speech'], outer: AbortSignal): Promise<Omit<Accepted, 'attempts'>> {
  const began = clock.now()
  const { entry } = line.model
  const { first_token_ms, idle_ms } = { ...limits, ...entry.timeouts }
  let ttft_ms: number | undefined
  const read = await watched(outer, { first_ms: first_token_ms, total_ms: left_ms, told_ms: total_ms }, async (signal, alive) => {
    const { stream } = await line.client.doStream({ ...outgoing(line.model, request), abortSignal: signal })
    seen.begun = true
    const follower = { grew: async (...said: Parameters<Speech['grew']>) => (signal.aborted ? undefined : speech.grew(...said)) }
    const heard = () => {
      ttft_ms ??= clock.now() - began
      alive('idle', idle_ms)
    }
    return incoming(line.model, await readAnswer(stream, seen, heard, follower))
  })
  if (read.finish === 'content-filter') throw new AgentError('VT_LLM_REFUSED', `The model ${line.model.id} refused to go on.`)
  if (read.finish === 'tool-calls' && !read.parts.some(({ type }) => type === 'raw_call')) throw new Cut('The answer announced calls and held none.')
  const usage = usageOf(read.usage, () => sentIn(request), seen.text)
  const cost = reportedCost(read.usage) ?? costOf(usage, line.model.facts.cost)
  const counted = usage.input_tokens + usage.output_tokens
  return { ...read, usage, cost, ...(!usage.estimated && { counted }), ttft_ms: ttft_ms ?? 0, duration_ms: clock.now() - began }
}
