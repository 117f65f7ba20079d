import { pipeline, Transform, type Readable } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import type { HttpAnswer } from './send_request.js'
import { webFailure } from './failure.js'

/** Limit of announced, packed and unpacked bytes. No page needs more. */
const MAX_BYTES = 10 * 1024 * 1024
const MAX_LAYERS = 2

/**
 * Reads the first `limit` decoded bytes of a body and reports whether more followed. Memory stays within the limit
 * whatever the body unpacks to.
 */
export async function readResponseBody(
  { headers, body }: HttpAnswer,
  limit: number,
): Promise<{ bytes: Buffer; truncated: boolean }> {
  const announced = Number(takeFirst(headers['content-length']) ?? 0)
  if (announced > MAX_BYTES) throw createTooLargeError(`announces ${announced} bytes`)
  const stream = decodeBody(body, parseLayers(takeFirst(headers['content-encoding'])))
  const chunks: Buffer[] = []
  let length = 0
  try {
    for await (const chunk of stream) {
      chunks.push(chunk as Buffer)
      length += (chunk as Buffer).length
      if (length > limit) break
    }
  } finally {
    body.destroy()
  }
  return { bytes: Buffer.concat(chunks).subarray(0, limit), truncated: length > limit }
}

export const takeFirst = (value: string | string[] | undefined): string | undefined =>
  Array.isArray(value) ? value[0] : value

function parseLayers(encoding = ''): string[] {
  const layers = encoding
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '' && name !== 'identity')
  if (layers.length > MAX_LAYERS)
    throw webFailure(
      'VT_WEB_TYPE',
      `The body is packed ${layers.length} times; at most ${MAX_LAYERS} layers are unpacked.`,
    )
  return layers
}

function decodeBody(body: HttpAnswer['body'], layers: string[]): Readable {
  // Every stage is limited, because a middle layer may expand most.
  const stages = layers.reverse().flatMap((name) => [unpack(name), createByteLimiter()])
  return pipeline([body as unknown as Readable, createByteLimiter(), ...stages], () => {}) as unknown as Readable
}

/** Creates a stream that fails once it passed more bytes than any page needs. */
function createByteLimiter(): Transform {
  let length = 0
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      length += chunk.length
      if (length > MAX_BYTES) done(createTooLargeError(`sends more than ${MAX_BYTES} bytes`))
      else done(null, chunk)
    },
  })
}

function unpack(name: string): Transform {
  if (name === 'gzip' || name === 'x-gzip') return createGunzip()
  if (name === 'br') return createBrotliDecompress()
  if (name === 'deflate') return createInflate()
  throw webFailure(
    'VT_WEB_TYPE',
    `The body has the compression '${name.slice(0, 40)}'; gzip, deflate and br are supported.`,
  )
}

const createTooLargeError = (what: string) =>
  webFailure('VT_WEB_TOO_LARGE', `The page ${what}; the limit is ${MAX_BYTES}.`)
