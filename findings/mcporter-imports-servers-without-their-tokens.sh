#!/usr/bin/env bash
# mcporter 0.12.3: servers that it imports from the files of Cursor, VS Code and Codex are called without their tokens, or with the reference
# to the token as the token, and a server that Codex has switched off is called too.
#
# Guess: an imported server gets the same headers from mcporter as from the program whose file names it.
# Seen:  a server of its own logs the headers. Cursor's and VS Code's `Bearer ${env:TOKEN}` arrive as these letters, though TOKEN is set; of
#        the forms of a reference mcporter fills in `${TOKEN}` and `$env:TOKEN`. Of a table of Codex `bearer_token_env_var`,
#        `http_headers` and `env_http_headers` are dropped, so the request has no header at all. `enabled = false` is not read: the
#        server is listed with its tools. Each run ends with exit code 0 and without a warning.
# Consequence here: none, servers come from settings of this project alone.
set -euo pipefail
work=$(mktemp -d)
trap 'kill "${server:-}" 2>/dev/null || true; rm -rf "$work"' EXIT
cd "$work"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts mcporter@0.12.3 >/dev/null 2>&1
export HOME=$work/home
mkdir -p home project/.cursor project/.vscode project/.codex project/config
cat >server.mjs <<'JS'
import { appendFileSync } from 'node:fs'
import { createServer } from 'node:http'
const results = {
  initialize: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'log', version: '1' } },
  'tools/list': { tools: [{ name: 'look', inputSchema: { type: 'object' } }] },
}
const server = createServer(async (request, response) => {
  let body = ''
  for await (const chunk of request) body += chunk
  const { id, method } = body === '' ? {} : JSON.parse(body)
  const { url, headers } = request
  if (method === 'tools/list') appendFileSync('seen.txt', `${url} authorization: ${headers.authorization}, x-team: ${headers['x-team']}\n`)
  if (!(method in results)) return response.writeHead(request.method === 'POST' ? 202 : 405).end()
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id, result: results[method] }))
})
server.listen(0, '127.0.0.1', () => appendFileSync('port.txt', `${server.address().port}\n`))
JS
node server.mjs &
server=$!
until [ -s port.txt ]; do sleep 0.1; done
url="http://127.0.0.1:$(cat port.txt)"
cd project
cat >.cursor/mcp.json <<JSON
{ "mcpServers": { "cursor": { "url": "$url/cursor", "headers": { "Authorization": "Bearer \${env:TOKEN}", "X-Team": "\${TOKEN}" } } } }
JSON
cat >.vscode/mcp.json <<JSON
{ "servers": { "vscode": { "type": "http", "url": "$url/vscode", "headers": { "Authorization": "Bearer \${env:TOKEN}" } } } }
JSON
cat >.codex/config.toml <<TOML
[mcp_servers.codex]
url = "$url/codex"
bearer_token_env_var = "TOKEN"
http_headers = { X-Team = "blue" }
[mcp_servers.off]
url = "$url/off"
enabled = false
TOML
echo '{ "mcpServers": {}, "imports": ["cursor", "vscode", "codex"] }' >config/mcporter.json
for name in cursor vscode codex off; do TOKEN=t1 ../node_modules/.bin/mcporter list "$name" --json >/dev/null 2>&1; done
cat ../seen.txt
diff ../seen.txt - <<'SEEN'
/cursor authorization: Bearer ${env:TOKEN}, x-team: t1
/vscode authorization: Bearer ${env:TOKEN}, x-team: undefined
/codex authorization: undefined, x-team: undefined
/off authorization: undefined, x-team: undefined
SEEN
