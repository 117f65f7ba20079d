import { once } from 'node:events'
import { fstatSync } from 'node:fs'
import { block } from '../../../core/text/index.js'
import type { Io } from '../../../core/contract/index.js'
import { formatDocument, say } from '../../lib/terminal/index.js'
import { startAlarm, type EventSink } from '../base/index.js'

/** Writes and waits for a slow reader, until the signal aborts. */
async function writeAndWait(stream: NodeJS.WritableStream, text: string, signal: AbortSignal): Promise<void> {
  if (!stream.write(text) && !signal.aborted) await once(stream, 'drain', { signal }).catch(() => {})
}

/** Creates a sink that prints each event as one line of JSON. */
export const createJsonSink =
  ({ stdout, signal }: Io): EventSink =>
  (event) =>
    writeAndWait(stdout, formatDocument(event), signal)

/** Prints each value as one line of JSON; returns the result of the generator. A slow reader does not delay the run. */
export async function printLines<T>(read: AsyncGenerator<unknown, T, void>, { stdout, signal }: Io): Promise<T> {
  for (;;) {
    const { done, value } = await read.next()
    if (done) return value
    await writeAndWait(stdout, formatDocument(value), signal)
  }
}

/**
 * Returns the task: the words of the command line, the piped text, or both with the piped text as a block. If there
 * are words, a pipe or file is read to its end. A socket is read only if data arrives at once, because it may stay
 * open without data.
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

// A parent process that writes to the socket has written by then.
const STDIN_WAIT_MS = 500

async function isPiped(io: Io): Promise<boolean> {
  const { stdin } = io
  const { fd } = stdin as { fd?: number }
  if (stdin.isTTY || fd === undefined) return false
  try {
    const stat = fstatSync(fd)
    return stat.isFIFO() || stat.isFile() || (stat.isSocket() && (await hasInput(io)))
  } catch {
    return false
  }
}

/** Returns whether data or the end arrives in time. Later data is reported as lost. */
async function hasInput(io: Io): Promise<boolean> {
  const stdin = io.stdin as NodeJS.ReadableStream & { unref?: () => void; readableEnded?: boolean }
  if (stdin.readableEnded) return false
  const over = new AbortController()
  const timer = startAlarm(STDIN_WAIT_MS, () => over.abort())
  try {
    await Promise.race([once(stdin, 'readable', { signal: over.signal }), once(stdin, 'end', { signal: over.signal })])
    return true
  } catch {
    stdin.once('data', () =>
      say(io, 'warning', 'Data on stdin arrived too late and was not read. Add `-` to the task to wait for stdin.'),
    )
    stdin.unref?.()
    return false
  } finally {
    timer.stop()
    over.abort()
  }
}
