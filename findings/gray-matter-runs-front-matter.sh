#!/usr/bin/env bash
# gray-matter 4.0.3: front matter that begins with `---js` is run as JavaScript, without an option that asks for it.
#
# Guess: a language after the dashes chooses among readers of data (yaml, json, toml); code needs an engine that the caller adds.
# Seen:  `---js` and `---javascript` are evaluated in the process that reads the file; other unknown languages throw.
# Consequence here: our reader of skills replaces both engines; a Markdown file of a repository is never run.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts gray-matter@4.0.3 >/dev/null
cat >run.cjs <<'EOF'
const matter = require('gray-matter')
const read = (language) => {
  try {
    return JSON.stringify(matter(`---${language}\n{ title: 1 + 1 }\n---\ntext\n`).data)
  } catch (error) {
    return error.constructor.name
  }
}
for (const language of ['js', 'javascript', 'toml']) console.log(`${language}: ${read(language)}`)
EOF
seen=$(node run.cjs)
echo "$seen"
[ "$seen" = $'js: {"title":2}\njavascript: {"title":2}\ntoml: Error' ]
