import type { JSONRPCMessage } from '@modelcontextprotocol/server'
import { isObject } from '../../../core/shapes/index.js'
import { paramsOf, type Front } from './front.js'
import type { Beginning, Exchange } from './prepared.js'

const listed = { jsonrpc: '2.0', method: 'notifications/tools/list_changed' } as const

/** Follows the first requests of a connection: tells what a front has answered already, and what the next one may say. */
export class BeginningWatch {
  readonly #answered: Front['answered']
  readonly #asked = new Map<unknown, { method: 'initialize' | 'tools/list'; params: string }>()
  readonly #had: Partial<Record<'initialize' | 'tools/list', Exchange>> = {}
  #made: Beginning | undefined
  #over = false

  constructor(
    front: Front | undefined,
    readonly keep: (beginning: Beginning) => void,
    readonly forget: () => void,
  ) {
    this.#answered = new Map(front?.answered)
  }

  asked(message: JSONRPCMessage): void {
    if (this.#over || !('method' in message)) return
    const { method } = message
    if (method === 'notifications/initialized') return
    if ((method !== 'initialize' && method !== 'tools/list') || !('id' in message) || this.#asked.size > 1)
      this.#over = this.#answered.size === 0
    else this.#asked.set(message.id, { method, params: paramsOf(message) })
  }

  /** What the client is sent for an answer of the server: itself, nothing where the client has it, that the list is another one. */
  shown(message: JSONRPCMessage): object | undefined {
    if (this.#over || !('id' in message) || 'method' in message) return message
    const result = 'result' in message && isObject(message.result) ? JSON.stringify(message.result) : undefined
    const said = this.#answered.get(message.id)
    if (said) {
      this.#answered.delete(message.id)
      if (said.result === result) return undefined
      this.forget()
      return said.method === 'tools/list' ? listed : undefined
    }
    const asked = this.#asked.get(message.id)
    if (asked && result !== undefined) this.#had[asked.method] = { params: asked.params, result }
    const { initialize, 'tools/list': list } = this.#had
    if (initialize && list) this.#made = { initialize, list }
    return message
  }

  /** After an answer has been written: what the next start may say is kept when the client waits for nothing. */
  sent(): void {
    if (this.#over || !this.#made) return
    this.#over = true
    this.keep(this.#made)
  }
}
