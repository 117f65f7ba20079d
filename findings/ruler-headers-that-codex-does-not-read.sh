#!/usr/bin/env bash
# @intellectronica/ruler 0.3.44 with @openai/codex 0.171.0: the headers of a server are written under a name that Codex passes over.
#
# Guess: after `ruler apply` each listed agent knows the server with its headers, Codex as well as Claude Code.
# Seen:  .mcp.json for Claude Code has the header. .codex/config.toml has a table `headers` and `type = "remote"`; Codex reads
#        `http_headers` only, lists the server as enabled with no headers, and ends with exit code 0, as does ruler. So its requests lack
#        the header. With the table renamed to `http_headers` Codex has the header.
# Consequence here: none, `vtcode setup codex` adds a server with a command only; servers shared through ruler need `http_headers` by hand.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts @intellectronica/ruler@0.3.44 @openai/codex@0.171.0 >/dev/null 2>&1
export HOME=$work
mkdir -p project/.ruler
cd project
echo 'Be brief.' >.ruler/AGENTS.md
cat >.ruler/ruler.toml <<'TOML'
default_agents = ["claude", "codex"]
[mcp_servers.docs]
url = "https://docs.example/mcp"
[mcp_servers.docs.headers]
X-Team = "blue"
TOML
../node_modules/.bin/ruler apply --no-gitignore >/dev/null 2>&1
list() {
  CODEX_HOME=$PWD/.codex ../node_modules/.bin/codex mcp list --json 2>/dev/null |
    node -e 'const [{ enabled, transport }] = JSON.parse(require("fs").readFileSync(0)); console.log("codex:", enabled, transport.url, JSON.stringify(transport.http_headers))'
}
{
  node -p '"claude: " + JSON.stringify(JSON.parse(require("fs").readFileSync(".mcp.json")).mcpServers.docs.headers)'
  sed -n 's/^ *\(\[.*\)/ruler: \1/p' .codex/config.toml
  list
  sed -i 's/docs\.headers/docs.http_headers/' .codex/config.toml
  list
} | tee ../seen.txt
diff ../seen.txt - <<'SEEN'
claude: {"X-Team":"blue"}
ruler: [mcp_servers.docs]
ruler: [mcp_servers.docs.headers]
codex: true https://docs.example/mcp null
codex: true https://docs.example/mcp {"X-Team":"blue"}
SEEN
