import { pipeline, Transform, type Readable } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import type { HttpAnswer } from './connect.js'
import { webFailure } from './failure.js'

/** No page needs more; what announces more, or sends more to say less, is refused. */
const mostBytes = 10 * 1024 * 1024
const mostLayers = 2

/** The first `limit` decoded bytes of a body, and whether there was more. Memory stays at the limit, whatever the body unpacks to. */
export async function readResponseBody(
  { headers, body }: HttpAnswer,
  limit: number,
): Promise<{ bytes: Buffer; truncated: boolean }> {
  const announced = Number(one(headers['content-length']) ?? 0)
  if (announced > mostBytes) throw tooLarge(`announces ${announced} bytes`)
  const stream = decoded(body, layersOf(one(headers['content-encoding'])))
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

export const one = (value: string | string[] | undefined): string | undefined =>
  Array.isArray(value) ? value[0] : value

function layersOf(encoding = ''): string[] {
  const layers = encoding
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '' && name !== 'identity')
  if (layers.length > mostLayers)
    throw webFailure(
      'VT_WEB_TYPE',
      `The body is packed ${layers.length} times; at most ${mostLayers} layers are unpacked.`,
    )
  return layers
}

function decoded(body: HttpAnswer['body'], layers: string[]): Readable {
  // Every stage is counted: a layer in the middle may be what swells.
  const stages = layers.reverse().flatMap((name) => [unpack(name), counted()])
  return pipeline([body as unknown as Readable, counted(), ...stages], () => {}) as unknown as Readable
}

/** Passes what comes until it is more than any page. */
function counted(): Transform {
  let length = 0
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      length += chunk.length
      if (length > mostBytes) done(tooLarge(`sends more than ${mostBytes} bytes`))
      else done(null, chunk)
    },
  })
}

function unpack(name: string): Transform {
  if (name === 'gzip' || name === 'x-gzip') return createGunzip()
  if (name === 'br') return createBrotliDecompress()
  if (name === 'deflate') return createInflate()
  throw webFailure('VT_WEB_TYPE', `The body is packed as '${name.slice(0, 40)}'; gzip, deflate and br are unpacked.`)
}

const tooLarge = (what: string) => webFailure('VT_WEB_TOO_LARGE', `The page ${what}; the limit is ${mostBytes}.`)
