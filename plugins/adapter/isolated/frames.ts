import type { Duplex } from 'node:stream'
import { toText } from '../../../core/text/index.js'
import { waitForDrain } from '../../lib/base/index.js'
import { createJsonLineReader } from '../../lib/process/index.js'

/** A message between program and plugin: one JSON document a line, on a separate pipe. */
export type Frame = { t: string; [key: string]: unknown }

/** Results are at most 32 MiB; a larger frame is an error or an attack. */
const MAX_FRAME_BYTES = 48 * 1_048_576

/** Bytes that may wait for the other side; beyond them no new answer is made. */
const MAX_QUEUED_BYTES = 1_048_576

/**
 * Sends and receives frames. `take` must not throw; `broken` is called once, when the other side sends an invalid
 * frame.
 */
export function openFramePipe(pipe: Duplex, take: (frame: Frame) => void, broken: (reason: string) => void): FramePipe {
  let over = false
  const fail = (reason: string): void => {
    if (!over) broken(reason)
    over = true
  }
  pipe.on(
    'data',
    createJsonLineReader(MAX_FRAME_BYTES, {
      value(frame) {
        if (over) return
        try {
          take(frame as Frame)
        } catch {
          // Valid JSON can still be no frame, for example `null`.
          fail('it sent what is no message')
        }
      },
      other: () => fail('it sent what is no message'),
      tooLong: () => fail('it sent a message of more than 48 MiB'),
      parse: (line) => JSON.parse(line, MARKED_MEMBER.test(line) ? decodeMember : undefined) as unknown,
    }),
  )
  pipe.on('error', () => {})
  return {
    send(frame) {
      // The result of a call is plain data already (`copyAnswer`). A replacer would double the time.
      const line = frame.t === 'done' ? JSON.stringify(frame) : JSON.stringify(wrapTopLevelBytes(frame), encodeMember)
      if (line.length > MAX_FRAME_BYTES) throw new Error('it is larger than any message may be')
      if (pipe.writable) pipe.write(`${line}\n`)
    },
    room: () => (pipe.writableLength <= MAX_QUEUED_BYTES ? undefined : waitForDrain(pipe)),
  }
}

export interface FramePipe {
  /** Throws when the frame is too large for the other side. */
  send(frame: Frame): void
  /** Resolves when the other side has read the waiting frames. Returns nothing where more may be sent at once. */
  room(): Promise<void> | undefined
}

/** Wraps bytes in the usual places; otherwise JSON would first turn them into a list of numbers. */
function wrapTopLevelBytes(frame: Frame): Frame {
  const { value, args } = frame
  const encodeBytes = (one: unknown): unknown => (one instanceof Uint8Array ? wrapBytes(one) : one)
  return {
    ...frame,
    ...(value !== undefined && { value: encodeBytes(value) }),
    ...(Array.isArray(args) && { args: args.map(encodeBytes) }),
  }
}

const wrapBytes = (raw: Uint8Array): object => ({
  $bytes: Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength).toString('base64'),
})

const MARKED_MEMBER = /"\$(?:bytes|integer)"/

/** Encodes bytes and large integers, which JSON does not have, as one member each. */
function encodeMember(this: unknown, key: string, value: unknown): unknown {
  const raw = (this as Record<string, unknown>)[key]
  if (raw instanceof Uint8Array) return wrapBytes(raw)
  if (typeof value === 'bigint') return { $integer: toText(value) }
  return value
}

function decodeMember(_: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  const { $bytes, $integer } = value as { $bytes?: unknown; $integer?: unknown }
  if (typeof $bytes === 'string' && Object.keys(value).length === 1) return Buffer.from($bytes, 'base64')
  if (typeof $integer === 'string' && /^-?\d{1,40}$/.test($integer) && Object.keys(value).length === 1)
    return BigInt($integer)
  return value
}
