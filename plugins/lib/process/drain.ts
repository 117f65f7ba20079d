import { PassThrough, pipeline, type Readable } from 'node:stream'

/** Contract: the chunk is overwritten after the return. A promise delays the next chunk until it settles. */
export type Take = (chunk: Buffer) => Promise<void> | undefined

/** A pipe as Node keeps it. `useUserBuffer` exists if the pipe can be read into a given buffer. */
interface Pipe {
  useUserBuffer?: unknown
}

// One buffer for all pipes: each chunk is consumed before the next one of any pipe.
const shared = Buffer.allocUnsafeSlow(64 * 1024)

/**
 * Reads a pipe of a child, or an open reading end, to its end. Creating and collecting a buffer per chunk costs more
 * than reading. Node reads into a given buffer only for client sockets, so the pipe is moved under such a socket where
 * Node allows this. Returns the stream that replaces `pipe`.
 */
export function drain(pipe: Readable | number, take: Take): Readable {
  if (typeof pipe === 'number') return readUnderSocket({ fd: pipe })
  const owner = pipe as { _handle?: Pipe | null }
  const handle = owner._handle
  if (typeof handle?.useUserBuffer !== 'function') return readAsStream(pipe, take)
  owner._handle = null
  return readUnderSocket({ handle })

  function readUnderSocket(source: object): Readable {
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

/**
 * Reads a pipe as a stream. Node drains a pipe of an ended program even when paused, so a second stream holds the data
 * until the consumer is ready.
 */
function readAsStream(pipe: Readable, take: Take): Readable {
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
