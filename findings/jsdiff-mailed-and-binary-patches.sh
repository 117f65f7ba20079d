#!/usr/bin/env bash
# diff (jsdiff) 9.0.0: a patch of `git format-patch` is refused, and a binary change is lost without an error.
#
# Guess: a library that knows git's extended headers reads what git's two commands for patches write, or refuses what it cannot keep.
# Seen:  1. `parsePatch` throws for each mailed patch ("has more lines than expected"): the line "-- " before git's version number, which
#           ends every such patch, counts as a removed line of the last hunk.
#        2. For `git diff --binary` the entry of a binary file has no hunks and no mark (`isBinary` is set for "Binary files differ" only).
#           `formatPatch` writes its header alone. After a text change in the same patch, `git apply` takes that result with exit code 0: the text
#           is changed, the binary file is not.
# Consequence here: our own reader ends a hunk by its counted lines, passes over the mail's head and foot, and refuses binary changes by name.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts diff@9.0.0 >/dev/null
export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b.example GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b.example
git init -q repo
cd repo
printf 'one\n' >a.txt
printf '\0\1' >data.bin
git add . && git commit -qm one
printf 'two\n' >a.txt
git commit -qam two
git format-patch -1 --stdout >../mail.patch
printf 'three\n' >a.txt
printf '\0\2' >data.bin
git commit -qam three
git diff --binary HEAD~1 >../binary.patch
git checkout -q HEAD~1
cd ..
cat >try.mjs <<'JS'
import { readFileSync, writeFileSync } from 'node:fs'
import { formatPatch, parsePatch } from 'diff'
try {
  parsePatch(readFileSync('mail.patch', 'utf8'))
  console.log('mail: read')
} catch (error) {
  console.log('mail:', /more lines than expected/.test(error.message) ? 'more lines than expected' : error.message)
}
const entries = parsePatch(readFileSync('binary.patch', 'utf8'))
console.log('binary: hunks', entries[1].hunks.length, 'mark', entries[1].isBinary)
writeFileSync('again.patch', formatPatch(entries))
JS
seen=$(node try.mjs)
before=$(git -C repo hash-object data.bin)
git -C repo apply ../again.patch
after=$(git -C repo hash-object data.bin)
printf '%s\napplied again: exit 0, text %s, binary file %s\n' "$seen" "$(cat repo/a.txt)" "$([ "$before" = "$after" ] && echo unchanged || echo changed)"
[ "$seen" = "$(printf 'mail: more lines than expected\nbinary: hunks 0 mark undefined')" ]
[ "$before" = "$after" ]
[ "$(cat repo/a.txt)" = three ]
