import type { JSONRPCMessage } from '@modelcontextprotocol/server'
import { isObject } from '../../../core/shapes/index.js'
import { serializeParams, type Front } from './front.js'
import type { Handshake, RecordedExchange } from './handshake_cache.js'

const toolsChanged = { jsonrpc: '2.0', method: 'notifications/tools/list_changed' } as const

/** Records the first requests and answers of a connection for the next start, and checks those of a front. */
export class HandshakeRecorder {
  readonly #answered: Front['answered']
  readonly #requests = new Map<unknown, { method: 'initialize' | 'tools/list'; params: string }>()
  readonly #exchanges: Partial<Record<'initialize' | 'tools/list', RecordedExchange>> = {}
  #handshake: Handshake | undefined
  #done = false

  constructor(
    front: Front | undefined,
    readonly save: (handshake: Handshake) => void,
    readonly forget: () => void,
  ) {
    this.#answered = new Map(front?.answered)
  }

  recordRequest(message: JSONRPCMessage): void {
    if (this.#done || !('method' in message)) return
    const { method } = message
    if (method === 'notifications/initialized') return
    if ((method !== 'initialize' && method !== 'tools/list') || !('id' in message) || this.#requests.size > 1)
      this.#done = this.#answered.size === 0
    else this.#requests.set(message.id, { method, params: serializeParams(message) })
  }

  /**
   * Returns the message that the client receives for an answer of the server: the answer, nothing when the front sent
   * an equal one, or the notification that the list has changed.
   */
  filterAnswer(message: JSONRPCMessage): object | undefined {
    if (this.#done || !('id' in message) || 'method' in message) return message
    const result = 'result' in message && isObject(message.result) ? JSON.stringify(message.result) : undefined
    const sent = this.#answered.get(message.id)
    if (sent) {
      this.#answered.delete(message.id)
      if (sent.result === result) return undefined
      this.forget()
      return sent.method === 'tools/list' ? toolsChanged : undefined
    }
    const request = this.#requests.get(message.id)
    if (request && result !== undefined) this.#exchanges[request.method] = { params: request.params, result }
    const { initialize, 'tools/list': list } = this.#exchanges
    if (initialize && list) this.#handshake = { initialize, list }
    return message
  }

  /** Saves the handshake after both answers are written, when the client waits for nothing. */
  saveIfComplete(): void {
    if (this.#done || !this.#handshake) return
    this.#done = true
    this.save(this.#handshake)
  }
}
