// What `vtcode mcp --http` uses of the SDK.
export {
  createMcpHandler,
  createRequestStateCodec,
  inputRequired,
  isInitializeRequest,
  isLegacyRequest,
  ProtocolError,
  Server,
  UriTemplate,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server'
