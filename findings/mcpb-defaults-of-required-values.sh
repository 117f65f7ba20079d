#!/usr/bin/env bash
# @anthropic-ai/mcpb 2.1.2, `getMcpConfigForManifest`: a default does not satisfy `required`, and `${HOME}` in a default stays as it is.
#
# Expected: a required value with a default needs no answer, and `"default": ["${HOME}/Desktop"]`, the example of the specification, is filled in.
# Seen:  without an answer there is no configuration at all (undefined, a warning only with a logger); the folder arrives as `${HOME}/Desktop`.
#        A value that the manifest does not declare is filled in all the same if the host has one.
# Consequence here: a default satisfies `required`, folders in defaults are filled in, undeclared names are refused.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts @anthropic-ai/mcpb@2.1.2 >/dev/null
cat >run.mjs <<'EOF'
import { getMcpConfigForManifest } from './node_modules/@anthropic-ai/mcpb/dist/shared/config.js'
const field = { type: 'directory', title: 't', description: 'd', multiple: true, default: ['${HOME}/Desktop'] }
async function fill(user_config, userConfig, args = ['${user_config.dirs}']) {
  const server = { type: 'node', entry_point: 's.js', mcp_config: { command: 'node', args } }
  const manifest = { manifest_version: '0.3', name: 'x', server, user_config }
  const systemDirs = { HOME: '/home/me' }
  const found = await getMcpConfigForManifest({ manifest, extensionPath: '/e', systemDirs, userConfig, pathSeparator: '/' })
  console.log(JSON.stringify(found?.args))
}
await fill({ dirs: { ...field, required: true } }, {})
await fill({ dirs: field }, {})
await fill({ dirs: field }, { other: 'x' }, ['${user_config.other}'])
EOF
node run.mjs | tee seen
diff seen - <<'EOF'
undefined
["${HOME}/Desktop"]
["x"]
EOF
