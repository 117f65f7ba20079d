import type * as server from '@modelcontextprotocol/server'
import type * as stdio from '@modelcontextprotocol/server/stdio'
import { load, programFile } from '../../../core/system/index.js'

/** The parts of the SDK that a server needs with any transport. */
export type Sdk = Pick<typeof server, 'createRequestStateCodec' | 'inputRequired' | 'ProtocolError' | 'Server'>
export type StdioSdk = Sdk & Pick<typeof stdio, 'serveStdio'>
export type HttpSdk = Sdk &
  Pick<
    typeof server,
    'createMcpHandler' | 'isInitializeRequest' | 'isLegacyRequest' | 'WebStandardStreamableHTTPServerTransport'
  >

/** Returns the part of the SDK that `scripts/bundle.mjs` made for this transport. */
export function loadSdk(part: 'stdio'): StdioSdk
export function loadSdk(part: 'http'): HttpSdk
export function loadSdk(part: string): object {
  return load(programFile(`vendor/mcp_${part}.cjs`))
}
