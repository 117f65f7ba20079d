#!/usr/bin/env bash
# @decimalturn/toml-patch 3.3.0: a key that is added to a table lands after the comment of the next table; a new server is no table.
#
# Guess: a library whose comments belong to the line below them adds a key after the last key of its table, before that comment, and adds
#   a third server in the form of the two that are there, `[mcp_servers.c]`.
# Seen:  1. A line that explains `[servers.b]` stands above the new key of `[servers.a]` afterwards and no longer above `[servers.b]`. The
#           value is right, and a removal of that key by the library deletes the comment of the other table.
#        2. The new server is `servers.c = { ... }`, one inline table at the top of the file, before the first header.
# Consequence here: plugins/surface/setup/toml.ts edits the lines of its own table and uses the library for other forms only.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts @decimalturn/toml-patch@3.3.0 >/dev/null
cat >try.mjs <<'JS'
import { parse, patch } from '@decimalturn/toml-patch'
const source = 'model = "m"\n\n[servers.a]\ncommand = "a"\n\n# Needs the network.\n[servers.b]\ncommand = "b"\n'
const edit = (text, change) => {
  const value = parse(text)
  change(value.servers)
  const edited = patch(text, value)
  console.log(`${edited}---`)
  return edited
}
const added = edit(source, ({ a }) => (a.cwd = '/srv'))
edit(added, ({ a }) => delete a.cwd)
edit(source, (servers) => (servers.c = { command: 'c' }))
JS
node try.mjs | tee seen.txt
diff seen.txt - <<'SEEN'
model = "m"

[servers.a]
command = "a"

# Needs the network.
cwd = "/srv"
[servers.b]
command = "b"
---
model = "m"

[servers.a]
command = "a"

[servers.b]
command = "b"
---
model = "m"
servers.c = { command = "c" }

[servers.a]
command = "a"

# Needs the network.
[servers.b]
command = "b"
---
SEEN
