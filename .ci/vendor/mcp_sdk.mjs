// What the `mcp` surface uses of the SDK. The schemas are read without generated code: compiling it costs more than one connection gains.
import { config } from 'zod/v4/core'

config({ jitless: true })

export { inputRequired, ProtocolError, Server } from '@modelcontextprotocol/server'
export { serveStdio } from '@modelcontextprotocol/server/stdio'
