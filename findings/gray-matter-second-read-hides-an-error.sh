#!/usr/bin/env bash
# gray-matter 4.0.3: broken front matter throws at the first read of a text; every later read of the same text succeeds without fields.
#
# Guess: the same text gives the same error each time, so a loader that tries again, or two loaders of one process, both see it.
# Seen:  the first read of a skill with `description: Use when: asked` throws a YAML error. The second and third return no fields and
#        the whole text, fences included, as the body; so do other readers of the process that meet an equal text. The text is put into
#        the library's store before it is parsed. Any options argument, even `{}`, passes by the store, and each read throws.
# Consequence here: core/skills/frontmatter.ts always passes options, so each start and reload reports a broken skill again.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts gray-matter@4.0.3 >/dev/null
cat >try.cjs <<'JS'
const matter = require('gray-matter')
const text = '---\nname: review\ndescription: Use when: asked\n---\nRead the change.\n'
const read = (label, ...options) => {
  try {
    const { data, content } = matter(text, ...options)
    console.log(label, JSON.stringify(data), JSON.stringify(content.slice(0, 12)))
  } catch (error) {
    console.log(label, error.name)
  }
}
for (const label of ['first', 'second', 'third']) read(label)
for (const label of ['with options', 'again']) read(label, {})
JS
node try.cjs | tee seen.txt
diff seen.txt - <<'SEEN'
first YAMLException
second {} "---\nname: re"
third {} "---\nname: re"
with options YAMLException
again YAMLException
SEEN
