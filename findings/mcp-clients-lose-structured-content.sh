#!/usr/bin/env bash
# @ai-sdk/mcp 1.0.102 (the newest for Node 20; 2.0.99 does the same) and @langchain/mcp-adapters 1.1.4 with a server of
# @modelcontextprotocol/sdk 1.32.2: a result that has only `structuredContent` is empty for the model, and one client tells a
# failed call like a successful one.
#
# Guess: a client that lists a tool with an output schema gives its structured value to the model, and marks `isError`.
# Seen:  both clients receive the value. What the AI SDK makes for the model is a list without entries, and for a failed call a
#        text without any mark. LangChain's message for the model is an empty list too (the value stands in `artifact`, which no
#        model reads); its failed call throws. The specification only advises servers to repeat the value as text.
# Consequence here: `vtcode mcp` always sends text, also with --structured, and a failed call says its error code in the text.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts @modelcontextprotocol/sdk@1.32.2 @ai-sdk/mcp@1.0.102 \
  @langchain/mcp-adapters@1.1.4 @langchain/core@1.4.0 zod@4.6.7 >/dev/null
cat >server.mjs <<'JS'
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js'
const server = new Server({ name: 'weights', version: '1' }, { capabilities: { tools: {} } })
const inputSchema = { type: 'object', properties: {} }
const outputSchema = { type: 'object', properties: { grams: { type: 'integer' } }, required: ['grams'] }
server.setRequestHandler(ListToolsRequestSchema, () => ({
  tools: [
    { name: 'weigh', description: 'Weighs.', inputSchema, outputSchema },
    { name: 'tare', description: 'Sets to zero.', inputSchema },
  ],
}))
server.setRequestHandler(CallToolRequestSchema, ({ params: { name } }) =>
  name === 'weigh'
    ? { content: [], structuredContent: { grams: 7 } }
    : { isError: true, content: [{ type: 'text', text: 'The scale is busy.' }] },
)
await server.connect(new StdioServerTransport())
JS
cat >clients.mjs <<'JS'
import { createMCPClient } from '@ai-sdk/mcp'
import { Experimental_StdioMCPTransport } from '@ai-sdk/mcp/mcp-stdio'
import { MultiServerMCPClient } from '@langchain/mcp-adapters'
const program = { command: process.execPath, args: ['server.mjs'] }
const client = await createMCPClient({ transport: new Experimental_StdioMCPTransport(program) })
for (const [name, tool] of Object.entries(await client.tools())) {
  const output = await tool.execute({}, { toolCallId: '1', messages: [] })
  const model = await tool.toModelOutput({ output, toolCallId: '1', input: {} })
  console.log(`ai ${name}: ${JSON.stringify(output.structuredContent ?? null)} -> ${JSON.stringify(model)}`)
}
await client.close()
const other = new MultiServerMCPClient({ mcpServers: { scale: { transport: 'stdio', ...program } } })
for (const tool of await other.getTools()) {
  const told = await tool.invoke({ type: 'tool_call', id: '1', name: tool.name, args: {} }).catch((error) => error)
  console.log(`langchain ${tool.name}: ${told instanceof Error ? 'throws' : JSON.stringify([told.content, told.artifact])}`)
}
await other.close()
JS
node clients.mjs 2>/dev/null | tee seen.txt
diff seen.txt - <<'SEEN'
ai weigh: {"grams":7} -> {"type":"content","value":[]}
ai tare: null -> {"type":"content","value":[{"type":"text","text":"The scale is busy."}]}
langchain weigh: [[],[{"type":"mcp_structured_content","data":{"grams":7}}]]
langchain tare: throws
SEEN
