import { AgentError } from './errors.js'

/** Returns the text of an answer that is small by nature. Throws VT_LLM_REQUEST for a larger one. */
export async function readLimited(response: Response, max_bytes: number): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    if ((bytes += chunk.length) > max_bytes)
      throw new AgentError('VT_LLM_REQUEST', `The answer is larger than ${max_bytes} bytes.`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
