import type { Handle } from '../../../core/index.js'
import type { StreamLog } from '../output/log.js'

/** Bytes that can be read anywhere: a stream in memory or on disk, or a file. */
export interface StreamSource {
  readonly size: number
  read(from: number, to: number): Promise<Buffer>
}

export const ofLog = (log: StreamLog, size: number): StreamSource => ({
  size,
  read: (from, to) => log.read(from, Math.min(to, size)),
})

export const ofFile = (file: Handle): StreamSource & AsyncDisposable => ({
  size: file.stat.bytes,
  read: (from, to) => file.read(from, to - from),
  [Symbol.asyncDispose]: () => file.close(),
})

const border = Buffer.from('[stderr]\n')

/** Standard output, then standard error under its heading, as answers show them. */
export function joined(out: StreamSource, err: StreamSource): StreamSource {
  const heading: StreamSource = { size: border.length, read: async (from, to) => border.subarray(from, to) }
  return [heading, err].reduce(appended, out)
}

function appended(first: StreamSource, second: StreamSource): StreamSource {
  return {
    size: first.size + second.size,
    async read(from, to) {
      const parts = [
        from < first.size ? await first.read(from, Math.min(to, first.size)) : Buffer.alloc(0),
        to > first.size ? await second.read(Math.max(0, from - first.size), to - first.size) : Buffer.alloc(0),
      ]
      return Buffer.concat(parts)
    },
  }
}

const step = 1024 * 1024

/** A source from its start to its end; what is neither in memory nor on disk any more ends it early. */
export async function* chunks(source: StreamSource): AsyncGenerator<Buffer> {
  for (let at = 0; at < source.size;) {
    const chunk = await source.read(at, Math.min(at + step, source.size))
    if (chunk.length === 0) return
    at += chunk.length
    yield chunk
  }
}
