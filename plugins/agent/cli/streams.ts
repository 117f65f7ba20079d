import { once } from 'node:events'
import { fstatSync } from 'node:fs'
import type { Io } from '../../../core/kernel/index.js'
import type { EventSink } from '../base/index.js'

/** Writes and waits for a slow reader, but not for one that is gone. */
export async function writeAndWait(stream: NodeJS.WritableStream, text: string, signal: AbortSignal): Promise<void> {
  if (!stream.write(text) && !signal.aborted) await once(stream, 'drain', { signal }).catch(() => {})
}

/** Each event as one line of JSON. */
export const jsonEventSink = ({ stdout, signal }: Io): EventSink => (event) => writeAndWait(stdout, `${JSON.stringify(event)}\n`, signal)

/**
 * The task: the words of the command line, what was piped in, or both, the second as a block of its own. Beside words only a
 * pipeline or a file counts as piped in: a caller who merely left a socket open would be waited for without end.
 */
export async function readTask(words: readonly string[], io: Io): Promise<string> {
  const fromWords = words.filter((word) => word !== '-').join(' ').trim()
  if (fromWords !== '' && !words.includes('-') && !isPiped(io)) return fromWords
  if (fromWords === '' && io.stdin.isTTY) return ''
  const chunks: Buffer[] = []
  for await (const chunk of io.stdin) chunks.push(Buffer.from(chunk))
  const piped = Buffer.concat(chunks).toString('utf8').trim()
  if (fromWords === '' || piped === '') return fromWords || piped
  return `${fromWords}\n\n<stdin>\n${piped}\n</stdin>`
}

function isPiped({ stdin }: Io): boolean {
  const { fd } = stdin as { fd?: number }
  if (stdin.isTTY || fd === undefined) return false
  try {
    const stat = fstatSync(fd)
    return stat.isFIFO() || stat.isFile()
  } catch {
    return false
  }
}
