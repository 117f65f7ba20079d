#!/usr/bin/env bash
# @modelcontextprotocol/sdk 1.32.2 and @modelcontextprotocol/client and /server 2.4.0: a server of the SDK accepts a result of its tool
# that each client of the SDK refuses.
#
# Guess: a result that the server checked against the output schema of its tool, and sent, passes the check of the client.
# Seen:  the tool declares `z.object({ grams })` and returns one more member, as a row of a database does. The server's check takes it
#        and sends it unchanged, with the extra member. The schema that the server lists says `additionalProperties: false`, and
#        clients of both versions throw -32602 in all four pairs: the call has run, and its caller sees a failure. A client that has not
#        listed the tools first gets the result, for it has no schema to check. With `z.looseObject` each pair passes.
# Consequence here: plugins/adapter/mcp_tools/tool_result.ts takes structured results unchanged and checks no output schema of a server.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts @modelcontextprotocol/sdk@1.32.2 @modelcontextprotocol/client@2.4.0 \
  @modelcontextprotocol/server@2.4.0 zod@4.6.7 >/dev/null
write_server() {
  cat >"$1" <<JS
import { McpServer } from '$2'
import { StdioServerTransport } from '$3'
import { z } from 'zod'
const server = new McpServer({ name: 'scale', version: '1' })
const weigh = () => ({ content: [{ type: 'text', text: '7' }], structuredContent: { grams: 7, row: 1 } })
server.registerTool('weigh', { outputSchema: z.object({ grams: z.number() }) }, weigh)
server.registerTool('weigh loosely', { outputSchema: z.looseObject({ grams: z.number() }) }, weigh)
await server.connect(new StdioServerTransport())
JS
}
write_server server1.mjs @modelcontextprotocol/sdk/server/mcp.js @modelcontextprotocol/sdk/server/stdio.js
write_server server2.mjs @modelcontextprotocol/server @modelcontextprotocol/server/stdio
cat >try.mjs <<'JS'
import { Client as Client2 } from '@modelcontextprotocol/client'
import { StdioClientTransport as Transport2 } from '@modelcontextprotocol/client/stdio'
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport as Transport1 } from '@modelcontextprotocol/sdk/client/stdio.js'
for (const server of [1, 2]) {
  for (const [version, Client, Transport] of [[1, Client1, Transport1], [2, Client2, Transport2]]) {
    const client = new Client({ name: 'kitchen', version: '1' })
    await client.connect(new Transport({ command: process.execPath, args: [`server${server}.mjs`], stderr: 'ignore' }))
    const call = (name) =>
      client.callTool({ name, arguments: {} }).then(
        ({ structuredContent }) => JSON.stringify(structuredContent),
        ({ message }) => message.replace(/^MCP error -32602: /, ''),
      )
    const unlisted = await call('weigh')
    await client.listTools()
    console.log(`server ${server}, client ${version}: ${unlisted}, then ${await call('weigh')}; loose ${await call('weigh loosely')}`)
    await client.close()
  }
}
JS
node try.mjs | tee seen.txt
diff seen.txt - <<'SEEN'
server 1, client 1: {"grams":7,"row":1}, then Structured content does not match the tool's output schema: data must NOT have additional properties; loose {"grams":7,"row":1}
server 1, client 2: {"grams":7,"row":1}, then Structured content does not match the tool's output schema: data must NOT have additional properties; loose {"grams":7,"row":1}
server 2, client 1: {"grams":7,"row":1}, then Structured content does not match the tool's output schema: data must NOT have additional properties; loose {"grams":7,"row":1}
server 2, client 2: {"grams":7,"row":1}, then Structured content does not match the tool's output schema: data must NOT have additional properties; loose {"grams":7,"row":1}
SEEN
