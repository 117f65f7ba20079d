import { sha256 } from '../../../core/system/index.js'
import { redactValues } from '../../../core/text/index.js'
import { toCanonicalJson } from '../../../core/trust/index.js'
import type { AgentSettings, Msg, RequestDigest } from '../base/index.js'
import { toCallOptions, type ModelRequest } from '../model/index.js'
import type { Model } from '../providers/index.js'
import { redactMessage } from '../session/index.js'

/**
 * A request in comparable form: each part that the client library gets, as JSON with sorted keys. Secrets are redacted,
 * images are their digests, and the id of the session is left out, since a copy of a session has another one.
 */
export interface CanonicalRequest {
  prompt: string
  tools: string
  options: string
  messages: string[]
}

/** Messages do not change, so each is redacted once. */
const redacted = new WeakMap<Msg, Msg>()
const redactOnce = (message: Msg): Msg => {
  const known = redacted.get(message) ?? redactMessage(message)
  redacted.set(message, known)
  return known
}

/** The canonical parts of the last request: the next one has most of them too. */
export class PartCache {
  #texts = new Map<string, string>()

  convert(parts: readonly unknown[]): string[] {
    const texts = new Map<string, string>()
    const found = parts.map((part) => {
      const json = JSON.stringify(part)
      const text = this.#texts.get(json) ?? toText(JSON.parse(json))
      texts.set(json, text)
      return text
    })
    this.#texts = texts
    return found
  }
}

const toText = (value: unknown): string => redactValues(toCanonicalJson(value))

/** Converts a request to its canonical form. */
export function toCanonicalRequest(model: Model, request: ModelRequest, cache = new PartCache()): CanonicalRequest {
  const { images } = request
  const { prompt, tools, ...options } = toCallOptions(model, {
    ...request,
    session_id: '',
    messages: request.messages.map(redactOnce),
    ...(images && {
      images: new Map([...images].map(([digest, image]) => [digest, 'data' in image ? { data: digest } : image])),
    }),
  })
  const [system, ...messages] = prompt
  const parts = [system, tools ?? [], { ...options, model: model.id }, ...messages]
  const [promptText, toolsText, optionsText, ...texts] = cache.convert(parts)
  return { prompt: promptText!, tools: toolsText!, options: optionsText!, messages: texts }
}

/** The first 66 bits of a SHA-256 as base64url. */
export const toShortDigest = (text: string): string =>
  Buffer.from(sha256(text), 'hex').toString('base64url').slice(0, 11)

/** Makes the digests of requests for the journal. Messages that the request before had are counted, not repeated. */
export class RequestRecorder {
  #last: readonly string[] = []
  #options: string | undefined
  readonly #cache = new PartCache()

  record(
    request: ModelRequest,
    { model, settings, window }: { model: Model; settings: Pick<AgentSettings, 'agent'>; window: number },
  ): RequestDigest {
    const { prompt, tools, options, messages } = toCanonicalRequest(model, request, this.#cache)
    const digests = messages.map(toShortDigest)
    const different = this.#last.findIndex((digest, at) => digests[at] !== digest)
    const kept = different < 0 ? this.#last.length : different
    this.#last = digests
    const isNew = options !== this.#options
    this.#options = options
    const { reasoning_effort: effort, without_calls } = request
    return {
      prompt: toShortDigest(prompt),
      tools: toShortDigest(tools),
      ...(isNew && { options }),
      kept,
      messages: digests.slice(kept),
      ...(window < Infinity && { window }),
      ...(effort !== undefined && effort !== settings.agent.reasoning_effort && { effort }),
      ...(without_calls && { without_calls }),
      ...(request.tools.length === 0 && { no_tools: true }),
      ...(!request.images && { no_images: true }),
    }
  }
}
