// A server that speaks the Model Context Protocol over its standard input and output, one message a line.
import { createInterface } from 'node:readline'

const tool = { name: 'count', description: 'Counts words.', inputSchema: { type: 'object', required: ['text'], properties: { text: { type: 'string' } } } }
const methods = {
  initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: '{{name}}', version: '0.1.0' } }),
  'tools/list': () => ({ tools: [tool] }),
  'tools/call': ({ arguments: { text } }) => ({ content: [{ type: 'text', text: `${text.split(/\s+/).filter(Boolean).length} words` }] }),
  ping: () => ({}),
}
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params = {} } = JSON.parse(line)
  if (id === undefined) continue
  const answer = methods[method] ? { result: methods[method](params) } : { error: { code: -32601, message: `Method not found: ${method}` } }
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...answer })}\n`)
}
