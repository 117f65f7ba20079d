import type { Duplex } from 'node:stream'
import { toText } from '../../../core/text/index.js'
import { waitForDrain } from '../../lib/base/index.js'
import { jsonLines } from '../../lib/process/index.js'

/** The messages between program and plugin: one JSON document a line, on a pipe of their own. */
export type Frame = { t: string; [key: string]: unknown }

/** A result is at most 32 MiB; what is larger than any frame is nonsense or an attack. */
const MAX_FRAME = 48 * 1_048_576

/** What may wait to be read by the other side before anything more is made for it. */
const MAX_QUEUED = 1_048_576

/** Sends and receives frames. Contract: `take` must not throw; `broken` is called once when the other side sends an invalid frame. */
export function frames(pipe: Duplex, take: (frame: Frame) => void, broken: (reason: string) => void): FramePipe {
  let over = false
  const fail = (reason: string): void => {
    if (!over) broken(reason)
    over = true
  }
  pipe.on(
    'data',
    jsonLines(MAX_FRAME, {
      value(frame) {
        if (over) return
        try {
          take(frame as Frame)
        } catch {
          // JSON that is no frame, `null` for one.
          fail('it sent what is no message')
        }
      },
      other: () => fail('it sent what is no message'),
      tooLong: () => fail('it sent a message of more than 48 MiB'),
      parse: (line) => JSON.parse(line, marked.test(line) ? revive : undefined) as unknown,
    }),
  )
  pipe.on('error', () => {})
  return {
    send(frame) {
      // What a call ends with is plain data, errors too (`plainAnswer`); a function for each member takes as long as all the rest.
      const line = frame.t === 'done' ? JSON.stringify(frame) : JSON.stringify(withBytes(frame), tell)
      if (line.length > MAX_FRAME) throw new Error('it is larger than any message may be')
      if (pipe.writable) pipe.write(`${line}\n`)
    },
    room: () => (pipe.writableLength <= MAX_QUEUED ? undefined : waitForDrain(pipe)),
  }
}

export interface FramePipe {
  /** Throws when the frame is too large for the other side. */
  send(frame: Frame): void
  /** Resolves when the other side has read what waits for it; nothing where it may be sent more at once. */
  room(): Promise<void> | undefined
}

/** Bytes where they usually stand: JSON itself would first make a list of numbers of them. */
function withBytes(frame: Frame): Frame {
  const { value, args } = frame
  const told = (one: unknown): unknown => (one instanceof Uint8Array ? bytes(one) : one)
  return {
    ...frame,
    ...(value !== undefined && { value: told(value) }),
    ...(Array.isArray(args) && { args: args.map(told) }),
  }
}

const bytes = (raw: Uint8Array): object => ({
  $bytes: Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength).toString('base64'),
})

const marked = /"\$(?:bytes|integer)"/

/** Bytes and large integers, which JSON does not know, as one member each. */
function tell(this: unknown, key: string, value: unknown): unknown {
  const raw = (this as Record<string, unknown>)[key]
  if (raw instanceof Uint8Array) return bytes(raw)
  if (typeof value === 'bigint') return { $integer: toText(value) }
  return value
}

function revive(_: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  const { $bytes, $integer } = value as { $bytes?: unknown; $integer?: unknown }
  if (typeof $bytes === 'string' && Object.keys(value).length === 1) return Buffer.from($bytes, 'base64')
  if (typeof $integer === 'string' && /^-?\d{1,40}$/.test($integer) && Object.keys(value).length === 1)
    return BigInt($integer)
  return value
}
