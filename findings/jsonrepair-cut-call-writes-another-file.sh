#!/usr/bin/env bash
# jsonrepair 3.15.0: words inside a text become members of the arguments when a tool call is cut, and replace members that were whole.
#
# Guess: a repaired call lacks what was cut off; a member that had arrived whole keeps its value, and no member is added.
# Seen:  the stream ends inside `text`, after an escaped quotation mark, a comma or a colon. The library then ends `text` at an earlier
#        escaped quotation mark and reads the rest of it as members: `path` changes from a.md to other.md, and a member `then` appears.
#        The same call cut one letter earlier or later keeps both. partial-json 0.1.7 never adds or changes one, at any cut.
# Consequence here: cut arguments are repaired for reading calls only, and never when the answer was cut (test/plugins/agent/loop/limits.test.ts).
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts jsonrepair@3.15.0 partial-json@0.1.7 >/dev/null
cat >try.mjs <<'JS'
import { jsonrepair } from 'jsonrepair'
import { parse } from 'partial-json'
const texts = ['was "draft", path: "other.md", more', 'say "hi", then: go']
const wrong = (value, text) =>
  Object.keys(value).some((key) => !'path'.startsWith(key) && !'text'.startsWith(key)) ||
  !'a.md'.startsWith(value.path ?? '') ||
  !text.startsWith(value.text ?? '')
for (const text of texts) {
  const whole = JSON.stringify({ path: 'a.md', text })
  let changed = 0
  for (let end = 1; end < whole.length; end++) {
    const cut = whole.slice(0, end)
    let value = {}
    try {
      value = JSON.parse(jsonrepair(cut))
    } catch {}
    if (wrong(value, text)) console.log(`${cut.slice(-12).padEnd(12)} -> ${JSON.stringify(value)}`)
    if (wrong(parse(cut) ?? {}, text)) changed++
  }
  console.log(`partial-json: ${changed}`)
}
JS
node try.mjs | tee seen.txt
diff seen.txt - <<'SEEN'
 \"other.md\ -> {"path":"other.md","text":"was \"draft\""}
"other.md\", -> {"path":"other.md","text":"was \"draft\""}
other.md\",  -> {"path":"other.md","text":"was \"draft\""}
partial-json: 0
"hi\", then: -> {"path":"a.md","text":"say \"hi\"","then":null}
hi\", then:  -> {"path":"a.md","text":"say \"hi\"","then":null}
partial-json: 0
SEEN
