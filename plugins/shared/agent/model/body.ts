import { AgentError } from '../errors.js'

/** The text of an answer that is small by nature. Throws VT_LLM_REQUEST for a larger one. */
export async function limited(response: Response, most: number): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    if ((bytes += chunk.length) > most) throw new AgentError('VT_LLM_REQUEST', `The answer is larger than ${most} bytes.`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

// An answer of a model in events, one line of it, and what a refusal may say; each far above what servers send.
const most = { answer: 64 * 1024 * 1024, line: 16 * 1024 * 1024, refusal: 1024 * 1024 }
const newline = 10

/** The same answer with an end: libraries keep what they read, however much a server sends, packed or in one line without end. */
export function bounded(response: Response): Response {
  if (!response.body) return response
  let [bytes, line] = [0, 0]
  const count = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      bytes += chunk.length
      const end = chunk.lastIndexOf(newline)
      line = end === -1 ? line + chunk.length : chunk.length - end
      // Of a refusal the status says enough.
      if (!response.ok && bytes > most.refusal) return controller.terminate()
      if (bytes > most.answer || line > most.line) return controller.error(new AgentError('VT_LLM_REQUEST', `The answer is larger than any answer of a model: ${bytes} bytes, and no end.`))
      controller.enqueue(chunk)
    },
  })
  const { status, statusText, headers } = response
  return new Response(response.body.pipeThrough(count), { status, statusText, headers })
}
