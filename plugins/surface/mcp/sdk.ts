import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { Script } from 'node:vm'
import type * as server from '@modelcontextprotocol/server'
import type * as stdio from '@modelcontextprotocol/server/stdio'
import { programFile } from '../../../core/index.js'

/** What a server needs, whatever carries its messages. */
export type Sdk = Pick<typeof server, 'createRequestStateCodec' | 'inputRequired' | 'ProtocolError' | 'Server'>
export type StdioSdk = Sdk & Pick<typeof stdio, 'serveStdio'>
export type HttpSdk = Sdk & Pick<typeof server, 'createMcpHandler' | 'isInitializeRequest' | 'isLegacyRequest' | 'WebStandardStreamableHTTPServerTransport'>

/** A part of the SDK as `scripts/bundle.mjs` made it. A code cache that is missing or of another V8 costs time, nothing else. */
export function loadSdk(part: 'stdio'): StdioSdk
export function loadSdk(part: 'http'): HttpSdk
export function loadSdk(part: string): object {
  const file = programFile(`vendor/mcp_${part}.cjs`)
  const cachedData = cache(file)
  const script = new Script(readFileSync(file, 'utf8'), { filename: file, ...(cachedData && { cachedData }) })
  const sdk = {}
  script.runInThisContext()(sdk, createRequire(import.meta.url))
  return sdk
}

function cache(file: string): Buffer | undefined {
  try {
    return readFileSync(file.replace(/cjs$/, 'cache'))
  } catch {
    return undefined
  }
}
