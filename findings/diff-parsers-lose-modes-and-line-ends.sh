#!/usr/bin/env bash
# parse-diff 0.12.0, gitdiff-parser 0.3.1, parse-git-patch 2.1.1: a changed mode, a missing line end and a binary file get lost or become text.
#
# Guess: each of them gives what `git diff` says of a file: that it became executable, that its last line has no end, that it is binary.
# Seen:  `run.sh` changes only its mode, `end.txt` only the end of its last line, `data.bin` is binary.
#          parse-diff       the remark of git about the line end is a change of type "add", so a caller writes it into the file, although
#                           `additions` counts 1; no mark of a binary file
#          gitdiff-parser   gives both modes of files that keep theirs, and none for run.sh, whose modes differ
#          parse-git-patch  no modes, no mark of binary files, and "b" becomes "b"
#        For a binary file the first and the third give what they give for a file without a change.
# Consequence here: our reader of patches keeps modes and missing line ends, and refuses binary changes by name.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts parse-diff@0.12.0 gitdiff-parser@0.3.1 parse-git-patch@2.1.1 >/dev/null
export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b.example GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b.example
git init -q repo
cd repo
printf 'a\nb\n' | tee end.txt >run.sh
printf '\0\1' >data.bin
git add . && git commit -qm one
printf 'a\nb' >end.txt
printf '\0\2' >data.bin
git add . && git update-index --chmod=+x run.sh
git diff --cached >../git.diff
cd ..
cat >try.mjs <<'JS'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import gitdiffParser from 'gitdiff-parser'
import parseDiff from 'parse-diff'
const parseGitPatch = createRequire(import.meta.url)('parse-git-patch')
const text = readFileSync('git.diff', 'utf8')
const print = (library, files) => files.forEach((file) => console.log(library, JSON.stringify(file)))
print('parse-diff', parseDiff(text).map(({ to, oldMode, newMode, additions, chunks, ...other }) => ({
  to, oldMode, newMode, additions, binary: other.binary, added: chunks.flatMap(({ changes }) => changes).filter(({ add }) => add).map(({ content }) => content) })))
print('gitdiff-parser', gitdiffParser.parse(text).map(({ newPath, oldMode, newMode, newEndingNewLine }) => ({ newPath, oldMode, newMode, newEndingNewLine })))
const { files } = (parseGitPatch.default ?? parseGitPatch)(text)
print('parse-git-patch', files.map(({ beforeName, modifiedLines, ...other }) => ({ ...other, lines: modifiedLines.map(({ line }) => line) })))
JS
node try.mjs | tee seen.txt
diff seen.txt - <<'SEEN'
parse-diff {"to":"data.bin","oldMode":"100644","newMode":"100644","additions":0,"added":[]}
parse-diff {"to":"end.txt","oldMode":"100644","newMode":"100644","additions":1,"added":["+b","\\ No newline at end of file"]}
parse-diff {"to":"run.sh","oldMode":"100644","newMode":"100755","additions":0,"added":[]}
gitdiff-parser {"newPath":"data.bin","oldMode":"100644","newMode":"100644","newEndingNewLine":true}
gitdiff-parser {"newPath":"end.txt","oldMode":"100644","newMode":"100644","newEndingNewLine":false}
gitdiff-parser {"newPath":"run.sh","newEndingNewLine":true}
parse-git-patch {"added":false,"deleted":false,"afterName":"data.bin","lines":[]}
parse-git-patch {"added":false,"deleted":false,"afterName":"end.txt","lines":["b","b"]}
parse-git-patch {"added":false,"deleted":false,"afterName":"run.sh","lines":[]}
SEEN
