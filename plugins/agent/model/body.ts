import { AgentError } from '../base/index.js'

// An answer of a model in events, one line of it, and what a refusal may say; each far above what servers send.
const most = { answer: 64 * 1024 * 1024, line: 16 * 1024 * 1024, refusal: 1024 * 1024 }
const newline = 10

/** The same answer with an end: libraries keep what they read, however much a server sends, packed or in one line without end. */
export function bounded(response: Response): Response {
  if (!response.body) return response
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  let [bytes, line] = [0, 0]
  // A stream that is read by hand costs a third of one that is piped through another.
  const counted = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value: chunk } = await reader.read()
        if (done) return controller.close()
        bytes += chunk.length
        const end = chunk.lastIndexOf(newline)
        line = end === -1 ? line + chunk.length : chunk.length - end
        const tooMuch = bytes > most.answer || line > most.line
        // Of a refusal the status says enough.
        const enough = !response.ok && bytes > most.refusal
        if (enough) controller.close()
        else if (!tooMuch) return controller.enqueue(chunk)
        else
          controller.error(
            new AgentError(
              'VT_LLM_REQUEST',
              `The answer is larger than any answer of a model: ${bytes} bytes, and no end.`,
            ),
          )
        await reader.cancel().catch(() => {})
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  )
  const { status, statusText, headers } = response
  return new Response(counted, { status, statusText, headers })
}
