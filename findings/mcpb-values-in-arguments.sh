#!/usr/bin/env bash
# @anthropic-ai/mcpb 2.1.2, `getMcpConfigForManifest`: what a user typed changes on its way into an argument.
#
# Expected: `--x=${user_config.x}` gets the value of the user as it is; a list is joined or repeated; a value is never read again.
# Seen:  `$&` in a value puts the placeholder back and `$$` becomes `$`; a list within other text leaves the placeholder, with a warning on
#        the console; a value that names another variable is filled in if that variable is declared later. An argument that is only the
#        placeholder gets the value unchanged, but an empty text leaves the placeholder.
# Consequence here: values are filled in once; a list within other text is named by `plugins validate` and `doctor`.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts @anthropic-ai/mcpb@2.1.2 >/dev/null
cat >run.mjs <<'EOF'
import { getMcpConfigForManifest } from './node_modules/@anthropic-ai/mcpb/dist/shared/config.js'
console.warn = () => {}
const field = { type: 'string', title: 't', description: 'd' }
async function fill(args, userConfig) {
  const user_config = Object.fromEntries(Object.keys(userConfig).map((key) => [key, field]))
  const server = { type: 'node', entry_point: 's.js', mcp_config: { command: 'node', args } }
  const manifest = { manifest_version: '0.3', name: 'x', server, user_config }
  const found = await getMcpConfigForManifest({ manifest, extensionPath: '/e', systemDirs: {}, userConfig, pathSeparator: '/' })
  console.log(JSON.stringify(found.args))
}
await fill(['--p=${user_config.a}', '${user_config.a}'], { a: 'x$&y$$z' })
await fill(['--p=${user_config.a}', '${user_config.a}'], { a: ['1', '2'] })
await fill(['--p=${user_config.a}', '${user_config.a}'], { a: '' })
await fill(['--p=${user_config.a}'], { a: '${user_config.b}', b: 'other' })
await fill(['--p=${user_config.b}'], { a: 'other', b: '${user_config.a}' })
EOF
node run.mjs | tee seen
diff seen - <<'EOF'
["--p=x${user_config.a}y$z","x$&y$$z"]
["--p=${user_config.a}","1","2"]
["--p=","${user_config.a}"]
["--p=other"]
["--p=${user_config.a}"]
EOF
