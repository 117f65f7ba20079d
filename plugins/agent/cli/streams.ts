import { once } from 'node:events'
import { fstatSync } from 'node:fs'
import { block } from '../../../core/text/index.js'
import type { Io } from '../../../core/contract/index.js'
import { formatDocument, say } from '../../lib/terminal/index.js'
import { alarm, type EventSink } from '../base/index.js'

/** Writes and waits for a slow reader, but not for one that is gone. */
async function writeAndWait(stream: NodeJS.WritableStream, text: string, signal: AbortSignal): Promise<void> {
  if (!stream.write(text) && !signal.aborted) await once(stream, 'drain', { signal }).catch(() => {})
}

/** Each event as one line of JSON. */
export const jsonEventSink =
  ({ stdout, signal }: Io): EventSink =>
  (event) =>
    writeAndWait(stdout, formatDocument(event), signal)

/** What is read, each as one line of JSON; returns what it comes to. Who reads these lines slowly does not hold up the run. */
export async function printLines<T>(read: AsyncGenerator<unknown, T, void>, { stdout, signal }: Io): Promise<T> {
  for (;;) {
    const { done, value } = await read.next()
    if (done) return value
    await writeAndWait(stdout, formatDocument(value), signal)
  }
}

/**
 * The task: the words of the command line, what was piped in, or both, the second as a block of its own. Beside words a pipeline or a
 * file is read to its end, and a socket where something comes at once: a caller who merely left one open would be waited for without end.
 */
export async function readTask(words: readonly string[], io: Io): Promise<string> {
  const fromWords = words
    .filter((word) => word !== '-')
    .join(' ')
    .trim()
  if (fromWords !== '' && !words.includes('-') && !(await isPiped(io))) return fromWords
  if (fromWords === '' && io.stdin.isTTY) return ''
  const chunks: Buffer[] = []
  for await (const chunk of io.stdin) chunks.push(Buffer.from(chunk))
  const piped = Buffer.concat(chunks).toString('utf8').trim()
  if (fromWords === '' || piped === '') return fromWords || piped
  return `${fromWords}\n\n${block('stdin', piped)}`
}

// A program that writes to the socket it started us with has done so by then.
const patience_ms = 500

async function isPiped(io: Io): Promise<boolean> {
  const { stdin } = io
  const { fd } = stdin as { fd?: number }
  if (stdin.isTTY || fd === undefined) return false
  try {
    const stat = fstatSync(fd)
    return stat.isFIFO() || stat.isFile() || (stat.isSocket() && (await speaks(io)))
  } catch {
    return false
  }
}

/** Whether something comes, or the end. What comes later is said to be lost, and nobody is kept waiting for it. */
async function speaks(io: Io): Promise<boolean> {
  const stdin = io.stdin as NodeJS.ReadableStream & { unref?: () => void; readableEnded?: boolean }
  if (stdin.readableEnded) return false
  const over = new AbortController()
  const timer = alarm(patience_ms, () => over.abort())
  try {
    await Promise.race([once(stdin, 'readable', { signal: over.signal }), once(stdin, 'end', { signal: over.signal })])
    return true
  } catch {
    stdin.once('data', () =>
      say(io, 'warning', 'What came on stdin came too late and was not read; say `-` beside the task to wait for it.'),
    )
    stdin.unref?.()
    return false
  } finally {
    timer.stop()
    over.abort()
  }
}
