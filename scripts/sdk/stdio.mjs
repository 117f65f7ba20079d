// What `vtcode mcp` uses of the SDK.
export { createRequestStateCodec, inputRequired, ProtocolError, Server } from '@modelcontextprotocol/server'
export { serveStdio } from '@modelcontextprotocol/server/stdio'
