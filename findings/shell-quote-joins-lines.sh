#!/usr/bin/env bash
# shell-quote 1.12.0: `parse` gives two commands on two lines as one, and keeps backticks as plain letters.
#
# Guess: an end of line is an operator like `;`, and a command substitution is visible, as `$(` is.
# Seen:  `a\nb` is the words a and b; `x`y`` is one word; a variable that is not given is an empty word, not a variable.
# Consequence here: rules for commands do not rest on shell-quote; commands are read by unbash.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts shell-quote@1.12.0 >/dev/null
cat >run.cjs <<'EOF'
const { parse } = require('shell-quote')
for (const text of ['echo a\necho b', 'echo a; echo b', 'echo `date`', 'echo $(date)', 'echo $NAME'])
  console.log(JSON.stringify(parse(text)))
EOF
node run.cjs | tee seen
diff seen - <<'EOF'
["echo","a","echo","b"]
["echo","a",{"op":";"},"echo","b"]
["echo","`date`"]
["echo","$",{"op":"("},"date",{"op":")"}]
["echo",""]
EOF
