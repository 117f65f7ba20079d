import { AgentError } from '../base/index.js'

const MIB = 1024 * 1024
// Limits in MiB, far above real values.
const most = { answer: 64, line: 16, errorBody: 1 }
const newline = 10

/** Limits an answer: client libraries buffer without limit. */
export function limitBody(response: Response): Response {
  if (!response.body) return response
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  let [bytes, line] = [0, 0]
  // A manual reader costs a third of a piped stream.
  const counted = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value: chunk } = await reader.read()
        if (done) return controller.close()
        bytes += chunk.length
        const end = chunk.lastIndexOf(newline)
        line = end === -1 ? line + chunk.length : chunk.length - end
        const isLong = bytes > most.answer * MIB
        const passed = isLong ? `${most.answer} MiB` : line > most.line * MIB && `${most.line} MiB in one line`
        // The beginning of an error is enough.
        if (!response.ok && bytes > most.errorBody * MIB) controller.close()
        else if (!passed) return controller.enqueue(chunk)
        else
          controller.error(
            new AgentError('VT_LLM_REQUEST', `The answer is larger than any answer of a model: more than ${passed}.`),
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
