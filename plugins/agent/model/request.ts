import type { LanguageModelV3 } from '@ai-sdk/provider'
import { AgentError, type AgentProviders, type Cause, type FinishReason, type Usage } from '../base/index.js'
import type { Credential } from '../auth/index.js'
import { causeOf, Cut, ownFault, Stalled } from './failure.js'
import { incoming, outgoing, type ModelRequest } from './outgoing.js'
import type { Model } from '../providers/index.js'
import type { Speech } from './speech.js'
import { readAnswer, type Follower, type Read } from './stream.js'
import { withTimeouts } from './timeouts.js'
import { addUsage, addUsd, costOf, noUsage, reportedCost, sizeOf, tokensOf, usageOf } from './usage.js'

/** A model with the client that speaks to it. */
export interface ModelConnection {
  model: Model
  client: LanguageModelV3
  credential: Credential
}
/** One answer that is whole, and what it took. */
export interface ModelAnswer {
  parts: Read['parts']
  finish: FinishReason
  usage: Usage
  /** USD of all attempts; a price that the server reports wins. `null` where a price is not known. */
  cost: number | null
  /** What the server counted of the whole answer that was taken, request and all; absent when it counted nothing. */
  counted?: number
  ttft_ms: number
  duration_ms: number
  attempts: number
}
export interface RequestContext {
  providers: AgentProviders
  speech: Pick<Speech, 'grew' | 'asks' | 'itemOf' | 'end'>
  /** Asked before each attempt, with what its request takes at least and what the attempts before it came to. Throws where that is too much. */
  afford?: (input: Usage, lost: number | null, model: Model) => Promise<void>
  /** Told what attempts came to that led to no answer. */
  lost?: (cost: Pick<ModelAnswer, 'usage' | 'cost'>) => void
  /** Told before each wait. */
  retrying: (retry: { attempt: number; cause: Cause; wait_ms: number }) => Promise<void>
}

const limits = { first_token_ms: 120_000, idle_ms: 90_000, total_ms: 900_000 }
/** A provider that asks for a longer wait before the next attempt gets none, in milliseconds. */
const longestWait = 300_000
const nothing: Cause = { code: 'VT_LLM_EMPTY', message: 'The answer is empty.', retry: 'stream', category: 'empty' }

/**
 * Asks a model until an answer is whole. Nothing of a broken answer is kept, so asking again repeats no side effect. Throws an
 * AgentError VT_LLM_* when there is no use in going on, and the reason of `signal` when that aborts.
 */
export async function askModel(
  connection: ModelConnection,
  request: ModelRequest,
  context: RequestContext,
  signal: AbortSignal,
): Promise<ModelAnswer> {
  const attempts: Attempts = { lost: { usage: noUsage, cost: 0 } }
  try {
    return await attempted(connection, request, context, attempts, signal)
  } catch (error) {
    if (attempts.lost.usage !== noUsage) context.lost?.(attempts.lost)
    throw error
  }
}

interface Attempts {
  lost: Pick<ModelAnswer, 'usage' | 'cost'>
}

async function attempted(
  connection: ModelConnection,
  request: ModelRequest,
  context: RequestContext,
  attempts: Attempts,
  signal: AbortSignal,
): Promise<ModelAnswer> {
  const { providers, speech, retrying, afford } = context
  const { entry } = connection.model
  const began = providers.clock.now()
  const left = { request: 4, stream: 2, ...entry.retries, auth: 1, empty: 2 }
  const total_ms = entry.timeouts?.total_ms ?? limits.total_ms
  const lose = ({ usage, cost }: Attempts['lost']) =>
    (attempts.lost = { usage: addUsage(attempts.lost.usage, usage), cost: addUsd(attempts.lost.cost, cost) })
  for (let attempt = 1; ; attempt++) {
    const seen = { text: '', begun: false }
    try {
      const left_ms = total_ms - (providers.clock.now() - began)
      if (left_ms < 0) throw new Stalled('total', total_ms)
      await afford?.({ ...noUsage, input_tokens: sentIn(request) }, attempts.lost.cost, connection.model)
      const answer = await once(connection, request, { seen, left_ms, total_ms }, { providers, speech }, signal)
      if (answer.finish === 'content-filter') {
        lose(answer)
        throw new AgentError('VT_LLM_REFUSED', `The model ${connection.model.id} refused to continue.`)
      }
      const parts = request.without_calls ? answer.parts.filter(({ type }) => type !== 'raw_call') : answer.parts
      const onlyCalled = parts.length < answer.parts.length && parts.every(isThought)
      if (!parts.every(isThought) || (onlyCalled && request.tools.length === 0))
        return { ...answer, parts, ...lose(answer), duration_ms: providers.clock.now() - began, attempts: attempt }
      lose(answer)
      if (onlyCalled) {
        // It was told to make no calls; what it does not see it cannot call.
        request = { ...request, tools: [] }
        continue
      }
      // Asked again it would think as long again.
      if (answer.finish === 'length')
        throw new AgentError(
          'VT_LLM_LENGTH',
          `The answer of ${connection.model.id} was cut at the limit of its length before it said anything.`,
        )
      if (left.empty-- === 0 || providers.retry.next(attempt, nothing, providers.random) === 'stop')
        throw new AgentError('VT_LLM_EMPTY', `The model ${connection.model.id} answered with nothing.`)
      await retrying({ attempt, cause: nothing, wait_ms: 0 })
    } catch (error) {
      const own = ownFault(error)
      if (signal.aborted || own) throw own ?? error
      const cause = causeOf(error, seen.begun, providers.clock.now())
      await speech.end('discarded')
      if (cause.retry === 'stream') {
        const usage: Usage = {
          ...noUsage,
          input_tokens: sentIn(request),
          output_tokens: tokensOf(seen.text),
          estimated: true,
        }
        lose({ usage, cost: costOf(usage, connection.model.facts.cost) })
      }
      if (cause.code === 'VT_LLM_REQUEST' && request.without_calls && request.tools.length > 0) {
        // Some servers know no way to say it; what they remember of the conversation is given up then.
        request = { ...request, tools: [] }
        continue
      }
      const wait_ms = waitFor(cause, attempt, left, connection, providers)
      if (wait_ms === undefined) {
        const details = { category: cause.category, attempts: attempt, ...retryAt(cause, providers) }
        throw new AgentError(cause.code, cause.message, {
          ...(cause.hint !== undefined && { hint: cause.hint }),
          details,
        })
      }
      await retrying({ attempt, cause, wait_ms })
      await providers.clock.sleep(wait_ms, signal)
    }
  }
}

/** Milliseconds until the next attempt; `undefined` when there is none. */
function waitFor(
  cause: Cause,
  attempt: number,
  left: Record<'request' | 'stream' | 'auth', number>,
  { credential }: ModelConnection,
  { retry, random }: AgentProviders,
): number | undefined {
  if (cause.retry === 'no' || cause.retry === 'context') return undefined
  if (cause.retry === 'auth') return left.auth-- > 0 && credential.refresh() ? 0 : undefined
  if (left[cause.retry]-- <= 0 || (cause.wait_ms ?? 0) > longestWait) return undefined
  const wait_ms = retry.next(attempt, cause, random)
  return wait_ms === 'stop' ? undefined : wait_ms
}

const isThought = ({ type }: Read['parts'][number]): boolean => type === 'reasoning'

const retryAt = ({ wait_ms }: Cause, { clock }: AgentProviders) =>
  wait_ms === undefined ? {} : { retry_at: new Date(clock.now() + wait_ms).toISOString() }

/** About how many tokens a request has. */
const sentIn = ({ weight, tools, messages }: ModelRequest): number =>
  weight.system + (tools.length > 0 ? weight.tools : 0) + sizeOf(messages)

interface Attempt {
  /** What was received so far, to estimate the cost of an attempt that fails. */
  seen: { text: string; begun: boolean }
  /** Of the time that all attempts have together. */
  left_ms: number
  total_ms: number
}

async function once(
  connection: ModelConnection,
  request: ModelRequest,
  attempt: Attempt,
  { providers, speech }: Omit<RequestContext, 'retrying'>,
  outer: AbortSignal,
) {
  const { seen, left_ms, total_ms } = attempt
  const { clock } = providers
  const began = clock.now()
  const { entry } = connection.model
  const { first_token_ms, idle_ms } = { ...limits, ...entry.timeouts }
  let ttft_ms: number | undefined
  const read = await withTimeouts(
    outer,
    { first_ms: first_token_ms, total_ms: left_ms, told_ms: total_ms },
    async (signal, alive) => {
      const { stream } = await connection.client.doStream({
        ...outgoing(connection.model, request),
        abortSignal: signal,
      })
      seen.begun = true
      const follower: Follower = {
        grew: (...growth) => (signal.aborted ? undefined : speech.grew(...growth)),
        asks: (...growth) => (signal.aborted || request.without_calls ? undefined : speech.asks(...growth)),
        itemOf: (id) => speech.itemOf(id),
      }
      const partArrived = () => {
        ttft_ms ??= clock.now() - began
        alive('idle', idle_ms)
      }
      return incoming(connection.model, await readAnswer(stream, seen, partArrived, follower))
    },
  )
  if (read.finish === 'tool-calls' && !read.parts.some(({ type }) => type === 'raw_call'))
    throw new Cut('The answer announced calls and contained none.')
  const usage = usageOf(read.usage, () => sentIn(request), seen.text)
  const cost = reportedCost(read.usage) ?? costOf(usage, connection.model.facts.cost)
  const counted = usage.input_tokens + usage.output_tokens
  return {
    ...read,
    usage,
    cost,
    ...(!usage.estimated && { counted }),
    ttft_ms: ttft_ms ?? 0,
    duration_ms: clock.now() - began,
  }
}
