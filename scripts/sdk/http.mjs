// What `vtcode mcp --http` uses of the SDK.
export {
  createMcpHandler,
  createRequestStateCodec,
  inputRequired,
  isInitializeRequest,
  isLegacyRequest,
  ProtocolError,
  Server,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server'
