import type { InitializeRequest } from '@agentclientprotocol/sdk'
import { createInitializeResponse } from './capabilities.js'

/**
 * The conversation with an editor before the kernel was loaded. The server receives all chunks again, but its answer to
 * the request `answered` is not sent.
 */
export interface AcpFront {
  chunks: Buffer[]
  answered: string | number | undefined
}

/** Time that the front waits for the next bytes of an editor before the server starts, in milliseconds. */
const CLIENT_WAIT_MS = 1_000
/** The longest line that the front reads, in UTF-16 units. */
const MAX_LINE_LENGTH = 65_536

/** Answers `initialize` before the kernel and the SDK are loaded, which takes longer than the start of Node. */
export default function front(): Promise<AcpFront | undefined> {
  if (process.argv.length !== 3) return Promise.resolve(undefined)
  const { stdin, stdout } = process
  const handled: AcpFront = { chunks: [], answered: undefined }
  return new Promise((resolve) => {
    let text = ''
    const finish = () => {
      clearTimeout(patience)
      stdin.off('data', take).off('end', finish).off('error', finish).pause()
      resolve(handled)
    }
    const take = (chunk: Buffer) => {
      handled.chunks.push(chunk)
      text += chunk.toString('latin1')
      const end = text.indexOf('\n')
      if (end < 0 && text.length <= MAX_LINE_LENGTH) return void patience.refresh()
      const line = Buffer.from(text.slice(0, Math.max(end, 0)), 'latin1').toString('utf8')
      const request = line.length <= MAX_LINE_LENGTH ? readInitialize(line) : undefined
      if (request) {
        handled.answered = request.id
        stdout.write(
          `${JSON.stringify({ jsonrpc: '2.0', id: request.id, result: createInitializeResponse(request.params) })}\n`,
        )
      }
      finish()
    }
    const patience = setTimeout(finish, CLIENT_WAIT_MS)
    stdin.on('data', take).on('end', finish).on('error', finish)
  })
}

/** Reads an `initialize` request of a usual form. The SDK checks and answers every other line. */
export function readInitialize(line: string): { id: string | number; params: InitializeRequest } | undefined {
  try {
    const { jsonrpc, id, method, params } = JSON.parse(line) as Record<string, any>
    const isId = typeof id === 'string' || Number.isSafeInteger(id)
    if (jsonrpc !== '2.0' || method !== 'initialize' || !isId || !isUsual(params)) return undefined
    return { id, params }
  } catch {
    return undefined
  }
}

function isUsual(params: any): params is InitializeRequest {
  const { protocolVersion: asked, clientInfo, clientCapabilities: can } = params ?? {}
  return (
    Number.isInteger(asked) &&
    asked >= 0 &&
    asked <= 65_535 &&
    (clientInfo === undefined || (typeof clientInfo?.name === 'string' && typeof clientInfo?.version === 'string')) &&
    (can === undefined || (typeof can === 'object' && can !== null && !Array.isArray(can)))
  )
}
