import { problem, type Context, type JsonObject } from '../../../core/index.js'
import { sha256 } from '../../../core/system/index.js'
import { isObject } from '../../../core/shapes/index.js'
import { answerStore } from './store.js'
import type { CallAnswer, ScriptCalls } from './script_calls.js'

/** The keys of kept answers begin with this; scripts cannot use them. */
export const AGENT_KEYS = 'agent:'
/** The parts of an agent's answer that the store keeps. */
const KEPT = ['agent', 'label', 'status', 'summary', 'changed_files', 'worktree', 'cost_usd']

interface AgentRequest {
  input: string
  line: number
}

/**
 * Starts the agents of one script. The store of the session keeps each completed answer under the script, the input
 * and the number of equal inputs before it, so that the same script gets it again in place of a second agent.
 */
export class ScriptAgents {
  readonly #script: string
  readonly #counts = new Map<string, number>()

  constructor(
    private readonly context: Context,
    private readonly calls: ScriptCalls,
    { code, input = '' }: { code: string; input?: string },
  ) {
    this.#script = sha256(JSON.stringify([code, input])).slice(0, 16)
  }

  /** Returns the answer of an agent. Contract: never rejects. */
  async run({ input, line }: AgentRequest): Promise<CallAnswer> {
    const number = (this.#counts.get(input) ?? 0) + 1
    this.#counts.set(input, number)
    const key = `${AGENT_KEYS}${this.#script}:${sha256(input).slice(0, 16)}:${number}`
    const known = await answerStore(this.context, { action: 'get', key })
    if ('value' in known && known.value !== undefined) return known
    const answer = await this.calls.make({ tool: 'agents/spawn', input, line }, true)
    if ('error' in answer || !isObject(answer.value)) return answer
    const { value } = answer
    if (value['status'] !== 'completed') return { error: toError(value) }
    const kept = Object.fromEntries(KEPT.flatMap((name) => (value[name] === undefined ? [] : [[name, value[name]]])))
    // An answer that cannot be kept, such as one with a secret, is still an answer.
    await answerStore(this.context, { action: 'set', key, value: JSON.stringify(kept) })
    return { value: kept }
  }
}

const toError = ({ error, summary, status }: JsonObject): NonNullable<(CallAnswer & { error: object })['error']> =>
  isObject(error)
    ? error
    : problem('VT_CALL_FAILED', { plugin: 'agents/spawn', reason: String(summary ?? status) }).problem
