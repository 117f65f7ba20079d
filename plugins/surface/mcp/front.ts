import { readMessage } from './frames.js'
import { placeOf, readBeginning, type Exchange, type BeginningPlace } from './prepared.js'

/** What was said to a client before the server was there. All that it sent is given to the server, whose answers to `answered` the client has. */
export interface Front {
  place: BeginningPlace
  chunks: Buffer[]
  /** By the id of a request, the result that it was answered with. */
  answered: Map<unknown, FrontAnswer>
}
export interface FrontAnswer {
  method: string
  result: string
}

/** How long the server is not started while a client takes its time, in milliseconds. */
const PATIENCE = 1_000
/** More than this is no beginning of a conversation. */
const LONGEST = 65_536

/**
 * Answers the first two requests of a client as they were answered before, while nothing that they depend on has changed: the kernel
 * and the SDK, which take longer to load than Node, are loaded when the client has its tools. What they would have said is compared then.
 */
export default function front(): Promise<Front | undefined> {
  const place = placeOf(process.argv.slice(2))
  const kept = place && readBeginning(place)
  if (!place || !kept) return Promise.resolve(stayingSmall(undefined))
  const { stdin, stdout } = process
  const said: Front = { place, chunks: [], answered: new Map() }
  return new Promise((resolve) => {
    const due: [method: string, exchange: Exchange][] = [
      ['initialize', kept.initialize],
      ['tools/list', kept.list],
    ]
    let rest = ''
    const over = () => {
      clearTimeout(patience)
      stdin.off('data', take).off('end', over).off('error', over).pause()
      resolve(stayingSmall(said))
    }
    const answer = (line: string): boolean => {
      const read = readMessage(line)
      if (!('message' in read) || !('method' in read.message)) return false
      const { message } = read
      if (message.method === 'notifications/initialized' && due.length === 1) return true
      const [method, exchange] = due[0]!
      if (
        message.method !== method ||
        !('id' in message) ||
        said.answered.has(message.id) ||
        paramsOf(message) !== exchange.params
      )
        return false
      due.shift()
      said.answered.set(message.id, { method, result: exchange.result })
      stdout.write(`{"jsonrpc":"2.0","id":${JSON.stringify(message.id)},"result":${exchange.result}}\n`)
      return due.length > 0
    }
    const take = (chunk: Buffer) => {
      said.chunks.push(chunk)
      patience.refresh()
      const lines = (rest + chunk.toString('utf8')).split('\n')
      rest = lines.pop()!
      if (rest.length > LONGEST || !lines.every(answer)) over()
    }
    const patience = setTimeout(over, PATIENCE)
    stdin.on('data', take).on('end', over).on('error', over)
  })
}

/**
 * A server is idle for most of its life: what V8 sets aside for objects that soon die stays as small as it begins, else it grows to 48 MB and is
 * never given back. That is said once the client has its answers, because under other flags V8 does not take what Node has compiled of itself.
 */
function stayingSmall<T>(value: T): T {
  process.getBuiltinModule('node:v8').setFlagsFromString('--semi-space-growth-factor=1')
  return value
}

export const paramsOf = ({ params = {} }: { params?: unknown }): string => JSON.stringify(params)
