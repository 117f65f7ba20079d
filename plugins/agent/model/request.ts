import type { LanguageModelV3 } from '@ai-sdk/provider'
import { AgentError, type AgentProviders, type Cause, type FinishReason, type Usage } from '../base/index.js'
import type { Credential } from '../auth/index.js'
import { restoreCalls, toCallOptions, type ModelRequest } from './outgoing.js'
import type { Model } from '../providers/index.js'
import type { Speech } from './speech.js'
import { readAnswer, type Follower, type Read } from './stream.js'
import { Cut, findOwnFault, Stalled, toCause } from '../wire/index.js'
import { withTimeouts } from './timeouts.js'
import {
  addUsage,
  addUsd,
  calculateCost,
  noUsage,
  readReportedCost,
  estimateMessages,
  estimateTokens,
  toUsage,
} from './usage.js'

/** A model with its client. */
export interface ModelConnection {
  model: Model
  client: LanguageModelV3
  credential: Credential
}
/** One complete answer with its cost. */
export interface ModelAnswer {
  parts: Read['parts']
  finish: FinishReason
  usage: Usage
  /** USD of all attempts; a price that the server reports wins. `null` where a price is not known. */
  cost: number | null
  /** Tokens that the server counted for the accepted answer with its request; absent if it counted nothing. */
  counted?: number
  ttft_ms: number
  duration_ms: number
  attempts: number
}
export interface RequestContext {
  providers: AgentProviders
  speech: Pick<Speech, 'appendText' | 'appendArguments' | 'findItemId' | 'end'>
  /**
   * Checks the budget before each attempt, with its minimum usage and the cost of the attempts before it. Throws if
   * it does not fit.
   */
  checkBudget?: (input: Usage, lost: number | null, model: Model) => Promise<void>
  /** Gets the cost of attempts that led to no answer. */
  onLost?: (cost: Pick<ModelAnswer, 'usage' | 'cost'>) => void
  /** Called before each wait. */
  onRetry: (retry: { attempt: number; cause: Cause; wait_ms: number }) => Promise<void>
  /** Another model takes over after a failure, so that long waits are not worth their time. */
  hasFallback?: boolean
}

const limits = { first_token_ms: 120_000, idle_ms: 90_000, total_ms: 900_000 }
/** Longest wait before a retry, in milliseconds; a provider that requests more gets no retry. */
const longestWait = 600_000
const nothing: Cause = { code: 'VT_LLM_EMPTY', message: 'The answer is empty.', retry: 'stream', category: 'empty' }

/**
 * Asks a model until an answer is complete. Broken answers are dropped, so that a retry repeats no side effect.
 * Throws an AgentError VT_LLM_* when retries do not help, and the reason of `signal` when that aborts.
 */
export async function askModel(
  connection: ModelConnection,
  request: ModelRequest,
  context: RequestContext,
  signal: AbortSignal,
): Promise<ModelAnswer> {
  const attempts: Attempts = { lost: { usage: noUsage, cost: 0 } }
  try {
    return await askWithRetries(connection, request, context, attempts, signal)
  } catch (error) {
    if (attempts.lost.usage !== noUsage) context.onLost?.(attempts.lost)
    throw error
  }
}

interface Attempts {
  lost: Pick<ModelAnswer, 'usage' | 'cost'>
}

async function askWithRetries(
  connection: ModelConnection,
  request: ModelRequest,
  context: RequestContext,
  attempts: Attempts,
  signal: AbortSignal,
): Promise<ModelAnswer> {
  const { providers, speech, onRetry, checkBudget } = context
  const { entry } = connection.model
  // The total time of an answer does not contain the waits for a limit of requests.
  let began = providers.clock.now()
  const left = createRetries(entry.retries, context)
  const total_ms = entry.timeouts?.total_ms ?? limits.total_ms
  const lose = ({ usage, cost }: Attempts['lost']) =>
    (attempts.lost = { usage: addUsage(attempts.lost.usage, usage), cost: addUsd(attempts.lost.cost, cost) })
  for (let attempt = 1; ; attempt++) {
    const seen = { text: '', begun: false }
    try {
      const left_ms = total_ms - (providers.clock.now() - began)
      if (left_ms < 0) throw new Stalled('total', total_ms)
      await checkBudget?.({ ...noUsage, input_tokens: estimateRequest(request) }, attempts.lost.cost, connection.model)
      const answer = await sendOnce(connection, request, { seen, left_ms, total_ms }, { providers, speech }, signal)
      if (answer.finish === 'content-filter') {
        lose(answer)
        throw new AgentError('VT_LLM_REFUSED', `The model ${connection.model.id} refused to continue.`)
      }
      const parts =
        request.without_calls === true ? answer.parts.filter(({ type }) => type !== 'raw_call') : answer.parts
      const onlyCalled = parts.length < answer.parts.length && parts.every(isThought)
      if (!parts.every(isThought) || (onlyCalled && request.tools.length === 0))
        return { ...answer, parts, ...lose(answer), duration_ms: providers.clock.now() - began, attempts: attempt }
      lose(answer)
      if (onlyCalled) {
        // A model without tools cannot call.
        request = { ...request, tools: [] }
        continue
      }
      // A retry would reason as long again.
      if (answer.finish === 'length')
        throw new AgentError(
          'VT_LLM_LENGTH',
          `The answer of ${connection.model.id} reached its length limit before any text.`,
        )
      if (left.empty-- === 0 || providers.retry.next(attempt, nothing, providers.random) === 'stop')
        throw new AgentError('VT_LLM_EMPTY', `The model ${connection.model.id} answered with nothing.`)
      await onRetry({ attempt, cause: nothing, wait_ms: 0 })
    } catch (error) {
      const own = findOwnFault(error)
      if (signal.aborted || own) throw own ?? error
      const cause = toCause(error, seen.begun, providers.clock.now())
      await speech.end('discarded')
      if (hasCost(cause, seen)) {
        const usage: Usage = {
          ...noUsage,
          input_tokens: estimateRequest(request),
          output_tokens: estimateTokens(seen.text),
          estimated: true,
        }
        lose({ usage, cost: calculateCost(usage, connection.model.facts.cost) })
      }
      if (cause.code === 'VT_LLM_REQUEST' && request.without_calls && request.tools.length > 0) {
        // Some servers cannot forbid calls; without tools their cache is lost.
        request = { ...request, tools: [] }
        continue
      }
      const wait_ms = getWait(cause, attempt, left, connection, providers)
      if (wait_ms === undefined) {
        const details = { category: cause.category, attempts: attempt, ...formatRetryAt(cause, providers) }
        throw new AgentError(cause.code, cause.message + describeWait(cause, providers), {
          ...(cause.hint !== undefined && { hint: cause.hint }),
          details,
        })
      }
      await onRetry({ attempt, cause, wait_ms })
      await providers.clock.sleep(wait_ms, signal)
      began += getUncountedWait(cause, wait_ms)
    }
  }
}

/** Creates the counts of attempts that are left. */
const createRetries = (
  retries: { request?: number; stream?: number } | undefined,
  { hasFallback }: Pick<RequestContext, 'hasFallback'>,
) => ({
  request: 4,
  stream: 2,
  ...retries,
  auth: 1,
  empty: 2,
  waited_ms: 0,
  isPatient: retries?.request === undefined && hasFallback !== true,
})

/** Returns whether a failed attempt has a cost: an answer was under way. */
const hasCost = ({ retry }: Cause, { text }: Attempt['seen']): boolean => retry === 'stream' || text !== ''

/** Returns the part of a wait that the total time of an answer does not contain. */
const getUncountedWait = ({ patience_ms }: Cause, wait_ms: number): number => (patience_ms === undefined ? 0 : wait_ms)

/** Returns the milliseconds until the next attempt; `undefined` when there is none. */
function getWait(
  cause: Cause,
  attempt: number,
  left: Record<'request' | 'stream' | 'auth' | 'waited_ms', number> & { isPatient: boolean },
  { credential }: ModelConnection,
  { retry, random }: AgentProviders,
): number | undefined {
  if (cause.retry === 'no' || cause.retry === 'context') return undefined
  if (cause.retry === 'auth') return left.auth-- > 0 && credential.refresh() ? 0 : undefined
  if ((cause.wait_ms ?? 0) > longestWait) return undefined
  const isWorthTime = left.isPatient && left.waited_ms < (cause.patience_ms ?? 0)
  if (!isWorthTime && left[cause.retry]-- <= 0) return undefined
  const wait_ms = retry.next(attempt, cause, random)
  if (wait_ms === 'stop') return undefined
  left.waited_ms += wait_ms
  return wait_ms
}

/** Describes a wait that is too long to be kept. */
function describeWait({ wait_ms = 0 }: Cause, { clock }: AgentProviders): string {
  if (wait_ms <= longestWait) return ''
  const until = new Date(clock.now() + wait_ms).toISOString().slice(0, 16).replace('T', ' ')
  return ` The server asks for a wait of ${Math.ceil(wait_ms / 60_000)} minutes, until ${until} UTC.`
}

const isThought = ({ type }: Read['parts'][number]): boolean => type === 'reasoning'

const formatRetryAt = ({ wait_ms }: Cause, { clock }: AgentProviders) =>
  wait_ms === undefined ? {} : { retry_at: new Date(clock.now() + wait_ms).toISOString() }

/** Estimates the tokens of a request. */
const estimateRequest = ({ weight, tools, messages }: ModelRequest): number =>
  weight.system + (tools.length > 0 ? weight.tools : 0) + estimateMessages(messages)

interface Attempt {
  /** The received text, to estimate the cost of a failed attempt. */
  seen: { text: string; begun: boolean }
  /** The rest of the time of all attempts. */
  left_ms: number
  total_ms: number
}

async function sendOnce(
  connection: ModelConnection,
  request: ModelRequest,
  attempt: Attempt,
  { providers, speech }: Omit<RequestContext, 'onRetry'>,
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
    { first_ms: first_token_ms, total_ms: left_ms, reported_ms: total_ms },
    async (signal, alive) => {
      const { stream } = await connection.client.doStream({
        ...toCallOptions(connection.model, request),
        abortSignal: signal,
      })
      seen.begun = true
      const follower: Follower = {
        appendText: (...growth) => (signal.aborted ? undefined : speech.appendText(...growth)),
        appendArguments: (...growth) =>
          signal.aborted || request.without_calls ? undefined : speech.appendArguments(...growth),
        findItemId: (id) => speech.findItemId(id),
      }
      const partArrived = () => {
        ttft_ms ??= clock.now() - began
        alive('idle', idle_ms)
      }
      return restoreCalls(connection.model, await readAnswer(stream, seen, partArrived, follower))
    },
  )
  if (read.finish === 'tool-calls' && !read.parts.some(({ type }) => type === 'raw_call'))
    throw new Cut('The answer announced calls and contained none.')
  const usage = toUsage(read.usage, () => estimateRequest(request), seen.text)
  const cost = readReportedCost(read.usage) ?? calculateCost(usage, connection.model.facts.cost)
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
