import type { Handle } from '../../../core/index.js'
import type { StreamLog } from '../output/log.js'

/** Bytes with random access: a stream in memory or on disk, or a file. */
export interface StreamSource {
  readonly size: number
  read(from: number, to: number): Promise<Buffer>
}

export const createLogSource = (log: StreamLog, size: number): StreamSource => ({
  size,
  read: (from, to) => log.read(from, Math.min(to, size)),
})

export const createFileSource = (file: Handle): StreamSource & AsyncDisposable => ({
  size: file.stat.bytes,
  read: (from, to) => file.read(from, to - from),
  [Symbol.asyncDispose]: () => file.close(),
})

const STDERR_HEADING = Buffer.from('[stderr]\n')

/** Joins standard output and, under its heading, standard error, as results show them. */
export function joinSources(out: StreamSource, err: StreamSource): StreamSource {
  const heading: StreamSource = {
    size: STDERR_HEADING.length,
    read: async (from, to) => STDERR_HEADING.subarray(from, to),
  }
  return [heading, err].reduce(appendSource, out)
}

function appendSource(first: StreamSource, second: StreamSource): StreamSource {
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

const CHUNK_BYTES = 1024 * 1024

/** Reads a source from start to end; ends early where bytes are neither in memory nor on disk. */
export async function* readChunks(source: StreamSource): AsyncGenerator<Buffer> {
  for (let at = 0; at < source.size;) {
    const chunk = await source.read(at, Math.min(at + CHUNK_BYTES, source.size))
    if (chunk.length === 0) return
    at += chunk.length
    yield chunk
  }
}
