import { readMessage } from './frames.js'
import { locateHandshake, readHandshake, type RecordedExchange, type HandshakeLocation } from './handshake_cache.js'

/**
 * The conversation with a client before the server started. The server receives all chunks again, but its answers to
 * the requests in `answered` are not sent.
 */
export interface Front {
  location: HandshakeLocation
  chunks: Buffer[]
  /** The results that were sent, by id of the request. */
  answered: Map<unknown, FrontAnswer>
}
export interface FrontAnswer {
  method: string
  result: string
}

/** Time that the front waits for the next bytes of a client before the server starts, in milliseconds. */
const CLIENT_WAIT_MS = 1_000
/** The longest line that a handshake may have, in UTF-16 units. */
const MAX_LINE_LENGTH = 65_536

/**
 * Answers the first two requests of a client from the cache, if nothing that the answers depend on has changed.
 * The kernel and the SDK, which take longer to load than Node, load after the client has its tools.
 * The recorder then compares the cached answers with the real ones.
 */
export default function front(): Promise<Front | undefined> {
  const location = locateHandshake(process.argv.slice(2))
  const kept = location && readHandshake(location)
  if (!location || !kept) return Promise.resolve(limitHeap(undefined))
  const { stdin, stdout } = process
  const handled: Front = { location: location, chunks: [], answered: new Map() }
  return new Promise((resolve) => {
    const pending: [method: string, exchange: RecordedExchange][] = [
      ['initialize', kept.initialize],
      ['tools/list', kept.list],
    ]
    let rest = ''
    const finish = () => {
      clearTimeout(patience)
      stdin.off('data', take).off('end', finish).off('error', finish).pause()
      resolve(limitHeap(handled))
    }
    const answer = (line: string): boolean => {
      const read = readMessage(line)
      if (!('message' in read) || !('method' in read.message)) return false
      const { message } = read
      if (message.method === 'notifications/initialized' && pending.length === 1) return true
      const [method, exchange] = pending[0]!
      if (
        message.method !== method ||
        !('id' in message) ||
        handled.answered.has(message.id) ||
        serializeParams(message) !== exchange.params
      )
        return false
      pending.shift()
      handled.answered.set(message.id, { method, result: exchange.result })
      stdout.write(`{"jsonrpc":"2.0","id":${JSON.stringify(message.id)},"result":${exchange.result}}\n`)
      return pending.length > 0
    }
    const take = (chunk: Buffer) => {
      handled.chunks.push(chunk)
      patience.refresh()
      const lines = (rest + chunk.toString('utf8')).split('\n')
      rest = lines.pop()!
      if (rest.length > MAX_LINE_LENGTH || !lines.every(answer)) finish()
    }
    const patience = setTimeout(finish, CLIENT_WAIT_MS)
    stdin.on('data', take).on('end', finish).on('error', finish)
  })
}

/**
 * Keeps the young generation of V8 at its initial size, because a server is mostly idle; else it grows to 48 MB and
 * never shrinks.
 * The flag is set after the client has its answers, because V8 rejects the code cache of Node under other flags.
 */
function limitHeap<T>(value: T): T {
  process.getBuiltinModule('node:v8').setFlagsFromString('--semi-space-growth-factor=1')
  return value
}

export const serializeParams = ({ params = {} }: { params?: unknown }): string => JSON.stringify(params)
