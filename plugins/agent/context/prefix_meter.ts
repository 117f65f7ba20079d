import { sha256 } from '../../../core/system/index.js'
import type { Fact, Msg, PrefixReport, Usage } from '../base/index.js'
import type { ModelRequest } from '../model/index.js'
import type { Model } from '../providers/index.js'

/** Time after which servers forget a prefix, at the least that providers document. */
const FORGOTTEN_MS = 300_000

interface Part {
  name: 'model' | 'tools' | 'prompt' | 'messages'
  digest: string
  bytes: number
}
/** Facts that change earlier messages. */
type ChangingFact = 'compaction' | 'cleared' | 'revert'

/**
 * Compares each request with the one before. Servers read the same beginning from their cache, at a lower price. The
 * parts are compared whole: the model, the tools, the prompt, then each message.
 */
export class PrefixMeter {
  #last: readonly Part[] = []
  #ended = 0
  #changed: ChangingFact | undefined
  /** Messages do not change, so each is measured once. */
  readonly #known = new WeakMap<Msg, Part>()
  /** The last request. */
  request: ModelRequest | undefined

  noteFact({ kind }: Fact): void {
    if (kind === 'compaction' || kind === 'cleared' || kind === 'revert') this.#changed = kind
  }

  /** Returns the common beginning of a request and the last one; what broke it, if something did. */
  measure(request: ModelRequest, model: Model, now: number): PrefixReport {
    const last = this.#last
    this.request = request
    const parts: Part[] = [
      { name: 'model', digest: model.id, bytes: 0 },
      measurePart('tools', JSON.stringify(request.tools)),
      measurePart('prompt', request.system),
      ...request.messages.map((message) => this.#measureMessage(message)),
    ]
    const different = last.findIndex(({ digest }, at) => parts[at]?.digest !== digest)
    const common = different < 0 ? last.length : different
    const report: PrefixReport = {
      bytes: sum(parts),
      common_bytes: sum(parts.slice(0, common)),
      ...(different >= 0 && { broken_by: this.#explain(last[different]!), lost_bytes: sum(last.slice(common)) }),
      ...(last.length > 0 && { idle_ms: Math.max(0, Math.round(now - this.#ended)) }),
    }
    this.#last = parts
    this.#changed = undefined
    return report
  }

  /** Adds the price of a broken prefix, from the tokens that the server counted. */
  complete(report: PrefixReport, { facts }: Model, usage: Usage, now: number): PrefixReport {
    this.#ended = now
    const { bytes, lost_bytes, common_bytes, idle_ms = 0, broken_by } = report
    const isForgotten =
      broken_by === undefined &&
      common_bytes > 0 &&
      idle_ms > FORGOTTEN_MS &&
      usage.cached_input_tokens === 0 &&
      facts.supports_context_caching === true
    const broken = isForgotten ? { broken_by: 'time' as const, lost_bytes: common_bytes } : { broken_by, lost_bytes }
    if (broken.broken_by === undefined || bytes === 0) return report
    const tokens = Math.round((usage.input_tokens * Math.min(bytes, broken.lost_bytes ?? 0)) / bytes)
    const { cost } = facts
    const saved = cost?.cache_read === undefined ? undefined : cost.input - cost.cache_read
    return {
      ...report,
      broken_by: broken.broken_by,
      lost_bytes: broken.lost_bytes ?? 0,
      lost_tokens: tokens,
      ...(saved !== undefined && { lost_usd: (tokens * saved) / 1e6 }),
    }
  }

  #explain({ name }: Part): NonNullable<PrefixReport['broken_by']> {
    return name === 'messages' ? (this.#changed ?? 'messages') : name
  }

  #measureMessage(message: Msg): Part {
    const known = this.#known.get(message) ?? measurePart('messages', JSON.stringify(message))
    this.#known.set(message, known)
    return known
  }
}

const measurePart = (name: Part['name'], text: string): Part => ({
  name,
  digest: sha256(text),
  bytes: Buffer.byteLength(text),
})

const sum = (parts: readonly Part[]): number => parts.reduce((all, { bytes }) => all + bytes, 0)
