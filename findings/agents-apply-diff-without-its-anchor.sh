#!/usr/bin/env bash
# @openai/agents-core 0.20.0, `applyDiff`: a hunk whose `@@` line names a function that the file lacks is applied to another function.
#
# Guess: the `@@` line of a V4A patch says where the change belongs; without such a line in the file, or with several places for a hunk
#   that has none, the patch is refused, as a missing context line is.
# Seen:  `@@ def total():` in a file without `total` changes the first place that fits, in `first`, without an error. A hunk without an `@@`
#        line that fits two places takes the first too. A context line that is missing throws. White space at the front of lines is not
#        compared, and the lines of the patch are written as they are: a line with four spaces in a block of tabs.
# Consequence here: our patches refuse a missing anchor and several places, and take over the indentation (plugins/lib/patch/match.ts).
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts --legacy-peer-deps @openai/agents-core@0.20.0 zod@4.6.7 >/dev/null
cat >try.mjs <<'JS'
import { applyDiff } from '@openai/agents-core'
const functions = 'def first():\n    x = 1\n\ndef second():\n    x = 1\n'
const apply = (name, text, ...lines) => {
  try {
    console.log(`${name}: ${JSON.stringify(applyDiff(text, lines.join('\n')))}`)
  } catch (error) {
    console.log(`${name}: ${error.message.split(':')[0]}`)
  }
}
apply('anchor', functions, '@@ def second():', '-    x = 1', '+    x = 2')
apply('missing anchor', functions, '@@ def total():', '-    x = 1', '+    x = 2')
apply('two places', functions, '-    x = 1', '+    x = 2')
apply('missing context', functions, ' def total():', '-    x = 1', '+    x = 2')
apply('tabs', 'if x:\n\tfirst()\n\tsecond()\n', ' if x:', '-    first()', '+    other()')
JS
node try.mjs | tee seen.txt
diff seen.txt - <<'SEEN'
anchor: "def first():\n    x = 1\n\ndef second():\n    x = 2\n"
missing anchor: "def first():\n    x = 2\n\ndef second():\n    x = 1\n"
two places: "def first():\n    x = 2\n\ndef second():\n    x = 1\n"
missing context: Invalid Context 0
tabs: "if x:\n    other()\n\tsecond()\n"
SEEN
