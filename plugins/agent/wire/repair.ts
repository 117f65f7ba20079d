import { AnthropicRepair } from './anthropic_repair.js'
import { ChatRepair } from './chat_repair.js'
import { DONE, formatEvent, parseEvents, splitEvents } from './events.js'
import { GeminiRepair } from './gemini_repair.js'
import type { Repair } from './repair_types.js'
import { ResponsesRepair } from './responses_repair.js'

const repairs: Readonly<Record<string, () => Repair>> = {
  'openai-chat': () => new ChatRepair(),
  'openai-responses': () => new ResponsesRepair(),
  'anthropic-messages': () => new AnthropicRepair(),
  'google-generative-ai': () => new GeminiRepair(),
}

/** The most that is read after the end of an answer, so that its connection can serve the next request. */
const MAX_DRAINED_BYTES = 64 * 1024

/**
 * Repairs a streamed answer of status 200 for the client library. Client libraries check each event against a schema
 * and give an answer up for a detail; servers differ in details. Other answers stay unchanged.
 */
export function repairAnswer(response: Response, format: string, url: string, request: unknown): Response {
  const isStreamed =
    url.includes(':streamGenerateContent') || (typeof request === 'string' && /"stream":\s*true/.test(request))
  const create = repairs[format]
  if (!isStreamed || !create || !response.ok || !response.body) return response
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  const texts = repairEvents(readChunks(reader), create())
  const encoder = new TextEncoder()
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await texts.next()
        if (!done) return controller.enqueue(encoder.encode(value))
        controller.close()
        void drain(reader)
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  )
  return new Response(body, {
    headers: { ...Object.fromEntries(response.headers), 'content-type': 'text/event-stream' },
  })
}

async function* repairEvents(chunks: AsyncIterable<Uint8Array>, repair: Repair): AsyncGenerator<string> {
  for await (const batch of splitEvents(chunks)) {
    let text = ''
    for (const datum of batch) {
      const isDone = datum.trim() === DONE
      const events = isDone ? repair.finish() : parseEvents(datum).flatMap((event) => repair.repair(event))
      text += events.map(formatEvent).join('')
      if (!isDone && !repair.ended) continue
      yield `${text}data: ${DONE}\n\n`
      return
    }
    if (text !== '') yield text
  }
}

/** Reads chunks without closing the reader, which is drained later. */
async function* readChunks(reader: ReadableStreamDefaultReader<Uint8Array>): AsyncGenerator<Uint8Array> {
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    yield value
  }
}

/** Reads the rest of a response and cancels it if that is long. */
async function drain(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
  try {
    for (let bytes = 0; ;) {
      const { done, value } = await reader.read()
      if (done) return
      bytes += value.length
      if (bytes > MAX_DRAINED_BYTES) return await reader.cancel()
    }
  } catch {
    // The answer is complete, whatever breaks now.
  }
}
