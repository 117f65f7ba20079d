#!/usr/bin/env bash
# rulesync 17.0.0, `convert` of MCP servers: a reference to a variable changes for a tool that reads the old form, and stays for tools that do not.
#
# Guess: VS Code and Cursor both write `${env:TOKEN}`, so from one to the other and back nothing changes; for a tool that writes `${TOKEN}`,
#   such as Claude Code, the reference is rewritten.
# Seen:  from Cursor to VS Code `${env:TOKEN}` becomes `${TOKEN}`, a form that VS Code does not have. From VS Code to Claude Code it stays
#        `${env:TOKEN}`, a form that Claude Code does not have, like `${input:key}`, and the list `inputs` is gone. So the way from
#        VS Code to Cursor and back changes the header. Each run ends with exit code 0 and no warning. A server would get the reference
#        itself as its token.
# Consequence here: none, the entries that plugins/surface/setup/clients.ts writes for these tools refer to no variable of the environment.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export HOME=$work
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts rulesync@17.0.0 >/dev/null 2>&1
mkdir -p project/.vscode
cd project
cat >.vscode/mcp.json <<'JSON'
{
  "servers": {
    "a": { "type": "stdio", "command": "server-a", "env": { "TOKEN": "${env:TOKEN}", "KEY": "${input:key}" } },
    "b": { "type": "http", "url": "https://b.example/mcp", "headers": { "Authorization": "Bearer ${env:TOKEN}" } }
  },
  "inputs": [{ "id": "key", "type": "promptString", "password": true }]
}
JSON
convert() { ../node_modules/.bin/rulesync convert --from "$1" --to "$2" --features mcp --silent; }
list() { echo "$1: $(grep -o '"[^"]*${[^"]*"' "$1" | tr '\n' ' ')"; }
{
  list .vscode/mcp.json
  convert copilot cursor,claudecode
  list .mcp.json
  list .cursor/mcp.json
  rm .vscode/mcp.json
  convert cursor copilot
  list .vscode/mcp.json
  grep -c '"inputs"' .mcp.json .cursor/mcp.json .vscode/mcp.json || true
} | tee ../seen.txt
diff ../seen.txt - <<'SEEN'
.vscode/mcp.json: "${env:TOKEN}" "${input:key}" "Bearer ${env:TOKEN}" 
.mcp.json: "${env:TOKEN}" "${input:key}" "Bearer ${env:TOKEN}" 
.cursor/mcp.json: "${env:TOKEN}" "${input:key}" "Bearer ${env:TOKEN}" 
.vscode/mcp.json: "${TOKEN}" "${input:key}" "Bearer ${TOKEN}" 
.mcp.json:0
.cursor/mcp.json:0
.vscode/mcp.json:0
SEEN
