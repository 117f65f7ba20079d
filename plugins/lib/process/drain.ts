import { PassThrough, pipeline, type Readable } from 'node:stream'

/** Contract: the chunk is overwritten after the return; a promise holds the next one back until it settles. */
export type Take = (chunk: Buffer) => Promise<void> | undefined

/** A pipe as node holds it; `useUserBuffer` is there where it can be read into a buffer of ours. */
interface Pipe {
  useUserBuffer?: unknown
}

// One for all pipes: a chunk is taken before the next one of any pipe is read.
const shared = Buffer.allocUnsafeSlow(64 * 1024)

/**
 * Reads a pipe of a child, or the reading end of one that is open here, to its end. Node makes a new buffer for every chunk, and making and
 * collecting them costs more than the reading; it reads into a given buffer only for sockets that one connects oneself. So the pipe is put
 * under such a socket where node lets it be taken, and read as usual elsewhere. What is answered stands in the place of `pipe`.
 */
export function drain(pipe: Readable | number, take: Take): Readable {
  if (typeof pipe === 'number') return under({ fd: pipe })
  const owner = pipe as { _handle?: Pipe | null }
  const handle = owner._handle
  if (typeof handle?.useUserBuffer !== 'function') return readable(pipe, take)
  owner._handle = null
  return under({ handle })

  function under(source: object): Readable {
    const options: object = { ...source, readable: true, writable: false, onread: { buffer: shared, callback } }
    const socket = new (process.getBuiltinModule('node:net').Socket)(options)
    return socket.on('error', () => {}).resume()

    function callback(size: number): boolean {
      const busy = take(shared.subarray(0, size))
      void busy?.then(() => socket.resume())
      return busy === undefined
    }
  }
}

/** Node reads on once the program has ended, paused or not. Behind the pipe is a stream that it does not know: this one waits for us. */
function readable(pipe: Readable, take: Take): Readable {
  const waiting = pipeline(pipe, new PassThrough(), () => {})
  return waiting
    .on('data', (chunk: Buffer) => {
      const busy = take(chunk)
      if (!busy) return
      waiting.pause()
      void busy.then(() => waiting.resume())
    })
    .on('error', () => {})
}
